// Sentences for everybody: seen, and read out. Errors that cannot be swapped in are among them.
import { byId, make, on, onClick } from "./dom.js";

export function say(...parts) {
  const note = make("p", {});
  note.append(...parts);
  byId("said").replaceChildren(note);
}

// One that asks for nothing goes by itself.
let going;
new MutationObserver(() => {
  clearTimeout(going);
  if (document.querySelector("#said :is(a, button)")) return;
  going = setTimeout(() => byId("said").replaceChildren(), 6000);
}).observe(byId("said"), { childList: true, subtree: true });
onClick("[data-dismiss]", (button) => button.parentElement.remove());

function complain(sentence) {
  say(`${sentence} `, make("a", { href: location.href, textContent: "Load the page again", className: "complaint" }));
}
on("htmx:responseError", ({ detail }) => complain(`The site refused that (${detail.xhr.status}).`));
on("htmx:sendError", () => complain("The site does not answer."));
on("htmx:afterRequest", ({ detail }) => {
  if (detail.successful) document.querySelector(".complaint")?.parentElement.remove();
});
// A request that a newer one replaces (hx-sync) is no error, but htmx 2 logs it as two; what fails has more events.
htmx.logger = (_, name, detail) => {
  if (name === "htmx:afterRequest" || name === "htmx:sendAbort") delete detail.error;
};

// A second click of two answers no question that came with the first.
on("click", (event) => {
  if (event.detail > 1 && event.target.closest(".confirm")) event.preventDefault();
});
