// Single keys, the list of them, and the keys of the command palette.
import {
  FOLDED, MESSAGES, all, byId, focusHere, focusOn, goTo, headerHeight, isModified, narrow, numberOf, on, onClick,
} from "./dom.js";
import { say } from "./notices.js";
import { bringUp } from "./sheet.js";
import { choose } from "./toc.js";
import { openWork } from "./work.js";

// j k, p P and [ ]: step from what is at the top of the window. What is folded away is one step, its line.
function step(selector, direction, lines, what) {
  const found = all(selector).filter((element) => element.checkVisibility());
  const line = headerHeight() + 2;
  const tops = found.map((element) => element.getBoundingClientRect().top);
  let at = direction > 0 ? tops.findIndex((y) => y > line + 1) : tops.findLastIndex((y) => y < line - 4);
  const current = document.querySelector(".focus") || document.querySelector(".history .marked");
  if (current && Math.abs(current.getBoundingClientRect().top - line) < innerHeight) {
    const is = (position) => (element) => current.compareDocumentPosition(element) & position;
    at = direction > 0
      ? found.findIndex(is(Node.DOCUMENT_POSITION_FOLLOWING))
      : found.findLastIndex(is(Node.DOCUMENT_POSITION_PRECEDING));
  }
  const next = found[at];
  if (!next) return lines && beyond(direction, lines, what);
  for (const old of all(".focus, .history .marked")) old.classList.remove("focus", "marked");
  next.classList.add("focus");
  focusOn(next);
  goTo(next, next.matches("li") ? "nearest" : "start");
  choose(next);
}
// A boundary or prompt outside what is loaded: its line in the table of contents leads there, or to more lines.
function beyond(direction, lines, what) {
  const numbers = all("[data-turn]").map(numberOf).filter(Boolean);
  const found = all(lines);
  const next = direction > 0
    ? found.find((item) => +item.dataset.number > Math.max(...numbers))
    : found.findLast((item) => +item.dataset.number < Math.min(...numbers));
  const more = `.toc li.more:${direction > 0 ? "last" : "first"}-child a[hx-get]`;
  const link = next?.querySelector("a") || document.querySelector(more);
  if (link) link.click();
  else if (document.querySelector(".toc")) say(`No ${direction > 0 ? "later" : "earlier"} ${what}.`);
}
const toPrompt = (direction) => step("[data-prompt]", direction, ".toc li[data-number]:not(.cut, .more)", "prompt");
const toCut = (direction) => step("[data-boundary]", direction, ".toc li.cut[data-number]", "compaction");
// The folds of the message that has the focus; without one, those of all work.
function unfold() {
  const marked = ".focus, .turn.marked, .boundary.marked";
  const at = document.activeElement.closest(MESSAGES) || document.querySelector(marked);
  const work = document.activeElement.closest(".worked > summary, .reads > summary")?.parentElement;
  const inWork = "details.worked, details.reads";
  const folds = work ? [work, ...all(inWork, work)] : at ? all("details:not(.menu)", at) : all(inWork);
  if (!folds.length && document.querySelector(".history")) say("Nothing to unfold here.");
  const open = folds.some((fold) => !fold.open);
  for (const fold of folds) fold.open = open;
}
// The compact panel: the first of its controls that is seen, or the sheet that it is on small screens.
function toPanel() {
  if (narrow.matches) return bringUp(byId("side"));
  const controls = all(":is(#run, #plan) :is(a[href], button, input, select, textarea)");
  controls.find((control) => control.offsetParent && !control.disabled)?.focus();
}
const click = (selector) => document.querySelector(selector)?.click();
const type = (field) => field && (field.focus(), field.select());
function findHere() {
  const field = byId("find");
  if (!field) return;
  bringUp(field);
  focusHere(field);
  field.select();
}
const showKeys = () => byId("keys").showModal();
const KEYS = {
  "/": () => type(byId("search")),
  f: findHere,
  ".": () => type(byId("at")),
  t: () => openWork("files-touched"),
  F: () => openWork("commands-failed"),
  j: () => step(`[data-turn], ${FOLDED}`, 1),
  k: () => step(`[data-turn], ${FOLDED}`, -1),
  p: () => toPrompt(1),
  P: () => toPrompt(-1),
  "]": () => toCut(1),
  "[": () => toCut(-1),
  n: () => click("[data-key=n]"),
  N: () => click("[data-key=N]"),
  e: unfold,
  c: toPanel,
  gg: () => click("[data-key=gg]"),
  G: () => click("[data-key=G]"),
  Home: () => click("[data-key=gg]"),
  End: () => click("[data-key=G]"),
  gs: () => click("[data-key=gs]"),
  gc: () => click("[data-key=gc]"),
  gi: () => click("[data-key=gi]"),
  "?": showKeys,
};
onClick("[data-keys]", showKeys);

const enabled = byId("keys-on");
enabled.checked = localStorage.getItem("keys") !== "off";
on("change", () => localStorage.setItem("keys", enabled.checked ? "on" : "off"), enabled);

// Home and End move in what scrolls by itself, and on pages that do not load more as they are read.
const isReading = (event) =>
  document.querySelector(".history") && !event.shiftKey && !event.target.closest?.("[tabindex='0']");
let pending = "";
// Keys pressed while another page is on its way are kept for it; for this one, if none comes, as after a download.
const LONGEST_WAIT = 3_000; // milliseconds
let leaving = false;
on("beforeunload", () => {
  leaving = true;
  setTimeout(pressKept, LONGEST_WAIT);
}, window);
on("pageshow", () => setTimeout(pressKept), window); // after what scrolls at the load
function pressKept() {
  leaving = false;
  const { at, keys } = JSON.parse(sessionStorage.getItem("keys") || "{}");
  sessionStorage.removeItem("keys");
  if (Date.now() - at < 2 * LONGEST_WAIT) keys.forEach((key) => (leaving ? keep : press)(key));
}
function keep(key) {
  const { keys = [] } = JSON.parse(sessionStorage.getItem("keys") || "{}");
  sessionStorage.setItem("keys", JSON.stringify({ at: Date.now(), keys: [...keys, key] }));
}
function press(typed, event) {
  const key = KEYS[pending + typed] ? pending + typed : typed;
  pending = typed === "g" ? "g" : "";
  if (!KEYS[key] || (event && /^(Home|End)$/.test(key) && !isReading(event))) return;
  event?.preventDefault();
  KEYS[key]();
}
on("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !enabled.checked) return;
  if (event.target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, dialog[open]")) return;
  if (leaving && event.key.length === 1) keep(event.key);
  else press(event.key, event);
});

// The script of the palette comes with its first use; what is typed meanwhile goes into its field. Where it does not come,
// the page of links does.
function openPalette(link, event) {
  event.preventDefault();
  const dialog = byId("palette");
  if (dialog.open) return dialog.close();
  dialog.showModal();
  byId("palette-words").select();
  import("./palette.js").then((palette) => palette.look(), () => { location = link.href; });
}
const mac = /Mac|iP/.test(navigator.platform);
on("keydown", (event) => {
  const link = document.querySelector("[data-palette]");
  if (link && event[mac ? "metaKey" : "ctrlKey"] && event.key === "k") openPalette(link, event);
});
onClick("[data-palette]", (link, event) => isModified(event) || openPalette(link, event));
