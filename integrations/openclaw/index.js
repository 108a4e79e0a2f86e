/**
 * Palimpsest inside OpenClaw. `door.json`, next to this file, says how the site is reached and what is wanted of it.
 *
 * Whatever goes wrong, OpenClaw goes on as if there were no Palimpsest.
 */
import { askNote, askSummary, ENGINE_MS, readDoor } from "./door.js";

const BY_ITSELF = ["heartbeat", "memory"]; // turns that nobody asked for
const SUMMARY_TOKENS = 3_000; // OpenClaw cuts a summary with all that it adds at 16,000 characters

export default function register(api) {
  const door = readDoor();
  const sessions = new Map(); // session ids by their keys: within a run its compaction is announced by key alone
  const compacting = new Map(); // when the compactions of sessions began
  const compacted = new Set(); // sessions that have compacted since their last prompt
  const noted = new Map(); // the newest note of each session with its run, whose prompt may be built again
  const idOf = (ctx) => ctx.sessionId ?? sessions.get(ctx.sessionKey);

  api.on("before_compaction", (_event, ctx) => {
    if (idOf(ctx)) compacting.set(idOf(ctx), Date.now());
  });

  api.on("after_compaction", (_event, ctx) => {
    compacting.delete(idOf(ctx));
    compacted.add(idOf(ctx));
  });

  if (door.options.notes || door.options.engine) {
    api.on("before_prompt_build", async (_event, ctx) => {
      const id = ctx.sessionId;
      if (!id) return;
      if (ctx.sessionKey) sessions.set(ctx.sessionKey, id);
      if (!door.options.notes || BY_ITSELF.includes(ctx.trigger)) return;
      const before = noted.get(id);
      if (before && before.run === ctx.runId) return { prependContext: before.text };
      noted.delete(id);
      const text = await askNote(door, id, compacted.delete(id));
      if (!text) return;
      noted.set(id, { run: ctx.runId, text });
      return { prependContext: text };
    });
  }

  if (door.options.engine) {
    api.registerCompactionProvider({
      id: "palimpsest",
      label: "Palimpsest",
      async summarize({ messages, previousSummary, signal }) {
        const given = {
          session_id: theOnly(compacting),
          messages,
          previous: previousSummary,
          summary_tokens: SUMMARY_TOKENS,
        };
        const summary = await askSummary(door, given, signal); // throws: OpenClaw makes it
        const repeated = api.config?.agents?.defaults?.compaction?.postCompactionSections?.length;
        return carriedFirst(repeated ? withoutRules(summary, door.tags) : summary, door.tags); // it adds the rules itself
      },
    });
  }
}

function withoutRules(summary, { rules: [open, close] }) {
  return summary.replace(new RegExp(`${open}\\n[^]*?\\n${close}`, "g"), "");
}

/** The summary with what it carries word for word directly behind its first line: OpenClaw cuts a long one at the end. */
function carriedFirst(summary, { rules: [open], pins }) {
  const behind = new RegExp(`\\n\\n(?:${pins}|${open})\\n[^]*$`);
  const carried = summary.match(behind)?.[0].trim();
  return carried ? summary.replace(behind, "").replace(/\n\n/, () => `\n\n${carried}\n\n`) : summary;
}

/** The session that compacts now; "" if several do: a provider is not given the session. */
function theOnly(compacting) {
  for (const [id, since] of compacting) if (since < Date.now() - ENGINE_MS) compacting.delete(id);
  return compacting.size === 1 ? [...compacting.keys()][0] : "";
}
