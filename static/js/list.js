// Lists of sessions and of search hits: new and changed lines come by themselves, lines are chosen and opened by keys.
import { all, byId, on } from "./dom.js";

const lines = (root = document) => all(".lines > li.session", root);
const rows = (root) => all(".lines > :is(li.session, .of-list)", root); // with the heads of its sections
const boxOf = (line) => line.querySelector("input[name=session]");
const boxes = () => lines().map(boxOf);
const says = (line) => line.textContent + line.matches(".archived"); // its other classes are set here

// An answer to a look for news is the page as it is now: its lines take the places of those that are here.
function merge(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const list = document.querySelector("ol.lines"), held = lines().find((line) => line.getBoundingClientRect().top > 0);
  const y = held?.getBoundingClientRect().top, still = scrollY > 40;
  let before = null;
  for (const head of all(".lines > .of-list")) if (!fresh.getElementById(head.id)) head.remove();
  for (const line of rows(fresh)) {
    const old = byId(line.id);
    const busy = old && old.contains(document.activeElement);
    const next = busy || (old && says(old) === says(line)) ? old : document.importNode(line, true);
    if (old && next !== old && boxOf(old)) boxOf(next).checked = boxOf(old).checked;
    if (next !== old) {
      next.classList.add("fresh");
      old?.remove();
    }
    const place = before ? before.nextElementSibling : list.firstElementChild;
    if (place !== next && !busy) list.insertBefore(next, place);
    if (next !== old) htmx.process(next);
    before = next;
  }
  const more = byId("more-filters")?.open;
  for (const id of ["facets", "total"]) byId(id)?.replaceChildren(...(fresh.getElementById(id)?.childNodes ?? []));
  if (more) byId("more-filters")?.setAttribute("open", "");
  const known = document.querySelector("[data-list] [name=known]");
  known.value = fresh.querySelector("[data-list] [name=known]")?.value ?? known.value;
  if (still && held?.isConnected) scrollBy({ top: held.getBoundingClientRect().top - y, behavior: "instant" });
  document.dispatchEvent(new Event("htmx:afterSettle"));
}
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!detail.requestConfig.elt.matches("[data-list]") || detail.xhr.status !== 200) return;
  detail.shouldSwap = false;
  merge(detail.xhr.responseText);
}, true);

function count() {
  const every = byId("all-sessions");
  if (!every) return;
  const ticked = boxes().filter((box) => box.checked).length;
  byId("ticked").textContent = ticked ? `${ticked} ticked` : "";
  every.checked = ticked > 0 && ticked === boxes().length;
  every.indeterminate = ticked > 0 && !every.checked;
}
on("change", ({ target }) => {
  if (target.id === "all-sessions") for (const box of boxes()) box.checked = target.checked;
  if (target.id === "all-sessions" || target.name === "session") count();
});
on("htmx:afterSettle", count);

on("keydown", (event) => {
  const line = document.activeElement;
  if (!line.matches("li.session, li.hit") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter") line.querySelector(".title a, a.to").click();
  if (event.key === "x" && line.matches(".session") && byId("keys-on").checked) {
    boxOf(line).click();
    line.focus();
  }
});

// One group a session: further hits of a session that is there go into its fold.
on("htmx:afterSettle", () => {
  const groups = {};
  for (const group of all(".of-session")) {
    const first = (groups[group.dataset.session] ??= group);
    if (first === group) continue;
    const fold = first.querySelector(".fold");
    fold.querySelector("ol").append(...all(".hit", group));
    fold.querySelector(".number").textContent = all(".hit", fold).length;
    fold.hidden = false;
    group.remove();
  }
});
