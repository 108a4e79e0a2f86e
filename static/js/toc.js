// The table of contents and the timeline's cursor follow the reading.
import { FOLDED, all, byId, headerHeight, numberOf, on, onSettled } from "./dom.js";
import { describe } from "./timeline.js";

const READ = `[data-turn], [data-boundary], ${FOLDED}`;
const FADED = 32; // pixels at the end of the list, where lines fade
const visible = new Set();
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) visible[isIntersecting ? "add" : "delete"](target);
  follow();
}, { rootMargin: `-${headerHeight() + 4}px 0px -45% 0px` });

// What was stepped to by keys is what is read while it is in view, wherever in the window, until somebody scrolls.
let chosen = null;
export function choose(element) {
  chosen = element;
  follow();
}
for (const how of ["wheel", "touchmove", "pointerdown"]) on(how, () => { chosen = null; }, window);
function place() {
  const { top, bottom } = chosen?.isConnected ? chosen.getBoundingClientRect() : { top: Infinity };
  if (top < innerHeight && bottom > headerHeight()) return chosen;
  // The end of the page is that of the session where no later window is to come, as after short ones with folded work.
  const atEnd = innerHeight + scrollY > document.documentElement.scrollHeight - 8
    && !document.querySelector(".neighbour.later");
  const first = all(READ).find((element) => visible.has(element));
  return first && atEnd ? all("[data-turn]").at(-1) : first;
}
function follow() {
  const at = place();
  if (!at) return;
  const number = numberOf(at.matches("[data-boundary]") ? at.nextElementSibling : at);
  mark(all(".toc li[data-number]:not(.more)").findLast((line) => +line.dataset.number <= number));
  moveCursor(number);
}

function mark(line) {
  for (const item of all(".toc li.here")) if (item !== line) item.classList.remove("here");
  if (!line || line.classList.contains("here")) return;
  line.classList.add("here");
  const list = line.closest(".outline");
  const [inner, outer] = [line.getBoundingClientRect(), list.getBoundingClientRect()];
  if (inner.top >= outer.top && inner.bottom <= outer.bottom - FADED) return;
  scrollList(list, list.scrollTop + inner.top - outer.top - outer.height / 3);
}
// To the line at or before this height, so that the first line in view is whole.
function scrollList(list, height) {
  const top = list.getBoundingClientRect().top + list.clientTop - list.scrollTop;
  const heights = all("#toc > li").map((each) => each.getBoundingClientRect().top - top);
  list.scrollTop = heights.findLast((each) => each <= height) ?? 0;
}
document.addEventListener("scrollend", ({ target }) => {
  const end = target.scrollHeight - target.clientHeight;
  if (target.matches?.(".outline") && target.scrollTop > end - 2) scrollList(target, end);
}, true);
function moveCursor(number) {
  const cursor = byId("scrub");
  if (!cursor || !number || cursor === document.activeElement) return;
  cursor.value = number;
  describe(cursor);
}
function watch() {
  seen.disconnect();
  visible.clear();
  for (const element of all(READ)) seen.observe(element);
}
onSettled(watch);
document.addEventListener("toggle", ({ target }) => target.matches(".worked, .reads") && watch(), true);
