// Focus never falls out of the page: what had it is found again by its id, else what was around it gets it.
import { byId, focusOn, on, onSettled } from "./dom.js";

let held = null;

// Keep who has the focus now, and its ancestors. `instead()` gives what is to have it before any of them.
export function hold(instead) {
  const chain = [];
  for (let at = document.activeElement; at && at !== document.body; at = at.parentElement) chain.push(at);
  if (chain.length) held = { chain, instead };
}

function refocus() {
  if (!held || document.activeElement !== document.body) return;
  const next = held.instead?.();
  for (const old of next ? [next, ...held.chain] : held.chain) {
    const place = old.isConnected ? old : old.id && byId(old.id);
    if (!place || place.disabled || !place.checkVisibility()) continue;
    if (typeof place.focus !== "function") continue; // a form with a field of that name: htmx would call the field
    focusOn(place.querySelector(place.matches(".lines li") ? "a" : "[autofocus]") || place);
    if (document.activeElement === document.body) continue;
    held = null;
    return;
  }
}

on("focusin", () => { held = null; });
// Whoever leaves a field for nothing else has left it. Browsers say the same of what a swap takes out of the page,
// before it is out: so it is looked at again when the swap is done.
on("focusout", ({ target }) => queueMicrotask(() => {
  const isGone = !target.isConnected || target.disabled || !target.checkVisibility();
  if (document.activeElement === document.body && !isGone) held = null;
}));
on("htmx:beforeRequest", () => hold());
on("htmx:beforeSwap", ({ detail }) => detail.shouldSwap && hold());
on("htmx:afterSwap", refocus);
onSettled(refocus);
