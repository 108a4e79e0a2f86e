// What opens and closes: folds (details), menus, and the tabs of a boundary.
import { all, byId, on, onSettled } from "./dom.js";

// A swap closes no fold: one that was open and has an id is opened again, but for lists that all of a session is read for.
let unfolded = [];
on("htmx:beforeSwap", ({ detail: { target, shouldSwap } }) => {
  if (shouldSwap) unfolded = all("details[id][open]:not(.work)", target).map((fold) => fold.id);
});
on("htmx:afterSwap", () => {
  for (const fold of unfolded.map(byId)) if (fold) fold.open = true;
});

// Filters start closed where there is little room; so do those that came with a swap.
const small = matchMedia("(max-width: 37.5em)");
onSettled(() => {
  for (const fold of all(".closes:not(.set)")) {
    if (small.matches) fold.open = false;
    fold.classList.add("set");
  }
});

// A menu closes with Escape, and with a click next to it.
on("keydown", ({ key }) => {
  if (key !== "Escape") return;
  for (const menu of all("details.menu[open]")) {
    const inside = menu.contains(document.activeElement);
    menu.open = false;
    if (inside) menu.querySelector("summary").focus();
  }
});
on("click", ({ target }) => {
  for (const menu of all("details.menu[open]")) if (!menu.contains(target)) menu.open = false;
});

on("htmx:beforeRequest", ({ target }) => {
  if (!target.closest?.(".tabs")) return;
  for (const tab of all("a", target.parentElement)) tab.removeAttribute("aria-current");
  target.setAttribute("aria-current", "true");
});
