// The command palette, loaded when it is first asked for. What it lists is the server's (templates/palette); here is
// what a combobox needs: keys that move along the list while the focus stays in the field.
import { all, byId, isModified } from "./dom.js";

const [dialog, field, found] = ["palette", "palette-words", "palette-found"].map(byId);
const options = () => all("[role=option]", found);
const chosen = () => found.querySelector("[aria-selected=true]");
let due = ""; // the words whose first option is to be taken as soon as it is there

export const look = () => field.dispatchEvent(new Event("look"));

function choose(option) {
  chosen()?.setAttribute("aria-selected", false);
  option?.setAttribute("aria-selected", true);
  option?.scrollIntoView({ block: "nearest" });
  field.setAttribute("aria-activedescendant", option?.id ?? "");
}

function move(step) {
  const listed = options();
  choose(listed[(listed.indexOf(chosen()) + step + listed.length) % listed.length]);
}

// The list is that of the words in the field, not of those typed before.
const isCurrent = () => found.dataset.q === field.value;

field.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key === "Escape") event.stopPropagation(); // what is open under it stays so
  const act = { ArrowDown: () => move(1), ArrowUp: () => move(-1), Enter: take }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
field.addEventListener("input", () => { due = ""; });

function take() {
  if (isCurrent()) chosen()?.click();
  else due = field.value;
}

found.addEventListener("htmx:afterSwap", ({ detail }) => {
  found.dataset.q = detail.requestConfig.parameters.q;
  choose(options()[0]);
  byId("palette-said").textContent = options().length === 1 ? "1 result" : `${options().length} results`;
  if (due && due === found.dataset.q) take();
  due = "";
});
found.addEventListener("pointermove", ({ target }) => {
  const option = target.closest("[role=option]");
  if (option && option !== chosen()) choose(option);
});

// What is on the page and does the same is pressed, so that nothing is loaded; else the option is a link or a button.
const onPage = (selectors) =>
  selectors.split(", ").flatMap((each) => (each ? all(each) : [])).find((place) => place.checkVisibility());

function press(place) {
  if (place.matches("a, button")) return place.click();
  if (place.matches("summary")) place.parentElement.open = true;
  if (place.tabIndex < 0) place.tabIndex = -1;
  place.focus();
  place.select?.();
}

dialog.addEventListener("click", (event) => {
  if (event.target === dialog) return dialog.close(); // next to it
  const option = event.target.closest("[role=option]");
  if (!option || isModified(event)) return;
  const place = onPage(option.dataset.press);
  dialog.close();
  if (!place) return;
  event.preventDefault();
  setTimeout(() => press(place)); // after this click, which closes other things
});
