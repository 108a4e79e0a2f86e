"""Messages as a page shows them: who, when, how long, the blocks of what was said, the calls with their results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from django.utils.safestring import SafeString

import compaction
from compaction import messages as engine
from viewer.store.codec import BOOKKEEPING_ROLES, StoredMessage, message_of
from viewer.store.counting import row_tokens
from viewer.store.reading import HistoryMessage

from . import blocks, calls, formats
from .addresses import Place
from .texts import as_text, line

NAMES = {"user": "User", "assistant": "Assistant", "system": "System", "developer": "System", "tool": "Tool"}


@dataclass(frozen=True, slots=True)
class Said:
    """A stored message on its way to a page. `id` is the message's, `row.content` its live part only."""

    id: int
    row: StoredMessage
    state: Literal["live", "under", "out"]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One message with its calls. `kind` is a CSS class; `folded` is set for what no person reads first."""

    template: ClassVar[str] = "session/_message.html"
    id: int
    href: str
    kind: str
    who: str
    away: bool
    time: SafeString
    tokens: SafeString
    blocks: tuple[blocks.Block, ...]
    calls: tuple[calls.Call, ...]
    notes: tuple[str, ...]
    marked: bool
    folded: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What turning stored messages into shown ones needs: addresses, counter, the marked and the last message."""

    place: Place
    count: compaction.Counter
    marked: int | None = None
    newest: int | None = None


def of_history(item: HistoryMessage) -> Said:
    """A message of History: its fullest text, the state of its newest row."""
    notes = (
        ["The model now sees a shortened form of this."] if item.entry.shortened and item.entry.state == "live" else []
    )
    said = replace(item.row, content=item.content, flagged=False)  # what is flagged is the handoff merged into it
    return Said(item.entry.id, said, item.entry.state, tuple(notes))


def shown(said: Sequence[Said], reading: Reading) -> list[Message]:
    """The messages in order; a result stands in the fold of its call, or alone when its call is not among them."""
    pairs = calls.pair([item.row for item in said])
    answered = set(pairs.values())
    return [_message(said, at, pairs, reading) for at in range(len(said)) if at not in answered]


def _message(said: Sequence[Said], at: int, pairs: dict[tuple[int, int], int], reading: Reading) -> Message:
    item = said[at]
    is_result = item.row.role in engine.RESULT_ROLES
    made = (_lone_result(item, reading),) if is_result else tuple(_calls(said, at, pairs, reading))
    return Message(
        id=item.id,
        href=reading.place.message(item.id),
        kind=item.row.role if item.row.role in ("user", "assistant", "tool") else "other",
        who=who(item.row.role),
        away=item.state != "live",
        time=formats.moment(item.row.timestamp),
        tokens=formats.number(row_tokens(item.row, reading.count), "tokens"),
        blocks=() if is_result else _said_blocks(item, reading.place),
        calls=made,
        notes=() if is_result else (*item.notes, *_notes(item.row)),
        marked=item.id == reading.marked,
        folded=item.row.role not in ("user", "assistant", "tool"),
    )


def who(role: str) -> str:
    """A role as a person reads it; one this site does not know is named as it is."""
    if role in BOOKKEEPING_ROLES:
        return "The agent's own record"
    return NAMES.get(role) or f"Role “{line(role, 40)}”"


def _said_blocks(item: Said, place: Place) -> tuple[blocks.Block, ...]:
    row = item.row
    reasoning = blocks.of_reasoning(row.reasoning, row.extra, place.whole(row.id, "reasoning"))
    if row.role in ("user", "assistant"):
        return (*reasoning, *blocks.of_content(row.content, place.whole(row.id, "content")))
    return (*reasoning, *_raw(row, place))


def _raw(row: StoredMessage, place: Place) -> Iterable[blocks.Block]:
    """System rows and rows of roles nobody knows: as they are."""
    if row.content is None or row.content == "":
        return ()
    return (blocks.plain(as_text(row.content), place.whole(row.id, "content")),)


def _notes(row: StoredMessage) -> tuple[str, ...]:
    notes = []
    kind = str(row.extra.get("display_kind") or "")
    if row.role == "user" and not engine.is_typed({**message_of(row), "display_kind": kind}):
        notes.append(f"Written by the agent, not typed by a person{f' ({line(kind, 40)})' if kind else ''}.")
    if row.extra.get("observed"):
        notes.append("Seen in a group chat, not addressed to the agent.")
    if row.finish_reason in ("length", "max_tokens"):
        notes.append("The model was cut off at its length limit.")
    return tuple(notes)


# -- calls -----------------------------------------------------------------------------------------------------------


def _calls(said: Sequence[Said], at: int, pairs: dict[tuple[int, int], int], reading: Reading) -> Iterable[calls.Call]:
    item = said[at]
    for position, call in enumerate(engine.calls({"tool_calls": item.row.tool_calls, "content": item.row.content})):
        found = pairs.get((at, position))
        result = None if found is None else _result(said[found], reading, calls.duration(item.row, said[found].row))
        waiting = result is None and item.id == reading.newest
        yield calls.shown_call(call, result, reading.place.whole(item.row.id, "calls"), waiting)


def _lone_result(item: Said, reading: Reading) -> calls.Call:
    call = engine.Call((item.row.tool_call_id,), item.row.tool_name, "")
    return calls.shown_call(call, _result(item, reading, ""), "", waiting=False)


def _result(item: Said, reading: Reading, seconds: str) -> calls.Result:
    return calls.Result(
        id=item.id,
        href=reading.place.message(item.id),
        tokens=formats.number(row_tokens(item.row, reading.count), "tokens"),
        blocks=blocks.of_output(item.row.content, reading.place.whole(item.row.id, "content")),
        outcome=calls.outcome(item.row.content),
        seconds=seconds,
        notes=item.notes,
        marked=item.id == reading.marked,
    )
