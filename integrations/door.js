/** What the extensions of pi and OpenClaw share: they ask the door, as the `door.json` next to this file says. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

const NOTE_MS = 200;
export const ENGINE_MS = 60_000;

/** Its `door` is the command to which the name of an event is added. */
export function readDoor() {
  return JSON.parse(readFileSync(new URL("door.json", import.meta.url), "utf8"));
}

/** What a prompt of this session is to be sent with, "" for nothing. A turn waits for it for at most NOTE_MS. */
export async function askNote(door, sessionId, compacted) {
  return (await ask(door, "note", { session_id: sessionId, compacted }, door.note_ms ?? NOTE_MS)).trim();
}

/** The summary that our engine makes of messages. Throws where it makes none. */
export async function askSummary(door, { messages, ...given }, signal) {
  const asked = { ...given, messages: chat(messages), alone: true };
  const { summary } = JSON.parse(await ask(door, "compact", asked, ENGINE_MS, signal));
  if (!summary) throw new Error("Palimpsest made no summary");
  return summary;
}

/** What the door answers to an event, "" for nothing or too late. */
function ask(door, event, given, timeout, signal) {
  return new Promise((resolve) => {
    const [program, ...words] = [...door.door, event];
    const child = spawn(program, words, { timeout, signal, killSignal: "SIGKILL", stdio: ["pipe", "pipe", "ignore"] });
    let text = "";
    child.on("error", () => resolve(""));
    child.on("close", (code) => resolve(code === 0 ? text : ""));
    child.stdout.setEncoding("utf8").on("data", (part) => (text += part));
    child.stdin.on("error", () => {}); // it ended without reading all
    child.stdin.end(JSON.stringify(given));
  });
}

/** Messages in the shape of OpenAI's chat completions, which the engine reads. */
function chat(messages) {
  return messages.flatMap(({ role, content, timestamp, ...message }) => {
    if (role === "system") return []; // pi's own prompt
    if (role === "assistant") {
      const calls = content.filter((block) => block.type === "toolCall").map(called);
      return [{ role, content: textOf(content), timestamp, ...(calls.length ? { tool_calls: calls } : {}) }];
    }
    if (role === "toolResult") {
      return [{ role: "tool", tool_call_id: message.toolCallId, name: message.toolName, content: textOf(content), timestamp }];
    }
    if (role === "bashExecution") {
      const text = message.excludeFromContext ? "" : `Ran \`${message.command}\`\n${message.output}`;
      return text ? [{ role: "user", content: text, timestamp }] : [];
    }
    const text = textOf(content ?? message.summary ?? "");
    return text ? [{ role: "user", content: text, timestamp }] : [];
  });
}

function called({ id, name, arguments: given }) {
  return { id, type: "function", function: { name, arguments: JSON.stringify(given) } };
}

function textOf(content) {
  if (typeof content === "string") return content;
  const texts = content.map((block) => (block.type === "image" ? "[image]" : block.type === "text" ? block.text : ""));
  return texts.filter(Boolean).join("\n");
}
