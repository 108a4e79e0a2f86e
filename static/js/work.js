// The lists of what the whole session did: opened by keys, narrowed by what is typed, walked along with arrows.
import { all, focusHere, isModified, on } from "./dom.js";
import { say } from "./notices.js";
import { bringUp } from "./sheet.js";

const FIELD = ".answer > [data-narrows]";

// On a small screen the lists come with the sheet that they are in.
const want = (work) => work.dispatchEvent(new Event("wanted"));
document.addEventListener("toggle", ({ target }) => target.matches(".work[open]") && want(target), true);
on("sheet", ({ target }) => all(".work", target).forEach(want));

// All of the session is read for a list: keys that are pressed until it is there are for the list.
let entering = null, keys = [];
export function openWork(id) {
  const summary = document.querySelector(`#${id} > summary`);
  if (!summary) return document.querySelector(".history") && say("No tool was called in this session.");
  bringUp(summary);
  summary.parentElement.open = true;
  focusHere(summary);
  [entering, keys] = [summary, []];
  enter();
}
function enter() {
  const first = entering?.parentElement.querySelector(`${FIELD}, .listed-work a, .answer > .note`);
  if (!first) return;
  const isLeft = document.activeElement !== entering;
  entering = null;
  if (isLeft) return;
  if (!first.matches("a, input")) first.tabIndex = -1;
  focusHere(first);
  keys.forEach(press);
}
function press(key) {
  const at = document.activeElement;
  if (at.matches("input") && key.length === 1) {
    at.value += key;
    narrow(at);
  } else if (at.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })) && key === "Enter") at.click();
}
on("htmx:afterSettle", enter);
on("htmx:afterRequest", ({ detail }) => { if (detail.failed) entering = null; });
on("keydown", (event) => {
  if (!entering || document.activeElement !== entering || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key.length > 1 && !/^(Enter|Arrow.*)$/.test(event.key)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  keys.push(event.key);
});

// Up and down along the lines; to the right into a file's changes, to the left back to the file.
on("keydown", (event) => {
  const at = document.activeElement;
  const work = !isModified(event) && event.target.closest?.(".work");
  if (!work) return;
  const field = work.querySelector(FIELD);
  if (at === field && /^(Arrow(Left|Right)|.)$/.test(event.key)) return;
  const lines = all(".listed-work > li > a, .listed-work li li a", work).filter((each) => each.checkVisibility());
  if (at === field && event.key === "Enter" && lines[0]) {
    focusHere(lines[0]);
    lines[0].click();
  }
  if (at === field && event.key === "Escape") {
    field.value = "";
    narrow(field);
  }
  if (!/^Arrow/.test(event.key)) return;
  const fold = at.closest(".listed-work > li")?.querySelector("details");
  if (/Left|Right/.test(event.key) && fold) fold.open = event.key === "ArrowRight";
  const next = {
    ArrowDown: lines[lines.indexOf(at) + 1],
    ArrowUp: lines[lines.indexOf(at) - 1] || field,
    ArrowRight: fold?.querySelector("li a"),
    ArrowLeft: fold?.parentElement.querySelector("a"),
  }[event.key];
  event.preventDefault();
  if (next) focusHere(next);
});

// Lines with all the words in their whole path.
function narrow(field) {
  const words = field.value.toLowerCase().split(/\s+/);
  const lines = all(".listed-work > li", field.parentElement);
  for (const line of lines) {
    const path = line.querySelector("a").title.toLowerCase();
    line.hidden = !words.every((word) => path.includes(word));
  }
  field.nextElementSibling.hidden = lines.some((line) => !line.hidden);
}
on("input", ({ target }) => target.matches("[data-narrows]") && narrow(target));
