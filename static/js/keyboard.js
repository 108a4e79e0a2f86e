// Single keys, the list of them, and the keys of the command palette.
import { MESSAGES, all, byId, focusOn, headerHeight, isModified, make, narrow, numberOf, on, onClick } from "./dom.js";

// j k and [ ]: step from what is at the top of the window.
function step(selector, direction) {
  const found = all(selector).filter((element) => element.offsetParent);
  const line = headerHeight() + 2;
  const tops = found.map((element) => element.getBoundingClientRect().top);
  let at = direction > 0 ? tops.findIndex((y) => y > line + 1) : tops.findLastIndex((y) => y < line - 4);
  const current = document.querySelector(".focus");
  if (found.includes(current) && Math.abs(current.getBoundingClientRect().top - line) < innerHeight) {
    at = found.indexOf(current) + direction;
  }
  const next = found[at];
  if (!next) return selector === "[data-boundary]" && beyond(direction);
  current?.classList.remove("focus");
  next.classList.add("focus");
  focusOn(next);
  next.scrollIntoView({ block: next.matches("li") ? "nearest" : "start", behavior: "instant" });
}
// A boundary outside what is loaded: its line in the table of contents leads there.
function beyond(direction) {
  const numbers = all("[data-turn]").map(numberOf).filter(Boolean);
  const cuts = all(".toc li.cut[data-number]");
  const next = direction > 0
    ? cuts.find((item) => +item.dataset.number > Math.max(...numbers))
    : cuts.findLast((item) => +item.dataset.number < Math.min(...numbers));
  next?.querySelector("a").click();
}
function unfold() {
  const marked = ".focus, .turn.marked, .boundary.marked";
  const message = document.activeElement.closest(MESSAGES) || document.querySelector(marked) || make("p");
  const folds = all("details:not(.menu)", message);
  const open = folds.some((fold) => !fold.open);
  for (const fold of folds) fold.open = open;
}
// The compact panel: the first of its controls that is seen, or the sheet that it is on small screens.
function toPanel() {
  if (narrow.matches) return click("[data-sheet]");
  const controls = all(":is(#run, #plan) :is(a[href], button, input, select, textarea)");
  controls.find((control) => control.offsetParent && !control.disabled)?.focus();
}
const click = (selector) => document.querySelector(selector)?.click();
const type = (field) => field && (field.focus(), field.select());
// A focused field of a column that stays in place would scroll the page to where the column began.
function findHere() {
  const field = byId("find");
  const column = field?.closest(".toc");
  if (!column || getComputedStyle(column).position !== "sticky") return type(field);
  column.scrollTop = 0;
  field.focus({ preventScroll: true });
  field.select();
}
const showKeys = () => byId("keys").showModal();
const KEYS = {
  "/": () => type(byId("search")),
  f: findHere,
  j: () => step("[data-turn]", 1),
  k: () => step("[data-turn]", -1),
  "]": () => step("[data-boundary]", 1),
  "[": () => step("[data-boundary]", -1),
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
on("keydown", (event) => {
  if (event.key === "Escape") document.activeElement.closest(".renaming")?.querySelector("a").click();
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !enabled.checked) return;
  if (event.target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, dialog[open]")) return;
  const key = KEYS[pending + event.key] ? pending + event.key : event.key;
  pending = event.key === "g" ? "g" : "";
  if (!KEYS[key] || (/^(Home|End)$/.test(key) && !isReading(event))) return;
  event.preventDefault();
  KEYS[key]();
});

// The script of the palette comes with its first use. Where it does not come, the page of links does.
function openPalette(link, event) {
  event.preventDefault();
  import("./palette.js").then((palette) => palette.open(), () => { location = link.href; });
}
const mac = /Mac|iP/.test(navigator.platform);
on("keydown", (event) => {
  const link = document.querySelector("[data-palette]");
  if (link && event[mac ? "metaKey" : "ctrlKey"] && event.key === "k") openPalette(link, event);
});
onClick("[data-palette]", (link, event) => isModified(event) || openPalette(link, event));
