// Times in the reader's zone, in the words that the server uses for its own (viewer/rendering/formats.py).
import { all, onSettled } from "./dom.js";

// Made once: a formatter takes as long as hundreds of times that it writes.
const months = new Intl.DateTimeFormat("en", { month: "short" });
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "short", timeStyle: "long" });
const two = (number) => String(number).padStart(2, "0");

onSettled(() => {
  for (const time of all("time[data-at]")) {
    const at = new Date(time.dateTime);
    const hour = `${two(at.getHours())}:${two(at.getMinutes())}`;
    const day = `${at.getDate()} ${months.format(at)}`;
    const year = at.getFullYear() === new Date().getFullYear() ? "" : ` ${at.getFullYear()}`;
    const text = time.dataset.at === "hour" ? hour : `${day}${year} ${hour}`;
    time.removeAttribute("data-at");
    if (time.textContent === text) continue;
    time.title = `${exact.format(at)}; ${time.title}`;
    time.textContent = text;
  }
});
