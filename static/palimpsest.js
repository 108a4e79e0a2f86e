// What an hx- attribute cannot do: keys, marking, loading neighbours without a jump, the sheet on small screens.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const top = () => parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;

  // A permalink opens, scrolls and marks: folds around the target open first.
  function reveal(target) {
    if (!target) return;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView({ block: "start", behavior: "instant" });
  }
  const targetOf = (hash) => hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
  addEventListener("hashchange", () => reveal(targetOf(location.hash)));

  // j k and [ ]: step from what stands at the top of the window.
  function step(selector, direction) {
    const found = all(selector).filter((element) => element.offsetParent);
    const line = top() + 2;
    const tops = found.map((element) => element.getBoundingClientRect().top);
    let at = direction > 0 ? tops.findIndex((y) => y > line + 1) : tops.findLastIndex((y) => y < line - 4);
    const current = document.querySelector(".focus");
    if (current && found.includes(current) && Math.abs(current.getBoundingClientRect().top - line) < innerHeight) at = found.indexOf(current) + direction;
    const next = found[at];
    if (!next) return selector === "[data-boundary]" && beyond(direction);
    current?.classList.remove("focus");
    next.classList.add("focus");
    if (!next.hasAttribute("tabindex")) next.tabIndex = -1;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "start", behavior: "instant" });
  }
  // A boundary outside the window: its line in the table of contents leads there.
  function beyond(direction) {
    const items = all(".toc li");
    const shown = items.map((item) => item.classList.contains("shown"));
    const rest = direction > 0 ? items.slice(shown.lastIndexOf(true) + 1) : items.slice(0, Math.max(0, shown.indexOf(true))).reverse();
    rest.find((item) => item.classList.contains("cut"))?.querySelector("a").click();
  }
  let pending = "";
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, textarea, select, dialog[open]")) return;
    const key = pending + event.key;
    pending = event.key === "g" ? "g" : "";
    const keys = {
      "/": () => document.getElementById("search")?.focus(),
      j: () => step("[data-turn]", 1),
      k: () => step("[data-turn]", -1),
      "]": () => step("[data-boundary]", 1),
      "[": () => step("[data-boundary]", -1),
      gs: () => location.assign(document.querySelector(".brand").href),
      "?": () => document.getElementById("keys")?.showModal(),
    };
    if (!keys[key]) return;
    event.preventDefault();
    keys[key]();
  });

  // Neighbouring windows load when they come near, but the earlier one not before the reader scrolls.
  let scrolled = false;
  addEventListener("scroll", () => { scrolled = true; watch(); }, { passive: true });
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting && !target.classList.contains("htmx-request")) target.dispatchEvent(new Event("near"));
    }
  }, { rootMargin: "600px 0px" });
  const watched = new WeakSet();
  function watch() {
    for (const link of all(".neighbour")) {
      if (watched.has(link) || (!scrolled && link.classList.contains("earlier"))) continue;
      watched.add(link);
      near.observe(link);
    }
  }
  // Messages put in above must not move what is being read.
  let before = null;
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (!detail.target.classList?.contains("earlier")) return;
    const next = detail.target.nextElementSibling;
    before = next && { next, y: next.getBoundingClientRect().top };
  });
  document.addEventListener("htmx:afterSwap", () => {
    if (!before) return;
    scrollBy({ top: before.next.getBoundingClientRect().top - before.y, behavior: "instant" });
    before = null;
  });

  // The table of contents follows the reading.
  const visible = new Set();
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) visible[isIntersecting ? "add" : "delete"](target);
    const first = all("[data-turn], [data-boundary]").find((element) => visible.has(element));
    if (!first) return;
    let here = null;
    for (const link of all(".toc a[href^='#']")) {
      const place = targetOf(link.getAttribute("href"));
      if (place && !(place.compareDocumentPosition(first) & Node.DOCUMENT_POSITION_PRECEDING)) here = link;
    }
    for (const item of all(".toc li.here")) item.classList.remove("here");
    here?.parentElement.classList.add("here");
  }, { rootMargin: "-15% 0px -60% 0px" });

  // An answer that cannot be swapped in must not pass in silence.
  function complain(sentence) {
    const place = document.getElementById("said");
    if (!place) return;
    const note = Object.assign(document.createElement("p"), { className: "done", textContent: `${sentence} ` });
    note.append(Object.assign(document.createElement("a"), { href: location.href, textContent: "Load the page again" }));
    place.replaceChildren(note);
  }
  document.addEventListener("htmx:responseError", ({ detail }) => complain(`The site refused that (${detail.xhr.status}).`));
  document.addEventListener("htmx:sendError", () => complain("The site does not answer."));

  // Tabs of a boundary, the sheet on small screens.
  document.addEventListener("htmx:beforeRequest", ({ target }) => {
    if (!target.closest?.(".tabs")) return;
    for (const tab of all("a", target.parentElement)) tab.removeAttribute("aria-current");
    target.setAttribute("aria-current", "true");
  });
  document.addEventListener("click", (event) => {
    event.target.closest?.("[data-dismiss]")?.parentElement.remove();
    const side = document.getElementById("side");
    const opener = event.target.closest?.("[data-sheet]");
    if (opener && side) {
      event.preventDefault();
      side.classList.add("up");
      side.tabIndex = -1;
      side.focus();
    } else if (side?.classList.contains("up") && (!side.contains(event.target) || event.target.closest("[data-sheet-close]"))) side.classList.remove("up");
    for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    document.getElementById("side")?.classList.remove("up");
    for (const menu of all("details.menu[open]")) menu.open = false;
  });

  function settle() {
    watch();
    seen.disconnect();
    for (const element of all("[data-turn], [data-boundary]")) seen.observe(element);
  }
  document.addEventListener("htmx:afterSettle", settle);
  addEventListener("DOMContentLoaded", () => {
    reveal(targetOf(location.hash) || document.querySelector(".turn.marked, .out.marked, .boundary.marked"));
    settle();
    if (matchMedia("(max-width: 600px)").matches) for (const fold of all(".closes")) fold.open = false;
  });
})();
