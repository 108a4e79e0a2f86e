// The place in a page: where a permalink leads, what is being read while something is put in above it, and where a page
// was left that is loaded again or gone back to.
import { FOLDED, MESSAGES, all, byId, goTo, headerHeight, isNew, on, targetOf } from "./dom.js";
import { choose } from "./toc.js";
import { SIDES, load, loaded, sideOf } from "./windows.js";

// A permalink opens, scrolls and marks: folds around the target open first. Of a call, its row is
// scrolled to, whether the link names its result or its message.
function reveal(place) {
  const target = place && (place.querySelector(".out.marked") || place);
  if (!target) return;
  target.querySelector(":scope > .unfolds")?.toggleAttribute("open", true);
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  const row = target.closest(".out")?.parentElement.querySelector("summary") || target;
  goTo(row);
  const before = rowAbove(row);
  if (!before) return;
  goTo(before);
  choose(target.closest("[data-turn], [data-boundary]") || target);
}
// What is directly above a row, if that is a line or two: it says where one is.
const LOW = 80; // pixels
function rowAbove(row) {
  const { top } = row.getBoundingClientRect();
  if (Math.abs(top - headerHeight()) > 12) return null;
  return all(".history :is(summary, [data-turn])").findLast((element) => {
    const { bottom, height } = element.getBoundingClientRect();
    return height && height < LOW && bottom <= top + 1 && bottom > top - 24;
  });
}
on("hashchange", () => reveal(targetOf(location.hash)), window);

// What is put in above, or anew, does not move what is being read.
export const topmost = () => all(`${MESSAGES}, ${FOLDED}`).find((element) =>
  element.id && element.checkVisibility() && element.getBoundingClientRect().bottom > headerHeight());
let reading = null;
on("htmx:beforeSwap", ({ detail: { target, shouldSwap } }) => {
  if (!shouldSwap) return;
  const at = (sideOf(target) === "earlier" || target.id === "reading") && topmost();
  reading = at && { at, y: at.getBoundingClientRect().top };
});
on("htmx:afterSwap", () => {
  const at = reading && (reading.at.isConnected ? reading.at : byId(reading.at.id));
  if (at) scrollBy({ top: at.getBoundingClientRect().top - reading.y, behavior: "instant" });
  reading = null;
});

// Going back, or loading again, gives the page as it was left: its windows, and the place in them. The place is kept
// with the history entry, so that nothing of a session is stored.
function keepPlace() {
  if (!loaded.earlier && !loaded.later && !history.state) return;
  const at = topmost();
  history.replaceState({ ...loaded, id: at?.id, y: at ? at.getBoundingClientRect().top : scrollY }, "");
}
async function restore({ id, y, ...wanted }) {
  // Until a page is loaded, the browser itself moves it to where it thinks it was.
  if (document.readyState !== "complete") await new Promise((done) => on("load", () => setTimeout(done), window));
  for (const side of SIDES) for (let count = Math.min(wanted[side] || 0, 20); count; count--) {
    const link = document.querySelector(`.neighbour.${side}[hx-get]`);
    if (!link) break;
    load(link);
    while (link.isConnected) {
      await new Promise((done) => document.addEventListener("htmx:afterSettle", done, { once: true }));
    }
  }
  const at = byId(id);
  scrollBy({ top: at ? at.getBoundingClientRect().top - y : y - scrollY, behavior: "instant" });
}
let resting;
on("scroll", () => {
  clearTimeout(resting);
  resting = setTimeout(keepPlace, 150);
}, window);
on("DOMContentLoaded", () => {
  if (SIDES.some((side) => history.state?.[side])) restore(history.state);
  else reveal(targetOf(location.hash) || document.querySelector(".turn.marked, .out.marked, .boundary.marked"));
});

// Until a page is loaded, the browser itself goes to what is linked to.
on("load", () => setTimeout(() => isNew() && reveal(targetOf(location.hash))), window);

// A script gave the page another address; an address that comes back without one is loaded.
let address = location.pathname + location.search;
export function sameDocument() {
  history.replaceState(null, "");
  address = location.pathname + location.search;
}
on("htmx:pushedIntoHistory", sameDocument);
on("htmx:replacedInHistory", sameDocument);
on("popstate", () => location.pathname + location.search === address || location.reload(), window);

// A page that comes back as it was left is loaded anew if somebody signed out meanwhile, or switched redaction: both give
// the browser another cookie. Until that is known, nothing of the page is seen.
const cookies = document.cookie;
const { style } = document.documentElement;
on("pagehide", () => { style.visibility = "hidden"; }, window);
on("pageshow", ({ persisted }) => {
  if (persisted && document.cookie !== cookies) location.reload();
  else style.visibility = "";
}, window);
