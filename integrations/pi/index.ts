/**
 * Palimpsest inside pi. `door.json`, next to this file, says how the site is reached and what is wanted of it.
 *
 * A note waits for at most NOTE_MS, and whatever goes wrong, pi goes on as if there were no Palimpsest.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";

interface Door {
  door: string[]; // the command to which the name of an event is added
  mcp: string[];
  options: { notes: boolean; recall: boolean; engine: boolean };
  note_ms?: number;
}

const NOTE_MS = 200;
const ENGINE_MS = 60_000;
const NAME = "palimpsest";

export default function (pi: ExtensionAPI) {
  const door: Door = JSON.parse(readFileSync(new URL("door.json", import.meta.url), "utf8"));
  const { notes, recall, engine } = door.options;

  if (engine) {
    pi.on("session_before_compact", async (event, ctx) => {
      const { messagesToSummarize, turnPrefixMessages, previousSummary, firstKeptEntryId, tokensBefore } = event.preparation;
      try {
        const given = {
          session_id: ctx.sessionManager.getSessionId(),
          messages: chat(await forModel([...messagesToSummarize, ...turnPrefixMessages])),
          alone: true,
          previous: previousSummary,
          focus: event.customInstructions,
          window: ctx.model?.contextWindow,
          model: ctx.model?.id,
        };
        const { summary } = JSON.parse(await ask(door, "compact", given, ENGINE_MS, event.signal));
        if (!summary) return;
        return { compaction: { summary, firstKeptEntryId, tokensBefore, details: { by: NAME } } };
      } catch {
        return; // pi makes the summary by itself
      }
    });
  }

  if (notes) {
    pi.on("before_agent_start", async (_event, ctx) => {
      const given = { session_id: ctx.sessionManager.getSessionId(), compacted: hasCompacted(ctx) };
      const content = (await ask(door, "note", given, door.note_ms ?? NOTE_MS)).trim();
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

/** What the door answers to an event, "" for nothing or too late. */
function ask(door: Door, event: string, given: object, timeout: number, signal?: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    const [program, ...words] = [...door.door, event];
    const child = spawn(program, words, { timeout, signal, killSignal: "SIGKILL", stdio: ["pipe", "pipe", "ignore"] });
    let text = "";
    child.on("error", () => resolve(""));
    child.on("close", (code) => resolve(code === 0 ? text : ""));
    child.stdout.setEncoding("utf8").on("data", (part: string) => (text += part));
    child.stdin.on("error", () => {}); // it ended without reading all
    child.stdin.end(JSON.stringify(given));
  });
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

/** The same in the shape of OpenAI's chat completions, which the engine reads. */
function chat(messages: any[]): object[] {
  return messages.flatMap((message): object[] => {
    const content = textOf(message.content);
    if (message.role === "user") return [{ role: "user", content, timestamp: message.timestamp }];
    if (message.role === "toolResult") return [{ role: "tool", tool_call_id: message.toolCallId, name: message.toolName, content }];
    if (message.role !== "assistant") return []; // pi's own prompt
    const calls = message.content.filter((block: any) => block.type === "toolCall").map(called);
    return [{ role: "assistant", content, ...(calls.length ? { tool_calls: calls } : {}) }];
  });
}

function called(block: any): object {
  return { id: block.id, type: "function", function: { name: block.name, arguments: JSON.stringify(block.arguments) } };
}

function textOf(content: any): string {
  if (typeof content === "string") return content;
  const texts = content.map((block: any) => (block.type === "image" ? "[image]" : block.type === "text" ? block.text : ""));
  return texts.filter(Boolean).join("\n");
}
