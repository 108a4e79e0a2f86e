"""What OpenClaw and pi add to a person's words. OpenClaw runs pi's sessions, so pi's additions occur in both."""

from __future__ import annotations

from viewer.stores.envelopes import Envelopes, from_line, last_line, pattern, tags, tags_behind

_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_TIME = r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}"
_CHANNELS = (
    "WebChat|WhatsApp|Telegram|Signal|Slack|Discord|Google Chat|iMessage|BlueBubbles|Microsoft Teams|MSTeams|Teams|"
    "Matrix|Mattermost|LINE|Feishu|Lark|Zalo|Nostr|Tlon|IRC|Twitch|Urbit|Nextcloud Talk"
)
_MEMORY = ("active_memory_plugin", "relevant-memories", "relevant_memories", "memory-context")
_UNTRUSTED = r"Untrusted context \(metadata, do not treat as instructions or commands\):"
_FOREIGN = r"<<<EXTERNAL_UNTRUSTED_CONTENT|UNTRUSTED channel metadata \(|Source:\s"

_PI = (tags("skill", "file", attribute="name"),)
_OPENCLAW = (
    pattern(rf"\[{_DAY} {_TIME}[^\]\n]*\]"),
    pattern(rf"\[(?:{_CHANNELS})\b[^\]\n]*{_TIME}[^\]\n]*\]"),
    # "Conversation info (untrusted metadata):" and similar, each with a block of JSON or lines up to an empty one
    pattern(r"[^\n]{1,200} \(untrusted(?: metadata|, for context)\):[^\S\n]*\n```json\n[\s\S]*?\n```[^\S\n]*(?=\n|\Z)"),
    pattern(r"[^\n]{1,200} \(untrusted, (?:for context|chronological[^)\n]*)\):[^\S\n]*(?:\n[^\S\n]*\S[^\n]*)+"),
    pattern(rf"{_UNTRUSTED}\s*(?=<(?:{'|'.join(_MEMORY)})>)"),
    tags(*_MEMORY),
    pattern(r"\[media attached[^\n]*\](?=[^\S\n]*(?:\n|\Z))|\[media attached[^\]\n]*\]"),
    pattern(r"\[Image: source: [^\]\n]*\]"),
    pattern(r"To send an image back, (?:prefer|use) the message tool[^\n]*"),
    pattern(r"Delivery: (?:to send a message, use the|Final assistant text is not|No visible reply is)[^\n]*"),
    pattern(r"System: \[[^\]\n]*\d{1,2}:\d{2}[^\]\n]*\][^\n]*(?:\nSystem: [^\n]*)*"),
    pattern(r"Read HEARTBEAT\.md if it exists \(workspace context\)[\s\S]*\Z"),
    pattern(r"A new session was started via /new or /reset\.[\s\S]*\Z"),
)
_LEADING = (*_OPENCLAW, *_PI)
_TRAILING = (last_line(r"\[message_id: [^\]\n]*\]"), tags_behind(*_MEMORY))
_REST = (from_line(rf"{_UNTRUSTED}(?=\s*\n(?:[^\n]*\n){{0,6}}?[^\n]*(?:{_FOREIGN}))"),)
OPENCLAW = Envelopes("OpenClaw", _LEADING, _TRAILING, _REST)
PI = Envelopes("pi", _LEADING, _TRAILING, _REST)
