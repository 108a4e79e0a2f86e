// What an hx- attribute cannot do: keys, focus and place kept over swaps, live sessions, copying, the sheet.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const on = (name, act, place = document) => place.addEventListener(name, act);
  const make = (tag, facts) => Object.assign(document.createElement(tag), facts);
  const top = () => parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const TURNS = "[data-turn], [data-boundary], details.raw";

  function focusOn(place) {
    if (place.tabIndex < 0) place.tabIndex = -1;
    HTMLElement.prototype.focus.call(place, { preventScroll: true }); // a form's own may be a field of that name
  }

  // A permalink opens, scrolls and marks: folds around the target open first.
  function reveal(target) {
    if (!target) return;
    target.querySelector(":scope > .unfolds")?.toggleAttribute("open", true);
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView({ block: "start", behavior: "instant" });
  }
  const targetOf = (hash) => hash.length > 1 && byId(decodeURIComponent(hash.slice(1)));
  on("hashchange", () => reveal(targetOf(location.hash)), window);

  // j k and [ ]: step from what stands at the top of the window.
  function step(selector, direction) {
    const found = all(selector).filter((element) => element.offsetParent);
    const line = top() + 2;
    const tops = found.map((element) => element.getBoundingClientRect().top);
    let at = direction > 0 ? tops.findIndex((y) => y > line + 1) : tops.findLastIndex((y) => y < line - 4);
    const current = document.querySelector(".focus");
    if (found.includes(current) && Math.abs(current.getBoundingClientRect().top - line) < innerHeight) at = found.indexOf(current) + direction;
    const next = found[at];
    if (!next) return selector === "[data-boundary]" && beyond(direction);
    current?.classList.remove("focus");
    next.classList.add("focus");
    focusOn(next);
    next.scrollIntoView({ block: next.matches("li") ? "nearest" : "start", behavior: "instant" });
  }
  // A boundary outside the window: its line in the table of contents leads there.
  function beyond(direction) {
    const items = all(".toc li");
    const shown = items.map((item) => item.classList.contains("shown"));
    const rest = direction > 0 ? items.slice(shown.lastIndexOf(true) + 1) : items.slice(0, Math.max(0, shown.indexOf(true))).reverse();
    rest.find((item) => item.classList.contains("cut"))?.querySelector("a").click();
  }
  function unfold() {
    const folds = all("details:not(.menu)", document.activeElement.closest(TURNS) || document.querySelector(".focus, .turn.marked, .boundary.marked") || make("p"));
    const open = folds.some((fold) => !fold.open);
    for (const fold of folds) fold.open = open;
  }
  const go = (selector) => document.querySelector(selector)?.click();
  const type = (field) => field && (field.focus(), field.select(), true);
  const KEYS = {
    "/": () => type(byId("search")),
    f: () => type(byId("find")),
    j: () => step("[data-turn]", 1),
    k: () => step("[data-turn]", -1),
    "]": () => step("[data-boundary]", 1),
    "[": () => step("[data-boundary]", -1),
    n: () => go("[data-key=n]"),
    N: () => go("[data-key=N]"),
    e: unfold,
    gs: () => go("[data-key=gs]"),
    gc: () => go("[data-key=gc]"),
    gi: () => go("[data-key=gi]"),
    "?": () => byId("keys").showModal(),
  };
  // The command palette: its script comes with its first use. Where that does not come, the page of links does.
  const mac = /Mac|iP/.test(navigator.platform);
  const palette = (link) => import(link.dataset.palette).then((it) => it.open(), () => { location = link.href; });
  let pending = "";
  on("keydown", (event) => {
    const commands = document.querySelector("[data-palette]");
    if (commands && event[mac ? "metaKey" : "ctrlKey"] && event.key === "k") {
      event.preventDefault();
      palette(commands);
    }
    if (event.key === "Escape") {
      sheet(false);
      for (const menu of all("details.menu[open]")) closeMenu(menu);
      document.activeElement.closest(".renaming")?.querySelector("a").click();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !byId("keys-on")?.checked) return;
    if (event.target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, dialog[open]")) return;
    const key = KEYS[pending + event.key] ? pending + event.key : event.key;
    pending = event.key === "g" ? "g" : "";
    if (!KEYS[key]) return;
    event.preventDefault();
    KEYS[key]();
  });

  // Neighbouring windows load when they come near, but the earlier one not before the reader scrolls.
  let scrolled = false;
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) load(target);
  }, { rootMargin: "600px 0px" });
  const load = (link) => link.classList.contains("htmx-request") || link.dispatchEvent(new Event("near"));
  function watch() {
    for (const link of all(".neighbour[hx-get]")) if (scrolled || !link.classList.contains("earlier")) near.observe(link);
  }

  // Going back, or loading again, gives the page as it was left: its windows, and the place in them. The place is kept
  // with the history entry, so that nothing of a session is stored.
  const loaded = { earlier: 0, later: 0 };
  const sides = Object.keys(loaded);
  const standing = () => all(TURNS).find((element) => element.id && element.getBoundingClientRect().bottom > top());
  function keepPlace() {
    if (!loaded.earlier && !loaded.later && !history.state) return;
    const at = standing();
    history.replaceState({ ...loaded, id: at?.id, y: at ? at.getBoundingClientRect().top : scrollY }, "");
  }
  async function restore({ id, y, ...wanted }) {
    // Until a page is loaded, the browser itself moves it to where it thinks it was.
    if (document.readyState !== "complete") await new Promise((done) => on("load", () => setTimeout(done), window));
    for (const side of sides) for (let count = Math.min(wanted[side] || 0, 20); count; count--) {
      const link = document.querySelector(`.neighbour.${side}[hx-get]`);
      if (!link) break;
      load(link);
      while (link.isConnected) await new Promise((done) => document.addEventListener("htmx:afterSettle", done, { once: true }));
    }
    const at = byId(id);
    scrollBy({ top: at ? at.getBoundingClientRect().top - y : y - scrollY, behavior: "instant" });
  }
  on("trimmed", ({ detail }) => { // far windows that seek.js took out
    loaded[detail] = Math.max(0, loaded[detail] - 1);
    watch();
  });
  let shown = location.pathname + location.search;
  const sameDocument = () => {
    history.replaceState(null, "");
    shown = location.pathname + location.search;
  };
  on("htmx:pushedIntoHistory", sameDocument);
  on("htmx:replacedInHistory", sameDocument);
  on("popstate", () => location.pathname + location.search === shown || location.reload(), window);
  let resting;
  function reached() {
    scrolled = true;
    watch();
  }
  // At the very top a wheel or a finger scrolls nothing, and asks for what came before all the same.
  for (const how of ["wheel", "touchmove"]) on(how, reached, window);
  on("scroll", () => {
    reached();
    clearTimeout(resting);
    resting = setTimeout(keepPlace, 150);
    if (news && end() < innerHeight) forget();
  }, window);

  // Focus never falls out of the page: what had it is found again by its id, else what stood around it gets it.
  let held = null;
  function hold(beside) {
    const chain = [];
    for (let at = document.activeElement; at && at !== document.body; at = at.parentElement) chain.push(at);
    if (chain.length) held = { chain, beside };
  }
  function refocus() {
    if (!held || document.activeElement !== document.body) return;
    const next = held.beside?.();
    for (const old of next ? [next, ...held.chain] : held.chain) {
      const place = old.isConnected ? old : old.id && byId(old.id);
      if (!place || place.disabled || !place.checkVisibility()) continue;
      focusOn(place.querySelector(place.matches(".lines li") ? "a" : "[autofocus]") || place);
      if (document.activeElement === document.body) continue;
      held = null;
      return;
    }
  }
  on("focusin", () => { held = null; });
  // Whoever leaves a field for nothing else has left it. Browsers say the same of what a swap takes out of the page,
  // before it is out: so it is looked at again when the swap is done.
  on("focusout", ({ target }) => queueMicrotask(() => {
    if (document.activeElement === document.body && target.isConnected && !target.disabled && target.checkVisibility()) held = null;
  }));
  on("htmx:beforeRequest", () => hold());

  // A second click of two answers no question that came with the first.
  on("click", (event) => {
    if (event.detail > 1 && event.target.closest(".confirm")) event.preventDefault();
  });

  // A look for news that fails says so, and the next one comes all the same: its answer never takes its place.
  on("htmx:beforeSwap", ({ detail }) => {
    if (detail.xhr.status < 400 || !detail.requestConfig.elt.matches("[data-live]")) return;
    Object.assign(detail, { target: byId("said"), swapOverride: "innerHTML" });
  });

  // What is put in above, or anew, must not move what is being read, nor close it: an open fold with an id stays open.
  let reading = null, unfolded = [];
  on("htmx:beforeSwap", ({ detail: { target, shouldSwap } }) => {
    if (!shouldSwap) return;
    unfolded = all("details[id][open]", target).map((fold) => fold.id);
    const side = sides.find((side) => target.matches(`.neighbour.${side}, :has(> .neighbour.${side}):is(li)`));
    const [before, after] = [target.previousElementSibling, target.nextElementSibling];
    hold(side && (() => (side === "later" ? before?.nextElementSibling : after?.previousElementSibling)));
    if (side) loaded[side] += 1;
    if (target.id === "reading") loaded.earlier = loaded.later = 0;
    const at = (side === "earlier" || target.id === "reading") && standing();
    reading = at && { at, y: at.getBoundingClientRect().top };
    if (target.matches("[data-live]")) arriving = { known: new Map(all(TURNS).map((turn) => [name(turn), turn])), follow: end() < innerHeight + 80 && getSelection().isCollapsed };
  });
  on("htmx:afterSwap", () => {
    const at = reading && (reading.at.isConnected ? reading.at : byId(reading.at.id));
    if (at) scrollBy({ top: at.getBoundingClientRect().top - reading.y, behavior: "instant" });
    reading = null;
    for (const fold of unfolded.map(byId)) if (fold) fold.open = true;
    refocus();
    if (arriving) arrived();
  });

  // A session that goes on: asked again after 1.5 s, ever later while that fails, never while nobody looks.
  const SOON = 1.5, LATE = 60; // seconds
  let wait = SOON, timer = 0, arriving = null, news = 0, first = null;
  const live = () => document.querySelector("[data-live]");
  const end = () => live()?.getBoundingClientRect().bottom ?? Infinity;
  const name = (turn) => turn.id || turn.querySelector("[id]")?.id;
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
  on("htmx:afterRequest", ({ detail }) => {
    if (detail.successful) document.querySelector(".complaint")?.parentElement.remove();
    if (!detail.elt.matches("[data-live]")) return;
    wait = [200, 204].includes(detail.xhr.status) ? SOON : Math.min(wait * 2, LATE);
    look(wait);
  });
  function arrived() {
    const { known, follow } = arriving;
    const fresh = [];
    for (const turn of all(TURNS)) {
      const old = known.get(name(turn));
      if (!old) fresh.push(turn);
      else if (old !== turn) all("details", turn).forEach((fold, at) => { fold.open ||= all("details", old)[at]?.open; });
    }
    arriving = null;
    if (!fresh.length) return;
    news += fresh.length;
    first ??= fresh[0];
    const words = `${news} new message${news > 1 ? "s" : ""}`;
    byId("news").replaceChildren(make(follow ? "span" : "button", { textContent: words, className: follow ? "hidden" : "btn" }));
    if (!follow) return;
    // Calmly: as far as the end, but not past the beginning of what is new.
    const far = Math.min(end() - innerHeight + 120, first.getBoundingClientRect().top - top());
    if (far > 0) scrollBy({ top: far, behavior: still.matches ? "instant" : "smooth" });
    [news, first] = [0, null];
  }
  function forget() {
    byId("news").replaceChildren();
    [news, first] = [0, null];
  }
  function jump() {
    focusOn(first);
    first.scrollIntoView({ block: "start", behavior: still.matches ? "instant" : "smooth" });
    forget();
  }

  // Sentences for everybody: seen, and read out. One that asks for nothing goes by itself.
  function say(...parts) {
    const note = make("p", {});
    note.append(...parts);
    byId("said").replaceChildren(note);
  }
  let going;
  function passing() {
    clearTimeout(going);
    if (!document.querySelector("#said :is(a, button)")) going = setTimeout(() => byId("said").replaceChildren(), 6000);
  }
  // An answer that cannot be swapped in must not pass in silence.
  function complain(sentence) {
    say(`${sentence} `, make("a", { href: location.href, textContent: "Load the page again", className: "complaint" }));
  }
  // A request that a newer one replaces (hx-sync) is no error, but htmx 2 logs it as two; what fails has more events.
  htmx.logger = (_, name, detail) => {
    if (name === "htmx:afterRequest" || name === "htmx:sendAbort") delete detail.error;
  };
  on("htmx:responseError", ({ detail }) => complain(`The site refused that (${detail.xhr.status}).`));
  on("htmx:sendError", () => complain("The site does not answer."));

  // Another theme is shown at once, without loading the page again.
  on("theme", ({ detail }) => {
    document.documentElement.dataset.theme = detail.value;
    for (const meta of all("[name=theme-color]")) meta.content = getComputedStyle(document.querySelector("header.top")).backgroundColor;
  });

  async function textOf(address) {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(`${answer.status}`);
    return answer.text();
  }
  async function copy(text) {
    try {
      // A promise, because some browsers forget the press of the button while the text is fetched.
      if (navigator.clipboard) await navigator.clipboard.write([new ClipboardItem({ "text/plain": text.then((said) => new Blob([said], { type: "text/plain" })) })]);
      else {
        // Without https, a page may only copy what is selected.
        const field = make("textarea", { value: await text, className: "hidden" });
        (document.querySelector("dialog[open]") || document.body).append(field);
        const before = document.activeElement;
        field.select();
        const done = document.execCommand("copy");
        field.remove();
        before.focus();
        if (!done) throw new Error("refused");
      }
      say("Copied.");
    } catch {
      say("This could not be copied. Select it and copy it by hand.");
    }
  }

  // The panel plans again when a field changes. A press on one of its buttons outranks that: what is under the pointer
  // stays there until it is let go, and the button's own request says what the fields say.
  let pressed = false, withheld = false;
  const asking = (element) => element.id === "replan";
  const answering = () => document.querySelector("#plan :is(button, a).htmx-request");
  on("pointerdown", ({ target }) => { pressed = Boolean(target.closest?.("#plan .actions :is(button, a)")); });
  const letGo = () => setTimeout(() => {
    pressed = false;
    if (withheld && !document.querySelector("#plan .htmx-request")) byId("replan")?.dispatchEvent(new Event("change"));
    withheld = false;
  });
  on("pointerup", letGo);
  on("pointercancel", letGo);
  on("htmx:confirm", (event) => {
    if (!asking(event.detail.elt)) return;
    const sent = answering();
    if (!pressed && !sent) return;
    withheld = !sent;
    event.preventDefault();
  });
  on("htmx:beforeSwap", ({ detail }) => {
    if (!asking(detail.requestConfig.elt) || (!pressed && !answering())) return;
    withheld = !answering();
    detail.shouldSwap = false;
  });

  // A summary that is being edited: what it comes to, and no leaving without a question while it is not applied.
  const drafts = () => all("textarea[data-draft]");
  function weigh(field) {
    const { tokens, length, after, before } = field.dataset;
    const now = Math.round(field.value.length * (tokens / (length || 1)));
    const words = (number) => number.toLocaleString("en");
    field.parentElement.querySelector("[data-weight]").textContent =
      `About ${words(now)} tokens: ${words(+before)} → about ${words(Math.max(0, after - tokens + now))} in context.`;
  }
  function kept(field, text) {
    field.dataset.draft = "";
    field.defaultValue = text;
  }
  on("htmx:afterRequest", ({ detail: { elt, successful, requestConfig } }) => successful && elt.matches("textarea[data-draft]") && kept(elt, requestConfig.formData.get("summary")));
  on("submit", ({ target }) => target.matches(".candidate form") && all("textarea", target).forEach((field) => kept(field, field.value)));
  on("input", ({ target }) => target.matches?.("textarea[data-draft]") && weigh(target));
  const unsaved = () => drafts().some((field) => field.dataset.draft || field.value !== field.defaultValue);
  on("beforeunload", (event) => unsaved() && event.preventDefault(), window);
  on("htmx:confirm", (event) => {
    if (event.detail.target?.id !== "run" || !unsaved()) return;
    event.preventDefault();
    if (confirm("Your changes to the summary have not been applied. Go on without them?")) event.detail.issueRequest(true);
  });

  // The compact panel as a sheet over the page on small screens: the rest is inert while it is up.
  const narrow = matchMedia("(max-width: 68.75em)");
  let opener = null;
  function sheet(up) {
    const side = byId("side");
    if (!side || side.classList.contains("up") === up) return;
    side.classList.toggle("up", up);
    for (const [name, value] of [["role", "dialog"], ["aria-modal", "true"]]) up ? side.setAttribute(name, value) : side.removeAttribute(name);
    for (const other of all("body > :is(.skips, header, footer), .page > :not(#side)")) other.inert = up;
    if (up) opener = document.activeElement;
    (up ? focusOn : (place) => place?.focus())(up ? side : opener);
  }
  on("change", () => sheet(false), narrow);
  function closeMenu(menu) {
    const inside = menu.contains(document.activeElement);
    menu.open = false;
    if (inside) menu.querySelector("summary").focus();
  }

  on("click", (event) => {
    const at = (selector) => event.target.closest?.(selector);
    for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
    if (at("[data-dismiss]")) at("[data-dismiss]").parentElement.remove();
    if (at("[data-keys]")) byId("keys").showModal();
    if (at("#news button")) jump();
    if (at("[data-palette]") && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
      event.preventDefault();
      palette(at("[data-palette]"));
    }
    if (at("[data-copy]")) copy(textOf(at("[data-copy]").dataset.copy));
    if (at("[data-copy-text]")) copy(Promise.resolve(at("[data-copy-text]").dataset.copyText));
    if (at("[data-copy-link]")) copy(Promise.resolve(new URL(at("[data-copy-link]").dataset.copyLink, location).href));
    if (at("[data-sheet]") && byId("side")) {
      event.preventDefault();
      sheet(true);
    } else if (!at("#side") || at("[data-sheet-close]")) sheet(false);
  });
  // Tabs of a boundary.
  on("htmx:beforeRequest", ({ target }) => {
    if (!target.closest?.(".tabs")) return;
    for (const tab of all("a", target.parentElement)) tab.removeAttribute("aria-current");
    target.setAttribute("aria-current", "true");
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

  // Times in the reader's zone, in the words that the server uses for its own (viewer/rendering/formats.py).
  function inMyZone() {
    for (const time of all("time[data-at]")) {
      const at = new Date(time.dateTime);
      const two = (number) => String(number).padStart(2, "0");
      const hour = `${two(at.getHours())}:${two(at.getMinutes())}`;
      const day = `${at.getDate()} ${at.toLocaleString("en", { month: "short" })}`;
      const year = at.getFullYear() === new Date().getFullYear() ? "" : ` ${at.getFullYear()}`;
      const text = time.dataset.at === "hour" ? hour : `${day}${year} ${hour}`;
      time.removeAttribute("data-at");
      if (time.textContent === text) continue;
      time.title = `${at.toLocaleString("en-GB", { timeZoneName: "short" })}; ${time.title}`;
      time.textContent = text;
    }
  }

  // Filters and contents start closed where there is little room; so do those that came with a swap.
  const small = matchMedia("(max-width: 37.5em)");
  function foldUp() {
    for (const fold of all(".closes:not(.set)")) {
      if ((fold.closest(".toc") ? narrow : small).matches) fold.open = false;
      fold.classList.add("set");
    }
  }
  function settle() {
    foldUp();
    inMyZone();
    drafts().forEach(weigh);
    refocus();
    near.disconnect(); // a link that came near before htmx knew it is told again
    watch();
    if (!timer) look(wait);
    seen.disconnect();
    for (const element of all("[data-turn], [data-boundary]")) seen.observe(element);
  }
  on("htmx:afterSettle", settle);
  on("DOMContentLoaded", () => {
    const keys = byId("keys-on");
    keys.checked = localStorage.getItem("keys") !== "off";
    on("change", () => localStorage.setItem("keys", keys.checked ? "on" : "off"), keys);
    new MutationObserver(passing).observe(byId("said"), { childList: true, subtree: true });
    settle();
    if (sides.some((side) => history.state?.[side])) restore(history.state);
    else reveal(targetOf(location.hash) || document.querySelector(".turn.marked, .out.marked, .boundary.marked"));
  });
})();
