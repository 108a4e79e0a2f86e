// The contexts that OpenClaw builds of sessions, without a turn:
// `node context.mjs DIRECTORY_OF_THE_PROGRAM STATE AGENT [[SESSION_KEY, SESSION_ID], ...]`. Prints a JSON list with the
// leaf's id and the messages of each.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [home, state, agentId, sessions] = process.argv.slice(2);
process.env.OPENCLAW_STATE_DIR = state;
const { resolve } = createRequire(path.join(home, "here.js"));
const { SessionManager } = await import(pathToFileURL(resolve("openclaw/plugin-sdk/agent-sessions")).href);
const found = JSON.parse(sessions).map(([sessionKey, sessionId]) => {
  const manager = SessionManager.openModelContext({ agentId, sessionKey, sessionId });
  return { leaf: manager.getLeafId(), messages: manager.buildSessionContext().messages };
});
process.stdout.write(JSON.stringify(found), () => process.exit(0));
