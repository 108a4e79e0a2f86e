// The table of contents follows the reading.
import { all, onSettled, targetOf } from "./dom.js";

const visible = new Set();
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) visible[isIntersecting ? "add" : "delete"](target);
  const first = all("[data-turn], [data-boundary]").find((element) => visible.has(element));
  if (!first) return;
  let here = null;
  for (const link of all(".toc a[href^='#']")) {
    const place = targetOf(link.getAttribute("href"));
    if (place && !(place.compareDocumentPosition(first) & Node.DOCUMENT_POSITION_PRECEDING)) here = link;
  }
  for (const item of all(".toc li.here")) item.classList.remove("here");
  here?.parentElement.classList.add("here");
}, { rootMargin: "-15% 0px -60% 0px" });
onSettled(() => {
  seen.disconnect();
  for (const element of all("[data-turn], [data-boundary]")) seen.observe(element);
});
