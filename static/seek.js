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
    if (target && isNew()) showWords(target);
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
      if (at.matches(".clamp")) at.querySelector("details.more").open = true;
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
    const words = `message ${at.toLocaleString("en")} of ${(+cursor.max).toLocaleString("en")}${day ? ` · ${day}` : ""}`;
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
})();
