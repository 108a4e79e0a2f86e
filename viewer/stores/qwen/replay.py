"""The rule of Qwen Code: what a resume sends of the records that it wrote (docs/qwen.md says how that was tried).

Records are a tree. The last one leads up to the first; what it does not reach was left by going back. A record
`chat_compression` puts its list of messages in place of all that came before it: a summary, the client's own answer,
and at its end messages that are in the tree, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from viewer.stores import google_contents as contents
from viewer.stores.google_contents import ACKNOWLEDGED, SUMMARY, CountedRequest, joined_text, number, text_of
from viewer.stores.jsonl.values import seconds
from viewer.stores.message import AbandonedBranch, ReportedCompaction, StoredMessage
from viewer.stores.parsed_session import ParsedCompaction, ParsedMessage

ROLES = {"user": "user", "assistant": "assistant", "tool_result": "user"}
OUTSIDE = {  # subtypes of records that are no part of the tree
    "session_artifact_event", "session_artifact_snapshot", "session_sources_snapshot", "managed_session_header_v1",
    "managed_session_event_v1", "managed_session_commit_v1",
}  # fmt: skip
TYPED = ("", "mid_turn_user_message")  # subtypes of what a person typed
NEVER_SENT = "realtime_message"
COMPRESSION = "chat_compression"
ADDED = {"display_kind": "added by Qwen Code"}
ENVELOPES = contents.envelopes("Qwen Code")
Record = dict[str, Any]


class QwenTree:
    """The records of a file, in order, each with the number of its first message."""

    def __init__(self, records: Iterable[tuple[int, Record]], session_id: str) -> None:
        self._session_id = session_id
        self.records: dict[str, Record] = {}
        self.messages: dict[int, ParsedMessage] = {}
        self.compactions: list[ParsedCompaction] = []
        self._ids: dict[str, list[int]] = {}  # the messages of each record
        self._newest = ""
        for first_id, record in records:
            self._take(record, first_id)
        self.live = self._replayed()

    def _take(self, record: Record, first_id: int) -> None:
        uuid, kind = record["uuid"], text_of(record.get("type"))
        if kind == "system" and text_of(record.get("subtype")) in OUTSIDE:
            return
        self.records.setdefault(uuid, record)
        self._newest = uuid
        message = record.get("message")
        if kind == "system" or not isinstance(message, dict):
            is_compression = kind == "system" and record.get("subtype") == COMPRESSION
            self._ids.setdefault(uuid, [first_id] if is_compression else [])
            return
        self._ids.setdefault(uuid, []).extend(self._add(self._rows(message.get("parts"), record), first_id))

    def _rows(self, parts: Any, record: Record, role: str = "") -> list[StoredMessage]:
        kind, at = text_of(record.get("type")), seconds(record.get("timestamp"))
        role = role or ROLES.get(kind, kind or "unknown")
        subtype = text_of(record.get("subtype"))
        result = record.get("toolCallResult")
        extra = {} if subtype in TYPED or kind != "user" else {"display_kind": subtype.replace("_", " ")}
        row = StoredMessage(0, self._session_id, role, None, "live", at, extra=extra)
        rows = contents.rows_of(parts, replace(row, envelopes=ENVELOPES if role == "user" else None))
        return [replace(each, diff=_diff(result)) if each.role == "tool" else each for each in rows]

    def _add(self, rows: Sequence[StoredMessage], first_id: int) -> list[int]:
        for at, row in enumerate(rows, start=first_id):
            self.messages[at] = ParsedMessage(replace(row, id=at))
        return list(range(first_id, first_id + len(rows)))

    # -- the context

    @cached_property
    def path(self) -> list[str]:
        """The records from the first to the last; one whose parent is not there begins it."""
        path: dict[str, None] = {}
        at: Any = self._newest
        while isinstance(at, str) and at in self.records and at not in path:
            path[at] = None
            at = self.records[at].get("parentUuid")
        return list(path)[::-1]

    def _replayed(self) -> list[int]:
        live: list[int] = []
        for uuid in self.path:
            record, payload = self.records[uuid], self.records[uuid].get("systemPayload")
            history = payload.get("compressedHistory") if isinstance(payload, dict) else None
            if record.get("type") == "system":
                if record.get("subtype") == COMPRESSION and isinstance(history, list) and history:
                    live = self._compressed(record, history, live)
            elif text_of(record.get("type")) in ROLES and record.get("subtype") != NEVER_SENT:
                live.extend(self._ids[uuid])
        return live

    def _compressed(self, record: Record, history: Sequence[Any], before: Sequence[int]) -> list[int]:
        """The context after a compression. One that only clears old results has no summary, and is no boundary."""
        entries = [each for each in history if isinstance(each, dict)]
        rows = [
            row
            for each in entries
            for row in self._rows(each.get("parts"), record, "assistant" if each.get("role") == "model" else "user")
        ]
        is_summary = len(entries) > 1 and joined_text(entries[0].get("parts")).startswith(SUMMARY) and (
            joined_text(entries[1].get("parts")) == ACKNOWLEDGED
        )  # fmt: skip
        old = [self.messages[each].row for each in before]
        known = [None, None, *contents.repeated(rows[2:], old)] if is_summary else contents.repeated(rows, old)
        results = {each.tool_call_id: each.id for each in old if each.tool_call_id}
        first_id, after = self._ids[record["uuid"]][0], list[int]()
        for at, (row, same) in enumerate(zip(rows, known, strict=True), start=first_id):
            if same is None:
                by_client = is_summary and row.role == "user" and at > first_id  # such as files that were read lately
                row = replace(row, id=at, flagged=is_summary and at == first_id)
                row = replace(row, extra=row.extra | ADDED) if by_client else row
                self.messages[at] = ParsedMessage(row, results.get(row.tool_call_id) if row.tool_call_id else None)
            after.append(at if same is None else same)
        if is_summary:
            reported = _reported(record["systemPayload"].get("info"))
            time = seconds(record.get("timestamp"))
            self.compactions.append(ParsedCompaction(first_id, time, tuple(before), tuple(after), reported))
        return after

    # -- what is not in it

    @cached_property
    def _branches(self) -> dict[str, list[int]]:
        """The messages that the path does not have, by the first record of each branch."""
        on_path, top, branches = {*self.path}, dict[str, str](), dict[str, list[int]]()
        for uuid, record in self.records.items():
            if uuid not in on_path:
                top[uuid] = top.get(text_of(record.get("parentUuid")), uuid)
                if ids := [each for each in self._ids[uuid] if each in self.messages]:
                    branches.setdefault(top[uuid], []).extend(ids)
        return branches

    def _is_lost(self, top: str) -> bool:
        """Whether a branch may have been in the context, and a missing record cuts it off."""
        parent = self.records[top].get("parentUuid")
        return bool(self.path and self.records[self.path[0]].get("parentUuid")) and parent not in self.path

    @cached_property
    def lost(self) -> set[int]:
        """The messages that a resume passes over, and those that a missing record cuts off."""
        passed = {each for uuid in self.path for each in self._ids[uuid] if each in self.messages}
        cut_off = (ids for top, ids in self._branches.items() if self._is_lost(top))
        return {*passed, *(each for ids in cut_off for each in ids)}

    @property
    def left(self) -> list[AbandonedBranch]:
        """What was left by going back to an earlier record."""
        branches = []
        for top, ids in self._branches.items():
            if not self._is_lost(top):
                parent = text_of(self.records[top].get("parentUuid"))
                until = self.path[: self.path.index(parent) + 1] if parent in self.path else []
                before = [each for uuid in until for each in self._ids[uuid] if each in self.messages]
                newest = max(self.messages[each].time for each in ids)
                branches.append(AbandonedBranch(before[-1] if before else None, tuple(ids), newest))
        return branches

    # -- what was used

    def requests(self) -> list[CountedRequest]:
        """What the client counted of each request."""
        return [
            CountedRequest(
                seconds(each.get("timestamp")), text_of(each.get("model")), number(used, "promptTokenCount"),
                number(used, "cachedContentTokenCount"), number(used, "totalTokenCount"), "forkedFrom" in each,
            )
            for each in self.records.values()
            if isinstance(used := each.get("usageMetadata"), dict)
        ]  # fmt: skip

    @property
    def in_context(self) -> int | None:
        """The tokens that the newest request read; None where there was none since a compression."""
        for uuid in reversed(self.path):
            record = self.records[uuid]
            if record.get("subtype") == COMPRESSION:
                break
            if read := number(record.get("usageMetadata"), "promptTokenCount"):
                return read
        return None


def _diff(result: Any) -> str:
    """The change of a file that the client notes with a result, "" for none."""
    shown = result.get("resultDisplay") if isinstance(result, dict) else None
    return text_of(shown.get("fileDiff")) if isinstance(shown, dict) else ""


def _reported(info: Any) -> ReportedCompaction:
    trigger = text_of(info.get("triggerReason")) if isinstance(info, dict) else ""
    before, after = (number(info, name) or None for name in ("originalTokenCount", "newTokenCount"))
    return ReportedCompaction(trigger if trigger in ("", "manual") else "auto", before, after, "")
