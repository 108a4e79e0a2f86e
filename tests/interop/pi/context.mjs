// The context that pi builds of session files: `node context.mjs CORE_OF_THE_PACKAGE FILE...`. Prints a JSON list with
// the leaf's id and the messages of each, its own roles put into words as in a request, or with `error`, where it does
// not open a file, or comes to no end. It may write to the files.
import { pathToFileURL } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const LONGEST = 10_000; // milliseconds for one file
const HEAP = 60; // megabytes, which what has no end needs soon

// What becomes of these files up to one that pi comes to no end with, or to the last.
function contexts(core, files) {
  return new Promise((resolve) => {
    const worker = new Worker(new URL(import.meta.url), {
      workerData: { core, files },
      resourceLimits: { maxOldGenerationSizeMb: HEAP },
    });
    const found = [];
    let waiting;
    const end = (more) => (clearTimeout(waiting), worker.terminate(), resolve([...found, ...more]));
    const wait = () => (waiting = setTimeout(() => end([{ error: "no end" }]), LONGEST));
    worker.on("error", (problem) => end([{ error: String(problem) }]));
    worker.on("message", (told) => {
      clearTimeout(waiting);
      found.push(told);
      return found.length === files.length ? end([]) : wait();
    });
    wait();
  });
}

if (isMainThread) {
  const [core, ...files] = process.argv.slice(2);
  const found = [];
  while (found.length < files.length) found.push(...(await contexts(core, files.slice(found.length))));
  process.stdout.write(JSON.stringify(found));
} else {
  const core = pathToFileURL(workerData.core).href;
  const { SessionManager } = await import(`${core}/session-manager.js`);
  const { convertToLlm } = await import(`${core}/messages.js`);
  for (const file of workerData.files) {
    try {
      const manager = SessionManager.open(file);
      const messages = convertToLlm(manager.buildSessionContext().messages);
      parentPort.postMessage({ leaf: manager.getLeafId() ?? null, messages });
    } catch (problem) {
      parentPort.postMessage({ error: String(problem) });
    }
  }
}
