// Code gets its colours when it is first in view. An attribute of htmx for each would take most of the time in which it
// starts a long page.
import { all, onSettled } from "./dom.js";

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    htmx.ajax("GET", target.dataset.colours, { source: target, target });
    target.removeAttribute("data-colours");
  }
});
onSettled(() => all("[data-colours]").forEach((code) => seen.observe(code)));
