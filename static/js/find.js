// Find in a session: from hit to hit, by links, buttons and keys.
import { all, byId, focusOn, goTo, isModified, isNew, on, onClick } from "./dom.js";
import { sameDocument, topmost } from "./place.js";

const MESSAGES = ".turn, .out, .boundary";

const wordsOf = (link) => new URLSearchParams(link.search).get("q");

// Until a page is loaded, the browser itself goes to the beginning of what is linked to.
on("load", () => setTimeout(() => {
  const target = document.querySelector(".marked");
  if (target?.querySelector("mark") && isNew()) {
    document.querySelector("#found .hit:has([aria-current])")?.scrollIntoView({ block: "nearest", behavior: "instant" });
    showWords(target);
  }
  if (sessionStorage.getItem("finding") !== location.hash) return;
  sessionStorage.removeItem("finding");
  if (target) focusOn(target);
}), window);

// The words that were looked for in a message: its own, before those of what is within it; folds open first.
function showWords(target) {
  const marks = all("mark", target);
  const mark = marks.find((each) => each.closest(MESSAGES) === target) || marks[0];
  for (const old of all("mark.here")) old.classList.remove("here");
  mark?.classList.add("here");
  for (let at = mark || target; at; at = at.parentElement) {
    if (at.matches("details")) at.open = true;
    if (at.matches(".clamp.long")) at.querySelector("details.more").open = true;
  }
  goTo(target, "start", mark);
  // What scrolls by itself, as a long output, is scrolled as well.
  mark?.scrollIntoView({ block: "nearest", behavior: "instant" });
  const { bottom } = mark?.getBoundingClientRect() || { bottom: 0 };
  if (bottom > innerHeight * 0.8) goTo(mark, "center");
}

// Within the page where the hit's words are marked, else by opening the window that holds it. The focus goes to the hit,
// where single keys lead on and a screen reader reads on; it stays on a button or hit that was pressed.
const hits = () => all("#found .hits a.to");
function visit(link, event) {
  const isHere = link.pathname === location.pathname && wordsOf(link) === wordsOf(location);
  const target = isHere && byId(link.hash.slice(1));
  const isPressed = byId("found").contains(document.activeElement);
  if (!target && !isPressed) sessionStorage.setItem("finding", link.hash);
  if (!target) return;
  event.preventDefault();
  for (const old of all("#found [aria-current]")) old.removeAttribute("aria-current");
  link.setAttribute("aria-current", "true");
  const count = document.querySelector("#found [data-of]");
  count.textContent = `${hits().indexOf(link) + 1} of ${count.dataset.of}`;
  for (const old of all(".marked, .turn.focus, .boundary.focus")) old.classList.remove("marked", "focus");
  target.classList.add("marked");
  history.replaceState(null, "", link.href);
  sameDocument();
  link.closest(".hit").scrollIntoView({ block: "nearest", behavior: "instant" });
  showWords(target);
  if (!isPressed) focusOn(target);
}
onClick("#found .hits a.to", (hit, event) => isModified(event) || visit(hit, event));
// The first hit from the place that is read, or the last one before it; where there is none on that side, the last one.
function nearest(found, step) {
  const row = (text) => Number(/\d+/.exec(text));
  const reading = row(topmost()?.id);
  const next = found.findIndex((link) => row(link.hash) >= reading);
  return step < 0 ? Math.max(next, 0) - 1 : next;
}
onClick("#found [data-step]", (step, event) => {
  if (isModified(event)) return;
  const found = hits();
  const current = found.findIndex((link) => link.hasAttribute("aria-current"));
  const at = current < 0 ? nearest(found, +step.dataset.step) : current + +step.dataset.step;
  const next = found.at(at % found.length);
  step.href = next.href;
  visit(next, event);
});

// Enter in the field goes on to the next hit, with Shift to the one before, once there are hits for what it says. So it
// does on a hit.
let waiting = "";
const go = (key) => document.querySelector(`#found [data-key=${key}]`)?.click();
on("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing || !event.target.matches?.("#find, .marked")) return;
  const key = event.shiftKey ? "N" : "n";
  if (event.target.id !== "find") return go(key);
  const asked = event.target.value.trim().replace(/\s+/g, " ");
  if (document.querySelector("#found [data-q]")?.dataset.q === asked) {
    event.preventDefault();
    go(key);
  } else waiting = key;
});
on("htmx:afterSettle", ({ target }) => {
  if (target.id !== "found" || !waiting) return;
  go(waiting);
  waiting = "";
});
