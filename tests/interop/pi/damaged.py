"""Sessions of pi as crashes, full disks, copies and other programs leave them: the same for each seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from tests.agents.pi.by_hand import CWD, said
from tests.agents.talk import talk

Lines = list[bytes]
STAMP = "2026-11-26T10:{:02}:{:02}.000Z"
MARK = b"\xef\xbb\xbf"


def damaged(seed: int) -> bytes:
    """A whole session with one to three kinds of damage."""
    dice = random.Random(seed)
    lines = whole(dice)
    for damage in dice.choices(DAMAGES, k=dice.randint(1, 3)):
        lines = damage(dice, lines) or lines
    return b"\n".join(lines) + (b"\n" if dice.random() < 0.9 else b"")


def whole(dice: random.Random) -> Lines:
    """Ten turns with calls, two compactions of which one keeps something, an edit, a way back, and notes."""
    version = dice.choice([3, 3, 3, 3, 2, 1])
    values: list[dict[str, Any]] = []

    def add(kind: str, *, parent: str | None = "", **more: Any) -> str:
        at = len(values)
        before = values[-1]["id"] if values else None
        values.append({"type": kind, "id": f"{at:08x}", "parentId": before if parent == "" else parent, **more})
        values[-1]["timestamp"] = STAMP.format(at // 60, at % 60)
        return str(values[-1]["id"])

    add("model_change", provider="ours", modelId="m")
    add("thinking_level_change", thinkingLevel="off")
    turns: list[str] = []
    for number in range(10):
        if number == 7 and dice.random() < 0.5:  # back to an earlier turn
            add("label", parent=turns[5], targetId=turns[5], label="here")
        for message in talk(1, of=f" {number} {dice.random()}"):
            named = add("message", message=said(message))
            turns += [named] if message["role"] == "user" else []
        if number in (3, 8) and dice.random() < 0.7:
            first = {"firstKeptEntryId": turns[-2]} if version > 1 else {"firstKeptEntryIndex": len(values) - 3}
            add("compaction", summary=f"So far {number}.", tokensBefore=9, **first)
        if number == 5:
            add("custom_message", customType="note", content="Mind.", display=True)
            shell = {"role": "bashExecution", "command": "ls", "output": "x", "exitCode": 0, "timestamp": 1}
            add("message", message=shell)
        if number == 6 and version > 1:
            add("context_edit", targetId=turns[-1], replacement=dice.choice([None, {"content": "Shorter."}]))
    header: dict[str, Any] = {"type": "session", "id": "s", "timestamp": STAMP.format(0, 0), "cwd": CWD}
    header |= {"version": version} if version > 1 else {}
    if version == 1:
        values = [{name: each for name, each in value.items() if name not in ("id", "parentId")} for value in values]
    return [json.dumps(each, separators=(",", ":")).encode() for each in (header, *values)]


# -- damages -----------------------------------------------------------------------------------------------------------


def _bytes_cut(dice: random.Random, lines: Lines) -> Lines:
    data = b"\n".join(lines)
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(data))
        data = data[:at] + data[at + dice.choice([1, 3, 40, 600]) :]
    return data.split(b"\n")


def _bytes_written_over(dice: random.Random, lines: Lines) -> Lines:
    data = bytearray(b"\n".join(lines))
    at, count = dice.randrange(len(data)), dice.choice([1, 20, 900])
    data[at : at + count] = dice.choice([b"\0", b"x", b" ", b"\xff"]) * len(data[at : at + count])
    return bytes(data).split(b"\n")


def _cut_short(dice: random.Random, lines: Lines) -> Lines:
    data = b"\n".join(lines)
    return data[: dice.randrange(len(data) // 2, len(data))].split(b"\n")


def _doubled(dice: random.Random, lines: Lines) -> Lines:
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(lines))
        lines.insert(dice.choice([at, dice.randrange(len(lines)), len(lines)]), lines[at])
    return lines


def _glued(dice: random.Random, lines: Lines) -> Lines:
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(lines) - 1)
        lines[at : at + 2] = [lines[at][: dice.choice([None, 30])] + lines[at + 1]]
    return lines


def _shuffled(dice: random.Random, lines: Lines) -> Lines:
    at, count = dice.randrange(1, len(lines) - 1), dice.choice([2, 3, 8, len(lines)])
    some = lines[at : at + count]
    dice.shuffle(some)
    lines[at : at + count] = some
    return lines


def _dropped(dice: random.Random, lines: Lines) -> Lines:
    del lines[dice.randrange(len(lines))]
    return lines


def _nuls(dice: random.Random, lines: Lines) -> Lines:
    at, nuls = dice.randrange(len(lines)), b"\0" * dice.randint(1, 90)
    lines[at] = dice.choice([lines[at] + nuls, nuls + lines[at], nuls])
    return lines


def _marked(dice: random.Random, lines: Lines) -> Lines:
    at = dice.choice([0, 0, dice.randrange(len(lines))])
    lines[at] = MARK + lines[at]
    return lines


def _strange(dice: random.Random, lines: Lines) -> Lines:
    strange = [b"", b"  \r", b"not json", b"[1]", b"7", b"null", b'""', b"{}", b'{"type":"x"}', b"NaN", b'"x"', b"0"]
    lines.insert(dice.choice([len(lines), dice.randrange(1, len(lines))]), dice.choice(strange))
    return lines


def _of_values(change: Callable[[random.Random, list[dict[str, Any]], dict[str, Any]], None]) -> Any:
    """A damage to one of the entries, another one than the header."""

    def damage(dice: random.Random, lines: Lines) -> Lines | None:
        values: dict[int, Any] = {}
        for at, line in enumerate(lines):
            try:
                values[at] = json.loads(line)
            except ValueError:
                continue
        entries = {at: each for at, each in values.items() if isinstance(each, dict) and each.get("type") != "session"}
        if not entries:
            return None
        for _ in range(dice.randint(1, 2)):
            at = dice.choice(list(entries))
            change(dice, list(entries.values()), entries[at])
            lines[at] = json.dumps(entries[at], separators=(",", ":")).encode()
        return lines

    return damage


def _repeat_id(dice: random.Random, entries: list[dict[str, Any]], entry: dict[str, Any]) -> None:
    entry["id"] = dice.choice(entries).get("id")


def _other_parent(dice: random.Random, entries: list[dict[str, Any]], entry: dict[str, Any]) -> None:
    entry["parentId"] = dice.choice([None, "gone", dice.choice(entries).get("id"), dice.choice(entries).get("id")])


def _other_field(dice: random.Random, entries: list[dict[str, Any]], entry: dict[str, Any]) -> None:
    inside = dice.choice([entry, entry, entry.get("message")])
    if isinstance(inside, dict) and inside:
        name = dice.choice(list(inside))
        inside[name] = dice.choice([None, "x", 7, [], {}, True, ""])
        if dice.random() < 0.3:
            del inside[name]


def _other_first(dice: random.Random, entries: list[dict[str, Any]], entry: dict[str, Any]) -> None:
    for each in entries:
        if each.get("type") in ("compaction", "context_edit"):
            name = "firstKeptEntryId" if each["type"] == "compaction" else "targetId"
            each[name] = dice.choice(entries).get("id")


DAMAGES: list[Callable[[random.Random, Lines], Lines | None]] = [
    _bytes_cut, _bytes_cut, _bytes_written_over, _cut_short, _doubled, _glued, _shuffled, _dropped, _nuls, _marked,
    _strange, _of_values(_repeat_id), _of_values(_other_parent), _of_values(_other_field), _of_values(_other_first),
]  # fmt: skip
