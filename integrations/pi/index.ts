/**
 * Palimpsest inside pi. `door.json`, next to this file, says how the site is reached and what is wanted of it.
 *
 * Whatever goes wrong, pi goes on as if there were no Palimpsest.
 */
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { askNote, askSummary, readDoor } from "./door.js";

interface Door {
  door: string[]; // the command to which the name of an event is added
  mcp: string[];
  options: { notes: boolean; recall: boolean; engine: boolean };
  note_ms?: number;
}

const NAME = "palimpsest";

export default function (pi: ExtensionAPI) {
  const door: Door = readDoor();
  const { notes, recall, engine } = door.options;

  if (engine) {
    pi.on("session_before_compact", async (event, ctx) => {
      const { messagesToSummarize, turnPrefixMessages, previousSummary, firstKeptEntryId, tokensBefore } = event.preparation;
      try {
        const given = {
          session_id: ctx.sessionManager.getSessionId(),
          messages: await forModel([...messagesToSummarize, ...turnPrefixMessages]),
          previous: previousSummary,
          focus: event.customInstructions,
          window: ctx.model?.contextWindow,
          model: ctx.model?.id,
        };
        const summary = await askSummary(door, given, event.signal);
        return { compaction: { summary, firstKeptEntryId, tokensBefore, details: { by: NAME } } };
      } catch {
        return; // pi makes the summary by itself
      }
    });
  }

  if (notes) {
    pi.on("before_agent_start", async (_event, ctx) => {
      const content = await askNote(door, ctx.sessionManager.getSessionId(), hasCompacted(ctx));
      return content ? { message: { customType: NAME, content, display: true } } : undefined;
    });
  }

  if (recall) {
    pi.on("session_start", async (_event, ctx) => {
      const [command, ...args] = door.mcp;
      const env = { PI_SESSION_ID: ctx.sessionManager.getSessionId() }; // as pi calls it for commands
      pi.registerMcpServer?.(NAME, { command, args, env, exposure: "direct" }); // since pi 0.99
    });
  }
}

/** Whether pi has compacted since the last prompt. */
function hasCompacted(ctx: ExtensionContext): boolean {
  const entries = ctx.sessionManager.getBranch();
  const asked = entries.findLastIndex((entry) => entry.type === "message" && entry.message.role === "user");
  return entries.slice(asked + 1).some((entry) => entry.type === "compaction");
}

/** pi's messages as it sends them to a model. Before 0.74 its package had another name. */
async function forModel(messages: any[]): Promise<any[]> {
  const pi = await import("@earendil-works/pi-coding-agent").catch(() => import("@mariozechner/pi-coding-agent" as string));
  return pi.convertToLlm(messages);
}
