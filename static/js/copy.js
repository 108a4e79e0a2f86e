// Buttons that copy: a text of the server, a text of the page, or a link.
import { make, onClick } from "./dom.js";
import { say } from "./notices.js";

async function textOf(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer.text();
}
async function copy(text) {
  try {
    if (navigator.clipboard) {
      // A promise, because some browsers forget the press of the button while the text is fetched.
      const blob = text.then((said) => new Blob([said], { type: "text/plain" }));
      await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
    } else {
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
onClick("[data-copy]", ({ dataset }) => copy(textOf(dataset.copy)));
onClick("[data-copy-text]", ({ dataset }) => copy(Promise.resolve(dataset.copyText)));
onClick("[data-copy-link]", ({ dataset }) => copy(Promise.resolve(new URL(dataset.copyLink, location).href)));
