// The table of contents and the timeline's cursor follow the reading.
import { FOLDED, all, byId, headerHeight, narrow, numberOf, onSettled } from "./dom.js";
import { describe } from "./timeline.js";

const READ = `[data-turn], [data-boundary], ${FOLDED}`;
const FADED = 32; // pixels at the end of the list, where lines fade
const visible = new Set();
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) visible[isIntersecting ? "add" : "delete"](target);
  const first = all(READ).find((element) => visible.has(element));
  if (!first) return;
  const turns = all("[data-turn]");
  // The end of the page is that of the session where no later window is to come, as after short ones with folded work.
  const atEnd = innerHeight + scrollY > document.documentElement.scrollHeight - 8
    && !document.querySelector(".neighbour.later");
  const number = numberOf(atEnd ? turns.at(-1) : first.matches("[data-boundary]") ? first.nextElementSibling : first);
  mark(all(".toc li[data-number]:not(.more)").findLast((line) => +line.dataset.number <= number));
  moveCursor(number);
}, { rootMargin: `-${headerHeight() + 4}px 0px -45% 0px` });

function mark(line) {
  for (const item of all(".toc li.here")) if (item !== line) item.classList.remove("here");
  if (!line || line.classList.contains("here")) return;
  line.classList.add("here");
  if (document.activeElement.closest(".work")) return; // somebody is in a list of the same column
  const list = narrow.matches ? line.parentElement : line.closest(".outline");
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
