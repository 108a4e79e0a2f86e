// The compact panel as a sheet over the page on small screens: the rest is inert while it is up.
import { all, byId, focusOn, narrow, on } from "./dom.js";

let opener = null;
function sheet(up) {
  const side = byId("side");
  if (!side || side.classList.contains("up") === up) return;
  side.classList.toggle("up", up);
  side.role = up ? "dialog" : "complementary"; // an <aside> may not be a dialog
  side.ariaModal = up ? "true" : null;
  for (const other of all("body > :is(.skips, header, footer), .page > :not(#side)")) other.inert = up;
  if (up) {
    opener = document.activeElement;
    focusOn(side);
  } else opener?.focus();
}
on("change", () => sheet(false), narrow);
on("keydown", ({ key }) => key === "Escape" && sheet(false));
on("DOMContentLoaded", () => narrow.matches && /^#(plan|side)$/.test(location.hash) && sheet(true));
on("click", (event) => {
  const at = (selector) => event.target.closest?.(selector);
  if (at("[data-sheet]") && narrow.matches && byId("side")) {
    event.preventDefault();
    sheet(true);
  } else if (!at("#side") || at("[data-sheet-close]")) sheet(false);
});
