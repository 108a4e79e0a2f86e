"""The rule of Gemini CLI: what a resume sends of the lines that it wrote (docs/gemini.md says how that was tried).

A message is a line with an `id`; the same id again replaces it. `$set` may replace the list of all messages, and
`$rewindTo` takes a message back with all that follow it. A summary has no line of its own: such a list begins with it,
under a new id, before the client's own answer, and what is kept of the end comes back under new ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from viewer.stores import google_contents as contents
from viewer.stores.google_contents import ACKNOWLEDGED, CountedRequest, joined_text, number, text_of
from viewer.stores.jsonl.values import seconds
from viewer.stores.message import AbandonedBranch, ReportedCompaction, StoredMessage
from viewer.stores.parsed_session import ParsedCompaction, ParsedMessage

ROLES = {"user": "user", "gemini": "assistant"}
NOTES = ("info", "warning", "error")  # what the client shows, and no model is sent
CONTEXT = "d04923d38bb0f6017037e74183378ef4"  # the id of the message that the client puts first
UNSENT = ("/", "?", "<session_context>", "<hook_context>")  # a resume passes over prompts that begin so
ENVELOPES = contents.envelopes("Gemini CLI")
Record = dict[str, Any]


class GeminiReplay:
    """Takes the lines of a file one after the other."""

    def __init__(self, session_id: str) -> None:
        self._session_id, self._next = session_id, 1
        self._stored: dict[str, Record] = {}  # every message by its id, with the fields of all its lines
        self._ids: dict[str, int] = {}  # of our messages, by the client's ids, and of results by their calls
        self._keys: dict[str, list[str]] = {}  # the keys in `_ids` of what a resume sends of a message
        self._again: set[str] = set()  # ids under which a compression repeated messages
        self.context: dict[str, Record] = {}  # what the client has in mind
        self.metadata: Record = {}
        self.messages: dict[int, ParsedMessage] = {}
        self.compactions: list[ParsedCompaction] = []
        self.left: list[AbandonedBranch] = []

    def take(self, value: Record, first_id: int) -> None:
        """Takes the object of a line, whose messages have numbers from `first_id` on."""
        self._next = max(self._next, first_id)
        changes, rewound = value.get("$set"), value.get("$rewindTo")
        if isinstance(rewound, str):
            ids = list(self.context)
            self._replace({each: self.context[each] for each in ids[: ids.index(rewound) if rewound in ids else 0]})
        elif isinstance(value.get("id"), str):
            self._keep(value)
            self.context[value["id"]] = value
            if value.get("type") == "info" and self.compactions and self.compactions[-1].reported is None:
                reported = ReportedCompaction("auto" if value.get("content") else "manual", None, None, "")
                self.compactions[-1] = replace(self.compactions[-1], reported=reported)
        elif isinstance(changes, dict):
            self.metadata |= {name: each for name, each in changes.items() if name != "messages"}
            if isinstance(changes.get("messages"), list):
                self._set(_records(changes["messages"]))
        elif isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str):
            self.metadata = value | self.metadata  # one that a resume wrote within the same minute has a later start
            for each in _records(value.get("messages")):
                self._keep(each)
                self.context[each["id"]] = each

    @property
    def live(self) -> list[int]:
        """The messages that a resume sends, in order. It sends results again after each resume: they count once."""
        keys = (key for each in self.context for key in self._keys.get(each, ()))
        return list(dict.fromkeys(self._ids[key] for key in keys))

    @property
    def context_ids(self) -> list[int]:
        """The messages that the client has in mind, also those that a resume passes over."""
        return [self._ids[each] for each in self.context if each in self._ids]

    def requests(self) -> list[CountedRequest]:
        """What the client counted of each request."""
        counted = [(each, each["tokens"]) for each in self._stored.values() if isinstance(each.get("tokens"), dict)]
        return [
            CountedRequest(seconds(each.get("timestamp")), text_of(each.get("model")), number(tokens, "input"),
                    number(tokens, "cached"), number(tokens, "total"))
            for each, tokens in counted
        ]  # fmt: skip

    def _keep(self, record: Record) -> None:
        """Makes messages of a record and of the results in it; those that are known keep their ids."""
        if record["id"] in self._again or record["id"] == CONTEXT or record.get("type") in NOTES:
            return
        known = self._stored.get(record["id"], {})
        stored = self._stored[record["id"]] = known | record
        if stored == known:  # a resume writes everything again
            return
        rows = self._rows(stored)
        for key, row in zip(_keys(record, rows), rows, strict=True):
            before = self.messages.get(self._ids.setdefault(key, self._next))
            if before is None or not (before.row.flagged or row.role == "tool"):
                self.messages[self._ids[key]] = ParsedMessage(replace(row, id=self._ids[key]))
                self._next += before is None
        own = rows[0] if rows and rows[0].role != "tool" else None
        is_sent = own is None or bool(own.content or own.tool_calls)
        if own is None or own.role == "user":
            is_sent = is_sent and not joined_text(record.get("content")).strip().startswith(UNSENT)
        self._keys[record["id"]] = _keys(record, rows) if is_sent and text_of(stored.get("type")) in ROLES else []

    def _rows(self, record: Record) -> list[StoredMessage]:
        kind, at = text_of(record.get("type")), seconds(record.get("timestamp"))
        row = StoredMessage(0, self._session_id, ROLES.get(kind, kind or "unknown"), None, "live", at)
        if kind == "user":
            return contents.rows_of(record.get("content"), replace(row, envelopes=ENVELOPES))
        calls = _objects(record.get("toolCalls"))
        thoughts = [": ".join(filter(None, (text_of(each.get("subject")), text_of(each.get("description")))))
                    for each in _objects(record.get("thoughts"))]  # fmt: skip
        row = replace(row, tool_calls=list(map(contents.call_of, calls)), reasoning="\n\n".join(thoughts))
        return [
            *contents.rows_of(record.get("content"), row),
            *(each for call in calls for each in _results(call, row)),
        ]

    def _replace(self, context: dict[str, Record]) -> None:
        """Another context, which may leave messages without a summary."""
        before, self.context = self.live, context
        after = self.live
        stayed = {*after}
        if gone := tuple(each for each in before if each not in stayed):
            behind = next((each for each in reversed(after) if each < gone[0]), None)
            self.left.append(AbandonedBranch(behind, gone, max(self.messages[each].time for each in gone)))

    def _set(self, records: Sequence[Record]) -> None:
        """The list of all messages, anew: after a start, a resume, a failed request, a rewind, or a compression."""
        body, context = [each for each in records if each["id"] != CONTEXT], {each["id"]: each for each in records}
        is_new = len(body) > 1 and not {body[0]["id"], body[1]["id"]} & (self._stored.keys() | self._again)
        is_summary = is_new and body[1].get("type") == "gemini" and joined_text(body[1].get("content")) == ACKNOWLEDGED
        before = self.live
        for each in body[:2]:
            self._keep(each)
        handoff = self._ids.get(body[0]["id"]) if is_summary else None
        if handoff is None:  # or what is answered so is no message of its own: a note, or a result
            for each in body[2:]:
                self._keep(each)
            self._replace(context)
            return
        summary = replace(self.messages[handoff].row, flagged=True, envelopes=None)
        self.messages[handoff] = ParsedMessage(summary)
        self._keep_end(body[2:], before)
        self.context = context
        after = self.live
        if len(body) > 2 and after and after[-1] in before:  # a result behind it may be stored, and is sent only then
            before = before[: before.index(after[-1]) + 1]
        self.compactions.append(ParsedCompaction(handoff, summary.timestamp, tuple(before), tuple(after)))

    def _keep_end(self, records: Sequence[Record], before: Sequence[int]) -> None:
        """What a compression keeps of the end of the context: the messages from before, by what they say."""
        rows = [self._rows(each) for each in records]
        said_again = [each[0] if each else StoredMessage(0, "", "", None, "out", 0.0) for each in rows]
        known = contents.repeated(said_again, [self.messages[each].row for each in before])
        for record, own, same in zip(records, rows, known, strict=True):
            if same is not None and own[0].role != "tool":
                self._ids[record["id"]], self._keys[record["id"]] = same, [record["id"]]
                self._again.add(record["id"])
            else:
                self._keep(record)


def _keys(record: Record, rows: Sequence[StoredMessage]) -> list[str]:
    """What identifies each message of a record: the id of the record, and of a result that of its call."""
    own = record["id"]
    return [
        own if row.role != "tool" else f"result {row.tool_call_id or f'{at} of {own}'}" for at, row in enumerate(rows)
    ]


def _results(call: Record, row: StoredMessage) -> list[StoredMessage]:
    """The result of a call, with what the client notes: the change of a file, and the session of a sub-agent."""
    shown, at = call.get("resultDisplay"), seconds(call.get("timestamp")) or row.timestamp
    diff = text_of(shown.get("fileDiff")) if isinstance(shown, dict) else ""
    agents = (call["agentId"],) if isinstance(call.get("agentId"), str) else ()
    failed = {"is_error": True} if call.get("status") == "error" else {}
    rows = contents.rows_of(_objects(call.get("result")), replace(row, tool_calls=[], reasoning="", timestamp=at))
    results = [each for each in rows if each.role == "tool"]  # a resume notes those of all calls with each call
    results = [each for each in results if each.tool_call_id == call.get("id")] or results
    call_id = text_of(call.get("id"))
    return [
        replace(
            each, tool_call_id=each.tool_call_id or call_id, diff=diff, sub_agents=agents, extra=each.extra | failed
        )
        for each in results
    ]


def _objects(value: Any) -> list[Record]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _records(value: Any) -> list[Record]:
    """The messages of a list: what has an id."""
    return [each for each in _objects(value) if isinstance(each.get("id"), str)]
