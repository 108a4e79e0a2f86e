// Another theme is shown at once, without loading the page again. On a first paint the server's answer has it.
import { all, on } from "./dom.js";

on("theme", ({ detail }) => {
  document.documentElement.dataset.theme = detail.value;
  const { backgroundColor } = getComputedStyle(document.querySelector("header.top"));
  for (const meta of all("[name=theme-color]")) meta.content = backgroundColor;
});
