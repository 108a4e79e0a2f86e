"""Sessions as Claude Code writes them, and damage done to their files at random."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tests.agents.base import Json

SESSION = "00000000-0000-4000-8000-00000000aaaa"
PHANTOM = "00000000-0000-4000-8000-00000000ffff"  # a record that was never written
STEPS = (0.05, 0.5, 1, 3, 4, 7, 30)  # seconds between records
BEGUN = datetime(2026, 11, 18, 10, tzinfo=UTC)
Lines = list[bytes]
Damage = Callable[[Random, Lines], None]
DAMAGES: dict[str, Damage] = {}


def damaged(seed: int) -> tuple[bytes, list[str]]:
    """The file of a session of its own for each number, and what was done to it."""
    random = Random(seed)
    lines = [json.dumps(each).encode() for each in _Session(random).written()]
    done = [random.choice(sorted(DAMAGES)) for _ in range(random.choice([1, 1, 1, 2, 3]))]
    for name in done:
        DAMAGES[name](random, lines)
    return b"".join(line + b"\n" for line in lines), done


@dataclass
class _Session:
    random: Random
    lines: list[Json] = field(default_factory=list)
    parent: str | None = None
    clock: float = 0.0

    def written(self) -> list[Json]:
        """Some turns with parallel calls and notes, perhaps a compaction and a rewind."""
        turns = self.random.randint(3, 7)
        compacted = self.random.choice([0, 0, self.random.randint(2, turns)])
        for turn in range(1, turns + 1):
            if turn == compacted:
                self._compact()
            self._turn()
            if self.random.random() < 0.15 and turn > compacted:
                self.parent = self.random.choice(self._uuids(behind=bool(compacted)))
            if self.random.random() < 0.3:
                self.lines.append({"type": "last-prompt", "leafUuid": self.parent, "sessionId": SESSION})
        return self.lines

    def _uuids(self, *, behind: bool) -> list[str]:
        """All records, or those behind the boundary."""
        at = next((at for at, each in enumerate(self.lines) if behind and each.get("compactMetadata")), -1)
        return [each["uuid"] for each in self.lines[at + 1 :] if "uuid" in each]

    def _add(self, kind: str, parent: str | None = None, **said: Any) -> Json:
        self.clock += self.random.choice(STEPS)
        stamp = (BEGUN + timedelta(seconds=self.clock)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        record = {
            "parentUuid": parent or self.parent, "isSidechain": False, "type": kind,
            "uuid": f"00000000-0000-4000-8000-{len(self.lines):012d}", "timestamp": stamp, "sessionId": SESSION,
            "userType": "external", "cwd": "/work", "version": "2.1.330", "gitBranch": "main", **said,
        }  # fmt: skip
        self.lines.append(record)
        self.parent = record["uuid"]
        return record

    def _reply(self, response: str, block: Json, *, ends: bool = True) -> Json:
        usage = {"input_tokens": 9, "output_tokens": 9}
        message = {"id": response, "type": "message", "role": "assistant", "model": "test-model", "usage": usage}
        return self._add(
            "assistant", message=message | {"content": [block], "stop_reason": "end_turn" if ends else None}
        )

    def _turn(self) -> None:
        number = len(self.lines)
        self._add("user", message={"role": "user", "content": f"Request {number}"})
        if self.random.random() < 0.3:
            self._add("attachment", attachment={"type": "unknown"})
        if self.random.random() < 0.4:
            self._calls(self.random.randint(1, 3))
        for part in range(self.random.choice([1, 1, 2])):
            self._reply(f"msg_{number}", {"type": "text", "text": f"Reply {number}, {part}"})
        if self.random.random() < 0.4:
            self._add("system", subtype="turn_duration", durationMs=5)

    def _calls(self, count: int) -> None:
        number = len(self.lines)
        ids = [f"toolu_{number}_{each}" for each in range(count)]
        block = {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}
        made = [self._reply(f"msg_{number}", block | {"id": each}, ends=False) for each in ids]
        for call, record in zip(ids, made, strict=True):
            result = {"type": "tool_result", "tool_use_id": call, "content": f"Result {call}"}
            self._add("user", record["uuid"], message={"role": "user", "content": [result]})

    def _compact(self) -> None:
        kept = self._uuids(behind=False)[-2:] if self.random.random() < 0.6 else []
        self.parent = None
        boundary = self._add("system", subtype="compact_boundary", compactMetadata={"trigger": "manual"})
        message = {"role": "user", "content": "The summary"}
        summary = self._add("user", message=message, isCompactSummary=True)
        if kept:
            named = {"anchorUuid": summary["uuid"], "uuids": kept, "allUuids": kept}
            boundary["compactMetadata"]["preservedMessages"] = named
            self.parent = kept[-1]


# -- what is done to the lines -----------------------------------------------------------------------------------------


def damage(function: Damage) -> Damage:
    DAMAGES[getattr(function, "__name__", "")] = function
    return function


def _records(lines: Lines) -> Iterator[tuple[int, Json]]:
    """The places of records that are whole."""
    for at, line in enumerate(lines):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and "uuid" in value:
            yield at, value


def _change(random: Random, lines: Lines, change: Callable[[Json], Any], kind: str = "") -> None:
    """Change one record, of a type where one is named."""
    found = [(at, value) for at, value in _records(lines) if kind in ("", value["type"], value.get("subtype"))]
    if found:
        at, value = random.choice(found)
        change(value)
        lines[at] = json.dumps(value).encode()


def _uuid(random: Random, lines: Lines) -> str:
    return random.choice([str(value["uuid"]) for _, value in _records(lines)] or [PHANTOM])


@damage
def bytes_cut(random: Random, lines: Lines) -> None:
    at = random.randrange(len(lines))
    place = random.randrange(1, len(lines[at]))
    lines[at] = lines[at][:place] + random.choice([b"", lines[at][place + random.randint(1, 30) :]])


@damage
def line_doubled(random: Random, lines: Lines) -> None:
    lines.insert(random.randrange(len(lines) + 1), random.choice(lines))


@damage
def lines_glued(random: Random, lines: Lines) -> None:
    at = random.randrange(len(lines) - 1)
    lines[at : at + 2] = [lines[at] + lines[at + 1]]


@damage
def half_glued(random: Random, lines: Lines) -> None:
    at = random.randrange(len(lines) - 1)
    lines[at : at + 2] = [lines[at][: random.randrange(1, len(lines[at]))] + lines[at + 1]]


@damage
def line_gone(random: Random, lines: Lines) -> None:
    lines.pop(random.randrange(len(lines)))


@damage
def lines_shuffled(random: Random, lines: Lines) -> None:
    at = random.randrange(len(lines))
    part = lines[at : at + random.randint(2, 6)]
    random.shuffle(part)
    lines[at : at + len(part)] = part


@damage
def line_moved(random: Random, lines: Lines) -> None:
    line = lines.pop(random.randrange(len(lines)))
    lines.insert(random.randrange(len(lines) + 1), line)


@damage
def parent_unknown(random: Random, lines: Lines) -> None:
    _change(random, lines, lambda value: value.update(parentUuid=PHANTOM))


@damage
def parent_none(random: Random, lines: Lines) -> None:
    _change(random, lines, lambda value: value.update(parentUuid=None))


@damage
def parent_other(random: Random, lines: Lines) -> None:
    _change(random, lines, lambda value: value.update(parentUuid=_uuid(random, lines)))


@damage
def uuid_repeated(random: Random, lines: Lines) -> None:
    _change(random, lines, lambda value: value.update(uuid=_uuid(random, lines)))


@damage
def response_repeated(random: Random, lines: Lines) -> None:
    ids = [value["message"]["id"] for _, value in _records(lines) if value["type"] == "assistant"]
    _change(random, lines, lambda value: value["message"].update(id=random.choice(ids)), "assistant")


@damage
def boundary_with_parent(random: Random, lines: Lines) -> None:
    _change(random, lines, lambda value: value.update(parentUuid=_uuid(random, lines)), "compact_boundary")


@damage
def nuls(random: Random, lines: Lines) -> None:
    at = random.randrange(len(lines))
    lines[at] = random.choice([lines[at] + b"\0" * 300, lines[at] + b" \0 ", b"\0" + lines[at]])


@damage
def byte_order_mark(random: Random, lines: Lines) -> None:
    lines[0] = b"\xef\xbb\xbf" + lines[0]


@damage
def time_unknown(random: Random, lines: Lines) -> None:
    _change(random, lines, lambda value: value.update(timestamp="?"))


@damage
def sidechain_marked(random: Random, lines: Lines) -> None:
    _change(random, lines, lambda value: value.update(isSidechain=True), random.choice(["user", "assistant"]))


@damage
def end_named(random: Random, lines: Lines) -> None:
    named = {"type": "last-prompt", "leafUuid": _uuid(random, lines), "sessionId": SESSION}
    lines.insert(random.randrange(len(lines) + 1), json.dumps(named).encode())
