// Windows of a long list: a link to the earlier or later one loads it when it comes near. Until the reader has gone up, the
// earlier one waits until it is in view: a page that opens at its newest message has scrolled down to it.
import { all, headerHeight, on, onSettled } from "./dom.js";
import { hold } from "./focus.js";

export const SIDES = ["earlier", "later"];
export const loaded = { earlier: 0, later: 0 }; // windows that came after the page itself
export const sideOf = (target) =>
  SIDES.find((side) => target.matches(`.neighbour.${side}, :has(> .neighbour.${side}):is(li)`));
export const load = (link) => link.classList.contains("htmx-request") || link.dispatchEvent(new Event("near"));

let upwards = false, height = 0;
const loading = (rootMargin) => new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) load(target);
}, { rootMargin });
const [near, inView] = ["600px 0px", `${-headerHeight()}px 0px 0px`].map(loading);
function watch() {
  for (const link of all(".neighbour[hx-get]")) {
    if (upwards || !link.classList.contains("earlier")) near.observe(link);
    else if (height) inView.observe(link);
  }
}
onSettled(() => {
  for (const each of [near, inView]) each.disconnect(); // a link that came near before htmx knew it is told again
  watch();
});
// At the very top a wheel or a finger scrolls nothing, and asks for what came before all the same.
for (const how of ["scroll", "wheel", "touchmove"]) on(how, ({ type }) => {
  upwards ||= type !== "scroll" || scrollY < height;
  height = scrollY;
  watch();
}, window);

on("htmx:beforeSwap", ({ detail: { target, shouldSwap } }) => {
  if (!shouldSwap) return;
  if (target.closest("main")) document.querySelector("main :popover-open")?.hidePopover(); // its word moves
  if (target.id === "reading") loaded.earlier = loaded.later = 0;
  const side = sideOf(target);
  if (!side) return;
  loaded[side] += 1;
  const [before, after] = [target.previousElementSibling, target.nextElementSibling];
  hold(() => (side === "later" ? before?.nextElementSibling : after?.previousElementSibling));
});

// A far window gave way to its link again (trim.js).
export function unloaded(side) {
  loaded[side] = Math.max(0, loaded[side] - 1);
  watch();
}
