// On a session's page: it opens at its newest message; find goes from hit to hit.
(() => {
  const on = (name, act, place = document) => place.addEventListener(name, act);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const MESSAGES = ".turn, .out, .boundary";

  // Loaded again, or gone back to, a page stays where it was.
  const isNew = () => performance.getEntriesByType("navigation")[0]?.type === "navigate" && !history.state;
  on("DOMContentLoaded", () => {
    if (location.hash || !isNew()) return;
    all("[data-newest] :is([data-turn], [data-boundary])").at(-1)?.scrollIntoView({ block: "start", behavior: "instant" });
  });

  // Until a page is loaded, the browser itself goes to the beginning of what is linked to. Who steps with Enter goes on
  // with Enter.
  on("load", () => setTimeout(() => {
    const target = document.querySelector(".marked");
    if (target?.querySelector("mark") && isNew()) showWords(target);
    if (sessionStorage.getItem("finding")) byId("find")?.focus({ preventScroll: true });
    sessionStorage.removeItem("finding");
  }), window);

  // The words that were looked for in a message: its own, before those of what stands within it; folds open first.
  function showWords(target) {
    const marks = all("mark", target);
    const mark = marks.find((each) => each.closest(MESSAGES) === target) || marks[0];
    for (const old of all("mark.here")) old.classList.remove("here");
    mark?.classList.add("here");
    for (let at = mark || target; at; at = at.parentElement) {
      if (at.matches("details")) at.open = true;
      if (at.matches(".clamp.long")) at.querySelector("details.more").open = true;
    }
    target.scrollIntoView({ block: "start", behavior: "instant" });
    const { bottom } = mark?.getBoundingClientRect() || { bottom: 0 };
    if (bottom > innerHeight * 0.8) mark.scrollIntoView({ block: "center", behavior: "instant" });
  }

  // From hit to hit: within the page where its words are marked, else by opening the window that holds it.
  const hits = () => all("#found .hits a.to");
  const wordsOf = (link) => new URLSearchParams(link.search).get("q");
  function visit(link, event) {
    const target = link.pathname === location.pathname && wordsOf(link) === wordsOf(location) && byId(link.hash.slice(1));
    if (!target) return;
    event.preventDefault();
    sessionStorage.removeItem("finding");
    for (const old of all("#found [aria-current]")) old.removeAttribute("aria-current");
    link.setAttribute("aria-current", "true");
    const count = document.querySelector("#found [data-of]");
    count.textContent = `${hits().indexOf(link) + 1} of ${count.dataset.of}`;
    for (const old of all(".marked")) old.classList.remove("marked");
    target.classList.add("marked");
    history.replaceState(null, "", link.href);
    document.dispatchEvent(new Event("htmx:replacedInHistory"));
    link.scrollIntoView({ block: "nearest", behavior: "instant" });
    showWords(target);
  }
  on("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    const step = event.target.closest?.("#found [data-step]");
    const hit = event.target.closest?.("#found .hits a.to");
    if (hit) return visit(hit, event);
    if (!step) return;
    const found = hits();
    const current = found.findIndex((link) => link.hasAttribute("aria-current"));
    const at = current < 0 && step.dataset.step < 0 ? -1 : current + +step.dataset.step;
    const next = found.at(at % found.length);
    step.href = next.href;
    visit(next, event);
  });
  // Enter in the field goes on to the next hit, with Shift to the one before, once there are hits for what it says.
  let waiting = "";
  const go = (key) => {
    const step = document.querySelector(`#found [data-key=${key}]`);
    if (!step) return;
    sessionStorage.setItem("finding", "1");
    step.click();
  };
  on("keydown", (event) => {
    if (event.target.id !== "find" || event.key !== "Enter" || event.isComposing) return;
    const key = event.shiftKey ? "N" : "n";
    if (document.querySelector("#found [data-q]")?.dataset.q === event.target.value.trim().replace(/\s+/g, " ")) {
      event.preventDefault();
      go(key);
    } else waiting = key;
  });
  on("htmx:afterSettle", ({ target }) => {
    if (target.id !== "found" || !waiting) return;
    go(waiting);
    waiting = "";
  });

  // The cursor of the timeline says where it would lead to, and leads there when it is let go; with keys, on Enter.
  let dragged = false;
  function tell(cursor) {
    const at = +cursor.value;
    const day = cursor.dataset.days.split("|").map((each) => each.split(":")).findLast(([from]) => +from <= at)?.[1];
    const place = `message ${at.toLocaleString("en")} of ${(+cursor.max).toLocaleString("en")}`;
    const words = day ? `${place} · ${day}` : place;
    cursor.setAttribute("aria-valuetext", words);
    cursor.form.querySelector("output").textContent = words;
  }
  const isCursor = ({ target }) => target.id === "scrub";
  on("input", (event) => isCursor(event) && tell(event.target));
  on("pointerdown", (event) => { dragged = isCursor(event); });
  on("change", (event) => { if (isCursor(event) && dragged) event.target.form.requestSubmit(); });
  on("keydown", (event) => {
    if (!isCursor(event)) return;
    dragged = false;
    if (event.key === "Enter") event.target.form.requestSubmit();
  });
  on("htmx:afterSwap", () => byId("scrub") && tell(byId("scrub")));

  // At most so many windows stay on the page: those furthest from what is read give way to their link. A window begins at
  // a seam, where it was put in; none tears a call and its results apart.
  const MOST = 5;
  let joined = null;
  on("htmx:beforeSwap", ({ detail: { target, shouldSwap } }) => {
    const side = shouldSwap && ["earlier", "later"].find((each) => target.matches(`.history > .neighbour.${each}`));
    joined = side ? { side, before: target.previousElementSibling, after: target.nextElementSibling } : null;
  });
  on("htmx:afterSwap", () => {
    if (!joined) return;
    const { side, before, after } = joined;
    joined = null;
    (side === "later" ? before?.nextElementSibling : after)?.setAttribute("data-seam", "");
    trim(side === "later" ? "earlier" : "later");
  });
  const rows = (item) => [item, ...all("[id]", item)].filter(({ id }) => /^m\d+$/.test(id)).map(({ id }) => +id.slice(1));
  const isNear = (item) => {
    const { top, bottom } = item.getBoundingClientRect();
    return bottom > -innerHeight && top < 2 * innerHeight;
  };
  function trim(side) {
    const seams = all(".history > [data-seam]");
    const link = document.querySelector(`.history > .neighbour.${side}`);
    if (seams.length < MOST || link?.classList.contains("htmx-request")) return;
    const items = all(".history > :is([data-turn], [data-boundary])");
    const at = items.indexOf(side === "earlier" ? seams[0] : seams.at(-1));
    const [above, below] = [items.slice(0, at), items.slice(at)];
    const gone = side === "earlier" ? above : below;
    const edge = side === "earlier" ? below.flatMap(rows)[0] : Math.max(...rows(above.at(-1)));
    if (!(edge > 0) || gone.some((item) => isNear(item) || item.contains(document.activeElement))) return;
    const read = items.find((item) => !gone.includes(item) && item.getBoundingClientRect().bottom > 0);
    const stood = read.getBoundingClientRect().top;
    const count = gone.flatMap(rows).length + (parseInt(link?.textContent.replace(/\D/g, ""), 10) || 0);
    const query = new URLSearchParams({ [side === "earlier" ? "before" : "after"]: edge });
    if (wordsOf(location)) query.set("q", wordsOf(location));
    const fresh = document.createElement("a");
    fresh.className = `neighbour ${side}`;
    fresh.textContent = `${count.toLocaleString("en")} ${side} message${count === 1 ? "" : "s"}`;
    const address = `${location.pathname}?${query}`;
    for (const [name, value] of Object.entries({ href: address, "hx-get": address, "hx-swap": "outerHTML", "hx-trigger": "click, near" })) fresh.setAttribute(name, value);
    if (side === "earlier") below[0].before(fresh);
    else above.at(-1).after(fresh);
    for (const item of [link, ...gone, ...(side === "later" ? all(".history > :is(#live, .end)") : [])]) item?.remove();
    below[0].removeAttribute("data-seam");
    htmx.process(fresh);
    scrollBy({ top: read.getBoundingClientRect().top - stood, behavior: "instant" });
    document.dispatchEvent(new CustomEvent("trimmed", { detail: side }));
  }
  // A link to a place on the page that is not there any more opens its window.
  on("click", (event) => {
    const hash = event.target.closest?.("a[href^='#']")?.getAttribute("href");
    if (!/^#[mb]\d+$/.test(hash || "") || byId(hash.slice(1))) return;
    event.preventDefault();
    location.assign(`${location.pathname}?around=${hash.slice(2)}${hash}`);
  });
})();
