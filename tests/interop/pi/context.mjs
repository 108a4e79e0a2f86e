// The context that pi builds of session files: `node context.mjs INDEX_OF_THE_PACKAGE FILE...`. Prints a JSON list with
// the leaf's id and the messages of each, its own roles put into words as in a request. It may write to the files.
import { pathToFileURL } from "node:url";

const [index, ...files] = process.argv.slice(2);
const { SessionManager, convertToLlm } = await import(pathToFileURL(index).href);
const found = files.map((file) => {
  const manager = SessionManager.open(file);
  return { leaf: manager.getLeafId(), messages: convertToLlm(manager.buildSessionContext().messages) };
});
process.stdout.write(JSON.stringify(found));
