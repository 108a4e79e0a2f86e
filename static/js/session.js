// A session's page: it opens at its newest message, and a link to a place that is not on it opens the window of that.
import { FOLDED, all, byId, goTo, isNew, on, onClick } from "./dom.js";
import "./find.js";
import { choose } from "./toc.js";
import "./trim.js";

on("DOMContentLoaded", () => {
  if (location.hash || !isNew()) return;
  const places = all(`[data-newest] :is([data-turn], [data-boundary], ${FOLDED})`);
  const newest = places.findLast((element) => element.checkVisibility());
  // Matches of a filter are lines: those before the last one are wanted as well.
  const block = new URLSearchParams(location.search).has("only") ? "center" : "start";
  if (!newest) return;
  goTo(newest, block);
  if (newest.matches("[data-turn]")) choose(newest);
});

onClick("a[href^='#']", (link, event) => {
  const hash = link.getAttribute("href");
  if (!/^#[mb]\d+$/.test(hash) || byId(hash.slice(1))) return;
  event.preventDefault();
  location.assign(`${location.pathname}?around=${hash.slice(2)}${hash}`);
});

on("input", ({ target }) => target.id === "at" && byId("at-problem").replaceChildren());
