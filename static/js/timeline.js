// The cursor of the timeline says where it would lead to, and leads there when it is let go; with keys, on Enter.
import { byId, on } from "./dom.js";

let dragged = false;
export function describe(cursor) {
  const at = +cursor.value;
  const days = cursor.dataset.days.split("|").map((each) => each.split(":"));
  const day = days.findLast(([from]) => +from <= at)?.[1];
  const place = `message ${at.toLocaleString("en")} of ${(+cursor.max).toLocaleString("en")}`;
  const words = day ? `${place} · ${day}` : place;
  cursor.setAttribute("aria-valuetext", words);
  cursor.form.querySelector("output").textContent = words;
}
const isCursor = ({ target }) => target.id === "scrub";
on("input", (event) => isCursor(event) && describe(event.target));
on("pointerdown", (event) => { dragged = isCursor(event); });
on("change", (event) => isCursor(event) && dragged && event.target.form.requestSubmit());
on("keydown", (event) => {
  if (!isCursor(event)) return;
  dragged = false;
  if (event.key === "Enter") event.target.form.requestSubmit();
});
on("htmx:afterSwap", () => byId("scrub") && describe(byId("scrub")));
