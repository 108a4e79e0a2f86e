// A session that goes on: asked again after 1.5 s, ever later while that fails, never while nobody looks.
import { MESSAGES, all, byId, calmly, focusOn, headerHeight, make, on, onClick, onSettled } from "./dom.js";

const SOON = 1.5, LATE = 60; // seconds
let wait = SOON, timer = 0, arriving = null, news = 0, first = null;
const live = () => document.querySelector("[data-live]");
const end = () => live()?.getBoundingClientRect().bottom ?? Infinity;
const name = (message) => message.id || message.querySelector("[id]")?.id;

function look(delay) {
  clearTimeout(timer);
  timer = document.hidden || !live() ? 0 : setTimeout(() => {
    timer = 0;
    live()?.dispatchEvent(new Event("look"));
  }, delay * 1000);
}
function lookAgain() {
  wait = SOON;
  look(document.hidden ? 0 : 0.05);
}
on("visibilitychange", lookAgain);
on("focus", lookAgain, window);
on("pageshow", (event) => event.persisted && lookAgain(), window);
onSettled(() => timer || look(wait));
on("htmx:afterRequest", ({ detail }) => {
  if (!detail.elt.matches("[data-live]")) return;
  wait = [200, 204].includes(detail.xhr.status) ? SOON : Math.min(wait * 2, LATE);
  look(wait);
});

on("htmx:beforeSwap", ({ detail }) => {
  if (!detail.requestConfig.elt.matches("[data-live]")) return;
  // A look that fails says so, and the next one comes all the same: its answer never takes its place.
  if (detail.xhr.status >= 400) Object.assign(detail, { target: byId("said"), swapOverride: "innerHTML" });
  else if (detail.shouldSwap) arriving = {
    known: new Map(all(MESSAGES).map((message) => [name(message), message])),
    follow: end() < innerHeight + 80 && getSelection().isCollapsed,
  };
});
on("htmx:afterSwap", () => {
  if (!arriving) return;
  const { known, follow } = arriving;
  const fresh = [];
  for (const message of all(MESSAGES)) {
    const old = known.get(name(message));
    if (!old) fresh.push(message);
    else if (old !== message) {
      const before = all("details", old);
      all("details", message).forEach((fold, at) => { fold.open ||= before[at]?.open; });
    }
  }
  arriving = null;
  if (fresh.length) announce(fresh, follow);
});

// Follow what is new where the reader is at the end; else say how much there is.
function announce(fresh, follow) {
  news += fresh.length;
  first ??= fresh.find((message) => message.checkVisibility()) || fresh[0];
  const words = `${news} new message${news > 1 ? "s" : ""}`;
  const [tag, className] = follow ? ["span", "hidden"] : ["button", "btn"];
  byId("news").replaceChildren(make(tag, { textContent: words, className }));
  if (!follow) return;
  // Calmly: as far as the end, but not past the beginning of what is new.
  const far = Math.min(end() - innerHeight + 120, first.getBoundingClientRect().top - headerHeight());
  if (far > 0) scrollBy({ top: far, behavior: calmly() });
  [news, first] = [0, null];
}
function forget() {
  byId("news").replaceChildren();
  [news, first] = [0, null];
}
on("scroll", () => news && end() < innerHeight && forget(), window);
onClick("#news button", () => {
  focusOn(first);
  first.scrollIntoView({ block: "start", behavior: calmly() });
  forget();
});
