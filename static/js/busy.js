// A button, or a search, says from its press to its answer that it is at work.
import { all, on } from "./dom.js";

function mark(place) {
  const works = place?.matches("[data-busy], [role=search]");
  if (works) place.ariaBusy = "true";
  return works;
}
const clear = (place) => { place.ariaBusy = null; };

on("submit", (event) => event.defaultPrevented || mark(event.submitter) || mark(event.target));
on("htmx:beforeRequest", ({ detail: { elt, requestConfig } }) =>
  mark(requestConfig.triggeringEvent?.submitter) || mark(elt));
on("htmx:afterRequest", ({ detail: { elt } }) => {
  all("[aria-busy]").filter((place) => place === elt || place.form === elt).forEach(clear);
});
on("pageshow", ({ persisted }) => persisted && all("[aria-busy]").forEach(clear), window);
