// A column of a session's page as a sheet over it on small screens: the rest is inert while it is up.
import { all, byId, focusOn, narrow, on, targetOf } from "./dom.js";

const COLUMNS = ".page > :is(.side, .toc)";
let up = null, opener = null;

function close() {
  if (!up) return;
  up.classList.remove("up");
  up.role = up.id === "side" ? "complementary" : "navigation"; // an <aside> or <nav> may not be a dialog
  up.ariaModal = null;
  for (const other of all("body > :is(.skips, header, footer), .page > *")) other.inert = false;
  up = null;
  if (opener?.isConnected) focusOn(opener);
}
// The column that an element is in comes up, where columns are sheets.
export function bringUp(element) {
  const column = narrow.matches && element?.closest(COLUMNS);
  if (!column || column === up) return;
  close();
  opener = document.activeElement;
  up = column;
  up.classList.add("up");
  up.role = "dialog";
  up.ariaModal = "true";
  for (const other of all("body > :is(.skips, header, footer), .page > *")) other.inert = other !== up;
  focusOn(up);
  up.dispatchEvent(new Event("sheet", { bubbles: true }));
}
on("change", close, narrow);
on("keydown", ({ key }) => key === "Escape" && close());
on("DOMContentLoaded", () => /^#(plan|side|contents)$/.test(location.hash) && bringUp(targetOf(location.hash)));
on("click", (event) => {
  const at = (selector) => event.target.closest?.(selector);
  const wanted = narrow.matches && at("[data-sheet]") && byId(at("[data-sheet]").hash.slice(1));
  if (wanted) {
    event.preventDefault();
    bringUp(wanted);
  } else if (up && (!up.contains(event.target) || at("[data-sheet-close], .toc a:not([hx-get])"))) close();
});
