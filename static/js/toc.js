// The table of contents and the timeline's cursor follow the reading.
import { FOLDED, all, byId, headerHeight, numberOf, onSettled } from "./dom.js";
import { describe } from "./timeline.js";

const READ = `[data-turn], [data-boundary], ${FOLDED}`;
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
  const list = line.closest(".toc");
  const [inner, outer] = [line.getBoundingClientRect(), list.getBoundingClientRect()];
  const top = list.firstElementChild.getBoundingClientRect().bottom; // what stays over the list
  if (inner.top < top || inner.bottom > outer.bottom) {
    list.scrollTop += inner.top - outer.top - outer.height / 3;
  }
}
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
