// A summary that is being edited: what it comes to, and no leaving without a question while it is not applied.
import { all, calmly, on, onSettled } from "./dom.js";

const DRAFT = "textarea[data-draft]";

function weigh(field) {
  const { tokens, length, after, before } = field.dataset;
  const now = Math.round(field.value.length * (tokens / (length || 1)));
  const words = (number) => number.toLocaleString("en");
  field.parentElement.querySelector("[data-weight]").textContent =
    `About ${words(now)} tokens: ${words(+before)} → about ${words(Math.max(0, after - tokens + now))} in context.`;
}
onSettled(() => all(DRAFT).forEach(weigh));
on("input", ({ target }) => target.matches?.(DRAFT) && weigh(target));

function kept(field, text) {
  field.dataset.draft = "";
  field.defaultValue = text;
}
on("htmx:afterRequest", ({ detail: { elt, successful, requestConfig } }) => {
  if (successful && elt.matches(DRAFT)) kept(elt, requestConfig.formData.get("summary"));
});
on("submit", ({ target }) => {
  if (target.matches(".candidate form")) all("textarea", target).forEach((field) => kept(field, field.value));
});

// What was just put in comes into view in the summary, where that scrolls by itself.
let height = 0;
on("htmx:oobBeforeSwap", ({ target }) => { height = target.querySelector?.(".reads")?.scrollTop ?? height; });
on("htmx:oobAfterSwap", () => {
  const fresh = all(".put-in .fresh").at(-1);
  const reads = fresh?.closest(".reads");
  if (!reads) return;
  reads.scrollTop = height;
  const { bottom } = fresh.getBoundingClientRect();
  reads.scrollTo({ top: height + bottom - reads.getBoundingClientRect().bottom + 32, behavior: calmly() });
});

const unsaved = () => all(DRAFT).some((field) => field.dataset.draft || field.value !== field.defaultValue);
on("beforeunload", (event) => unsaved() && event.preventDefault(), window);
on("htmx:confirm", (event) => {
  if (event.detail.target?.id !== "run" || !unsaved()) return;
  event.preventDefault();
  const question = "Your changes to the summary have not been applied. Go on without them?";
  if (confirm(question)) event.detail.issueRequest(true);
});
