// At most so many windows stay on a session's page: those furthest from what is read give way to their link. A window
// begins at a seam, where it was put in; none tears a call and its results apart.
import { all, on } from "./dom.js";
import { SIDES, unloaded } from "./windows.js";

const MOST = 5;
const asked = (name) => new URLSearchParams(location.search).get(name);
let joined = null;
on("htmx:beforeSwap", ({ detail: { target, shouldSwap } }) => {
  const side = shouldSwap && SIDES.find((each) => target.matches(`.history > .neighbour.${each}`));
  joined = side ? { side, before: target.previousElementSibling, after: target.nextElementSibling } : null;
});
on("htmx:afterSwap", () => {
  if (!joined) return;
  const { side, before, after } = joined;
  joined = null;
  (side === "later" ? before?.nextElementSibling : after)?.setAttribute("data-seam", "");
  trim(side === "later" ? "earlier" : "later");
});

const rows = (item) =>
  [item, ...all("[id]", item)].filter(({ id }) => /^m\d+$/.test(id)).map(({ id }) => +id.slice(1));
// Messages as the windows count them: those of a filter without results.
const size = (item) => (asked("only") ? all("[data-turn]", item).length || 1 : rows(item).length);
// The last message of an item; of a filter's, the last with a place of its own: its results may be after the next one.
const newest = (item) => (asked("only") ? rows(all("[data-turn]", item).at(-1) ?? item)[0] : Math.max(...rows(item)));
const isNear = (item) => {
  const { top, bottom } = item.getBoundingClientRect();
  return bottom > -innerHeight && top < 2 * innerHeight;
};
function trim(side) {
  const seams = all(".history > [data-seam]");
  const link = document.querySelector(`.history > .neighbour.${side}`);
  if (seams.length < MOST || link?.classList.contains("htmx-request")) return;
  const items = all(".history > :is([data-turn], [data-boundary], .worked)");
  const at = items.indexOf(side === "earlier" ? seams[0] : seams.at(-1));
  const [above, below] = [items.slice(0, at), items.slice(at)];
  const gone = side === "earlier" ? above : below;
  const edge = side === "earlier" ? below.flatMap(rows)[0] : newest(above.at(-1));
  if (!(edge > 0) || gone.some((item) => isNear(item) || item.contains(document.activeElement))) return;
  const read = items.find((item) => !gone.includes(item) && item.getBoundingClientRect().bottom > 0);
  const y = read.getBoundingClientRect().top;
  const count = gone.map(size).reduce((sum, each) => sum + each, 0) + (parseInt(link?.textContent.replace(/\D/g, ""), 10) || 0);
  const fresh = linkTo(side, edge, count);
  if (side === "earlier") below[0].before(fresh);
  else above.at(-1).after(fresh);
  const after = side === "later" ? all(".history > :is(#live, .end)") : [];
  for (const item of [link, ...gone, ...after]) item?.remove();
  below[0].removeAttribute("data-seam");
  htmx.process(fresh);
  scrollBy({ top: read.getBoundingClientRect().top - y, behavior: "instant" });
  unloaded(side);
}
function linkTo(side, edge, count) {
  const query = new URLSearchParams({ [side === "earlier" ? "before" : "after"]: edge });
  for (const name of ["q", "only"]) if (asked(name)) query.set(name, asked(name));
  const address = `${location.pathname}?${query}`;
  const link = document.createElement("a");
  link.className = `neighbour ${side}`;
  link.textContent = `${count.toLocaleString("en")} ${side} message${count === 1 ? "" : "s"}`;
  const attributes = { href: address, "hx-get": address, "hx-swap": "outerHTML", "hx-trigger": "click, near" };
  for (const [name, value] of Object.entries(attributes)) link.setAttribute(name, value);
  return link;
}
