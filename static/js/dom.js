// What most modules ask of the page. This module imports nothing and listens to nothing.
export const MESSAGES = "[data-turn], [data-boundary], details.raw";
// The line in place of messages that are folded away.
export const FOLDED = "details.worked:not([open]) > summary, details.reads:not([open]) > summary";

export const all = (selector, root = document) => [...root.querySelectorAll(selector)];
export const byId = (id) => document.getElementById(id);
export const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
export const targetOf = (hash) => hash.length > 1 && byId(decodeURIComponent(hash.slice(1)));
// The place in the session, counted from 1, of a message or of the first in an element; 0 where none is known.
export function numberOf(element) {
  const within = element?.matches("summary") ? element.parentElement : element;
  const turn = within?.matches("[data-turn]") ? within : within?.querySelector("[data-turn]");
  return Number(turn?.dataset.turn) || 0;
}
// How much what stays at the top of the window covers, in pixels.
export const headerHeight = () => parseFloat(getComputedStyle(byId("main")).scrollMarginTop) || 0;
export const isModified = (event) => event.ctrlKey || event.metaKey || event.shiftKey;

// Loaded again, or gone back to, a page stays where it was.
export const isNew = () => performance.getEntriesByType("navigation")[0]?.type === "navigate" && !history.state;

export const on = (name, act, place = document) => place.addEventListener(name, act);

// `act(element, event)` for a click in an element of that selector.
export const onClick = (selector, act) => on("click", (event) => {
  const element = event.target.closest?.(selector);
  if (element) act(element, event);
});

// Now, and again after each swap.
export function onSettled(act) {
  on("DOMContentLoaded", () => act());
  on("htmx:afterSettle", () => act());
}

const reduced = matchMedia("(prefers-reduced-motion: reduce)");
export const calmly = () => (reduced.matches ? "instant" : "smooth");
export const narrow = matchMedia("(max-width: 68.75em)");

// The window with this element at its top. Where the page ends before that, and where something else is gone to, what the
// top of the window would show in part is shown whole, unless that moves `seen` out of the window.
const ROWS = ".history :is([data-turn], [data-boundary], summary, a, button)";
export function goTo(target, block = "start", seen = null) {
  target.scrollIntoView({ block, behavior: "instant" });
  const edge = headerHeight() - 6; // below what stays at the top there is as much room
  if (Math.abs(target.getBoundingClientRect().top - edge) < 8) return;
  const cut = all(ROWS).filter((row) => {
    if (row === target || !row.checkVisibility()) return false;
    const { top, bottom } = row.getBoundingClientRect();
    return top < edge - 2 && bottom > edge;
  });
  const room = innerHeight - (seen || target).getBoundingClientRect().bottom - bottomHeight();
  cut.find((row) => edge - row.getBoundingClientRect().top < room)?.scrollIntoView({ block: "start", behavior: "instant" });
}
// How much what stays at the bottom of the window covers.
const bottomHeight = () => document.querySelector(".sheet-open")?.offsetHeight || 0;

export function focusOn(place) {
  if (place.tabIndex < 0) place.tabIndex = -1;
  HTMLElement.prototype.focus.call(place, { preventScroll: true }); // a form's own may be a field of that name
}
// Focused, what is in a column that stays in place would scroll the page to where the column began: its lists are
// scrolled instead, as far as their scroll-padding asks.
export function focusHere(place) {
  const column = place.closest(".toc");
  const stays = column && getComputedStyle(column).position === "sticky";
  place.focus({ preventScroll: stays });
  const upTo = (element) => element.parentElement.closest(".answer, .tools, .outline");
  for (let list = stays && upTo(place); list; list = upTo(list)) {
    const [inner, outer] = [place, list].map((each) => each.getBoundingClientRect());
    const { scrollPaddingTop: top, scrollPaddingBottom: bottom } = getComputedStyle(list);
    list.scrollTop += Math.min(0, inner.top - outer.top - (parseFloat(top) || 0))
      + Math.max(0, inner.bottom - outer.bottom + (parseFloat(bottom) || 0));
  }
}
