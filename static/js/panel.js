// The compact panel plans again when a field changes. A press on one of its buttons outranks that: what is under the
// pointer stays there until it is let go, and the button's own request says what the fields say.
import { byId, on } from "./dom.js";

let pressed = false, withheld = false;
const asking = (element) => element.id === "replan";
const answering = () => document.querySelector("#plan :is(button, a).htmx-request");

on("pointerdown", ({ target }) => { pressed = Boolean(target.closest?.("#plan .actions :is(button, a)")); });
for (const how of ["pointerup", "pointercancel"]) on(how, () => setTimeout(() => {
  pressed = false;
  if (withheld && !document.querySelector("#plan .htmx-request")) byId("replan")?.dispatchEvent(new Event("change"));
  withheld = false;
}));
on("htmx:confirm", (event) => {
  if (!asking(event.detail.elt)) return;
  const sent = answering();
  if (!pressed && !sent) return;
  withheld = !sent;
  event.preventDefault();
});
on("htmx:beforeSwap", ({ detail }) => {
  if (!asking(detail.requestConfig.elt) || (!pressed && !answering())) return;
  withheld = !answering();
  detail.shouldSwap = false;
});
