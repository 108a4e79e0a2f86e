"""Messages decoded from entries, entries as rows, and what the client adds to a request. Decoding never fails: unknown
content stays unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Protocol

from compaction import messages as chat
from compaction.handoff import SUMMED_UP_END, SUMMED_UP_START
from viewer.stores.envelopes import RAN, Envelopes
from viewer.stores.jsonl.lines import LONGEST
from viewer.stores.message import Addition, State, StoredMessage

from .messages import EntryMessages
from .paths import SessionLocation
from .plain_schema import HOOK
from .records import BRANCH_SUMMARY, COMPACTION, CUSTOM_MESSAGE, EDIT, NO_ID, OWN_RECORD, RESET, UNKNOWN, TreeEntry

SHOWN_BROKEN = 20_000  # bytes that are shown of an entry that is no object
# What both clients put around the summary of an abandoned branch.
BRANCH_START = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
BRANCH_END = "</summary>"
RESET_SAYS = "The session was reset here{why}: what comes before it is not sent any more."
BRANCH = "summary of a branch"


class EntrySource(Protocol):
    """Reads the entries of one session."""

    def value(self, entry: TreeEntry) -> dict[str, Any] | None:
        """The object of an entry; None for one that is no object, too long, or no longer there."""

    def start(self, entry: TreeEntry, length: int) -> str:
        """The first bytes of an entry as text, at most so many."""


# -- messages ----------------------------------------------------------------------------------------------------------


def message_of(
    value: dict[str, Any] | None, unit: TreeEntry, session_id: str, state: State, envelopes: Envelopes
) -> StoredMessage:
    """The message of an entry as a model is sent it; `envelopes` is what its client adds to a person's words."""
    if value is None:
        return StoredMessage(unit.offset, session_id, unit.role, None, state, unit.time)
    value_message = value.get("message")
    message: dict[str, Any] = value_message if isinstance(value_message, dict) else {}
    if unit.type == EDIT:
        message = _edited(value.get("replacement"), unit)
    if unit.role == "assistant":
        return _reply(message, unit, session_id, state)
    if unit.role == "tool":
        return _result(message, unit, session_id, state)
    content, kind = _user_content(value, message, unit)
    return StoredMessage(
        id=unit.offset,
        session_id=session_id,
        role=unit.role,
        content=content,
        state=state,
        timestamp=unit.time,
        flagged=unit.is_compaction,
        extra={"display_kind": kind} if kind else {},
        envelopes=envelopes if unit.role == "user" else None,
    )


def _edited(replacement: Any, unit: TreeEntry) -> dict[str, Any]:
    """The message that an edit replaces another one with: a whole message, or its new content."""
    if isinstance(replacement, dict) and isinstance(replacement.get("message"), dict):
        replacement = replacement["message"]
    if isinstance(replacement, dict) and "content" in replacement:
        return {"toolCallId": unit.answers, **replacement}
    return {"content": replacement, "toolCallId": unit.answers}


def stored_content(value: dict[str, Any], unit: TreeEntry) -> Any:
    """The content of an entry as the client has it; for an edit, the content that replaces a message's."""
    if unit.type == EDIT:
        return _edited(value.get("replacement"), unit).get("content")
    message = value.get("message")
    return message.get("content") if isinstance(message, dict) else value.get("content")


def _user_content(value: dict[str, Any], message: dict[str, Any], unit: TreeEntry) -> tuple[Any, str]:
    """The content of an entry in a user's role, and its kind, "" for a person's message."""
    if unit.type == COMPACTION:
        return f"{SUMMED_UP_START}{_text(value.get('summary'))}{SUMMED_UP_END}", ""
    if unit.type == RESET:
        reason = _text(value.get("reason"))
        return RESET_SAYS.format(why=f" ({reason})" if reason else ""), "reset"
    if unit.is_note:
        return _content(value.get("content")), ""
    if unit.type == CUSTOM_MESSAGE:
        return _content(value.get("content")), _text(value.get("customType")) or "custom"
    if unit.type == BRANCH_SUMMARY:
        return f"{BRANCH_START}{_text(value.get('summary'))}{BRANCH_END}", BRANCH
    role = message.get("role")
    if role == "bashExecution":
        return command_text(message), RAN
    if role == "branchSummary":
        return f"{BRANCH_START}{_text(message.get('summary'))}{BRANCH_END}", BRANCH
    if role in ("custom", HOOK):
        return _content(message.get("content")), _text(message.get("customType")) or "custom"
    return _content(message.get("content")), "left out" if unit.role == OWN_RECORD else ""


def command_text(message: dict[str, Any]) -> str:
    """A command that a person ran in the client, in the words that a model is sent."""
    output = _text(message.get("output"))
    text = f"Ran `{_text(message.get('command'))}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    code = message.get("exitCode")
    if message.get("cancelled"):
        text += "\n\n(command cancelled)"
    elif isinstance(code, int) and code:
        text += f"\n\nCommand exited with code {code}"
    if message.get("truncated") and message.get("fullOutputPath"):
        text += f"\n\n[Output truncated. Full output: {message['fullOutputPath']}]"
    return text


def _reply(message: dict[str, Any], unit: TreeEntry, session_id: str, state: State) -> StoredMessage:
    """A model's response: reasoning, text and calls."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    own = [part for part in parts if _type(part) not in ("toolCall", "tool_use", "thinking")]
    reason = _text(message.get("stopReason"))
    notes = {"model": message.get("model"), "error": message.get("errorMessage")}
    return StoredMessage(
        id=unit.offset,
        session_id=session_id,
        role="assistant",
        content=_content(own) if isinstance(content, list) else content,
        state=state,
        timestamp=unit.time,
        tool_calls=[_call(part) for part in parts if _type(part) in ("toolCall", "tool_use")],
        reasoning="\n\n".join(filter(None, map(_thought, parts))),
        finish_reason={"toolUse": "tool_calls"}.get(reason, reason),
        extra={name: each for name, each in notes.items() if isinstance(each, str) and each},
    )


def _result(message: dict[str, Any], unit: TreeEntry, session_id: str, state: State) -> StoredMessage:
    return StoredMessage(
        id=unit.offset,
        session_id=session_id,
        role="tool",
        content=_content(message.get("content")),
        state=state,
        timestamp=unit.time,
        tool_call_id=_text(message.get("toolCallId")) or UNKNOWN,
        tool_name=_text(message.get("toolName")),
        extra={"is_error": True} if message.get("isError") is True else {},
        inner=tuple(_inner_calls(message.get("nestedCalls"))),
    )


def _inner_calls(nested: Any) -> Iterator[dict[str, Any]]:
    """The calls that a script of pi's `codemode` made, in chat shape; their results are not stored."""
    calls = nested.get("calls") if isinstance(nested, dict) else None
    for each in calls if isinstance(calls, list) else ():
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            failed = "" if each.get("status") == "ok" else f"Error: {_text(each.get('error')) or each.get('status')}"
            yield _call(each) | {"output": failed}


def _content(content: Any) -> Any:
    """Text where there is nothing but one text, else the parts, with pictures in a known shape."""
    if not isinstance(content, list):
        return content
    if not content:
        return ""
    if len(content) == 1 and _type(content[0]) == "text" and isinstance(content[0].get("text"), str):
        return content[0]["text"]
    return [part_of(part) for part in content if part is not None]


def part_of(part: Any) -> Any:
    """A part of a content in a known shape."""
    if _type(part) != "image" or not isinstance(part.get("data"), str):
        return part
    source = {"type": "base64", "media_type": part.get("mimeType"), "data": part["data"]}
    return {"type": "image", "source": source}


def _thought(part: Any) -> str:
    return _text(part.get("thinking")) if _type(part) == "thinking" else ""


def _call(part: dict[str, Any]) -> dict[str, Any]:
    """A call in OpenAI's chat shape."""
    arguments = part.get("arguments", part.get("input"))
    arguments_text = arguments if isinstance(arguments, str) else _json(arguments)
    return {
        "id": part.get("id"),
        "type": "function",
        "function": {"name": part.get("name"), "arguments": arguments_text},
    }


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return ""


def _type(part: Any) -> Any:
    return part.get("type") if isinstance(part, dict) else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def told_text(value: dict[str, Any] | None) -> str:
    """What a system message of the client says to a model: its text, or its sections with their names."""
    value_message = (value or {}).get("message", (value or {}).get("systemMessage"))
    message: dict[str, Any] = value_message if isinstance(value_message, dict) else {}
    sections = message.get("sections")
    if not isinstance(sections, (list, dict)):
        return chat.said(message.get("content"))
    if isinstance(sections, dict):
        sections = [{"id": name, "content": each} for name, each in sections.items()]
    named = map(_section, sections)
    return "\n\n".join(filter(None, ("\n".join(filter(None, (name, text))) for name, text in named)))


def _section(section: Any) -> tuple[str, str]:
    if not isinstance(section, dict):
        return "", chat.said(section)
    name = _text(section.get("id")) or _text(section.get("name"))
    return name and f"# {name}", _text(section.get("text")) or chat.said(section.get("content"))


# -- entries as rows ---------------------------------------------------------------------------------------------------


def row_of(source: EntrySource, entry: TreeEntry, session_id: str, state: State) -> StoredMessage:
    """An entry as stored: its content, and all other fields."""
    value = source.value(entry)
    if value is None:
        why = "too long to be read" if entry.length > LONGEST else "no JSON object"
        start = source.start(entry, SHOWN_BROKEN)
        return StoredMessage(entry.offset, session_id, "", start, state, 0.0, extra={"line": why})
    value_message = value.get("message")
    message: dict[str, Any] = value_message if isinstance(value_message, dict) else {}
    other_keys = ("type", "message", "content", "timestamp")
    extra = {name: each for name, each in value.items() if name not in other_keys and each is not None}
    if entry.is_damaged:
        extra["line"] = "damaged, so that the client does not read it"
    extra |= {f"message.{name}": each for name, each in message.items() if name != "content" and each is not None}
    return StoredMessage(
        id=entry.offset,
        session_id=session_id,
        role=entry.type,
        content=_content(message.get("content") if message else value.get("content")),
        state=state,
        timestamp=entry.time,
        flagged=entry.type == COMPACTION,
        extra=extra,
    )


# -- what the client adds to a request, as far as it is known; most of it is not stored --------------------------------

COLD = (
    "The entries of this session are in a cold archive of OpenClaw's, which is not read here. They can be shown again "
    "once OpenClaw has restored them."
)
MISSING = "The session goes on from an entry, {entry}, that is not there: what was said before is not sent."
CYCLIC = "The entries of this session name one another as their parents: what is sent begins where they would repeat."
ENDLESS = "The entries of this session name one another as their parents: pi itself does not come to an end with it."
NO_OBJECT = (
    "OpenClaw does not open this session: its entry number {number} is no JSON object. What else is stored of it can "
    "be read, and is not changed."
)
UNANSWERED = "The newest calls have no result. The client answers them by itself when it goes on."
OPENCLAW_PROMPT = "OpenClaw puts a system prompt before the messages, made anew for each request; it is not stored."
OPENCLAW_WORDS = (
    "OpenClaw appends a line on its agent and session (“Runtime: …”) to the first message that is sent, and puts the "
    "date and time before each text of a user. Neither is stored."
)
OPENCLAW_END = "OpenClaw ends a request with a message of its own (its internal context), which is not stored."
PI_PROMPT = "pi puts its system prompt before the messages; this session has none fields."


def of_context(
    source: EntrySource, location: SessionLocation, messages: EntryMessages, ids: frozenset[int], *, end: bool
) -> Iterator[Addition]:
    """The additions directly before these messages, with `end` also those after the last message, in order."""
    first = next((each for each in messages.live if messages.is_sent(each)), None)
    if first in ids or (first is None and end):
        yield from _at_the_start(location, messages, first)
    waiting = []
    for entry in messages.context.now:
        if entry.tells:
            waiting.append(entry)
        if entry.offset in messages.units:
            if entry.offset in ids:
                yield from (_told_addition(source, each, entry.offset) for each in waiting)
            waiting = []
    if end:
        yield from (_told_addition(source, each, None) for each in waiting)
        yield from _at_the_end(messages)


def _told_addition(source: EntrySource, entry: TreeEntry, before: int | None) -> Addition:
    return Addition(before, "system prompt", told_text(source.value(entry)), is_sent=True)


def _at_the_start(location: SessionLocation, messages: EntryMessages, first: int | None) -> Iterator[Addition]:
    if location.is_cold:
        yield Addition(first, "cold archive", COLD, is_sent=False)
    broken = next((each for each in messages.entries if not each.id), None) if location.row_id else None
    if broken is not None:
        yield Addition(first, "damaged entry", NO_OBJECT.format(number=broken.offset), is_sent=False)
    if messages.is_cut:
        yield Addition(
            first, "missing entry", MISSING.format(entry=messages.tree.missing[:80].lstrip(NO_ID)), is_sent=False
        )
    if messages.tree.is_cyclic:
        reason = CYCLIC if messages.tree.is_strict else ENDLESS
        yield Addition(first, "entries in a circle", reason, is_sent=False)
    if messages.tree.is_strict:
        yield Addition(first, "system prompt", OPENCLAW_PROMPT, is_sent=False)
        yield Addition(first, "run time context", OPENCLAW_WORDS, is_sent=False)
    elif not any(entry.tells for entry in messages.context.now):
        yield Addition(first, "system prompt", PI_PROMPT, is_sent=False)


def _at_the_end(messages: EntryMessages) -> Iterator[Addition]:
    answered = 0
    for each in reversed(messages.live):
        unit = messages.units[each]
        if unit.is_broken_off:
            continue
        if unit.role == "assistant":
            if answered < len(unit.calls):
                yield Addition(None, "results of calls that were not finished", UNANSWERED, is_sent=False)
            break
        answered += unit.role == "tool"
        if unit.role == "user":
            break
    if messages.tree.is_strict:
        yield Addition(None, "internal context", OPENCLAW_END, is_sent=False)
