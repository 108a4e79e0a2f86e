// The dialog in which a session's title, tags and note are edited: open while there is a form in it.
import { byId, onClick } from "./dom.js";

const dialog = byId("editing");
dialog.addEventListener("htmx:afterSwap", ({ target }) => {
  if (target !== dialog) return;
  if (!dialog.querySelector("form")) dialog.close();
  else if (!dialog.open) {
    dialog.showModal();
    byId("edit-title").select();
  }
});
onClick("#editing [data-cancel]", (link, event) => {
  event.preventDefault();
  dialog.close();
});
