"""Turns of a session: the prompt, the work between as one card that folds, and the answer.

A window of History begins and ends anywhere, so a card may hold a part of a turn's work; its numbers are those of the
part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from compaction import messages as engine
from viewer.pages.parts.message_notes import FIRST_WORDS
from viewer.rendering import calls, formats
from viewer.rendering.texts import line
from viewer.stores.message import HistoryMessage
from viewer.stores.transcript import TranscriptIndex

from .messages import MessageToShow, ShownMessage

SHORT = 3  # rows of work up to which it does not fold
JOINED = 3  # reads in a row from which on they are one line
NAMED = 5  # files of such a line that are named


@dataclass(frozen=True, slots=True)
class Reads:
    """Messages that do nothing but read and search, as one line; it is `open` if one of them is marked."""

    template: ClassVar[str] = "session/_reads.html"
    did: str
    what: str
    rows: tuple[ShownMessage, ...]
    open: bool


@dataclass(frozen=True, slots=True)
class TurnWork:
    """What an agent did between a prompt and its answer, or a part of that. `id` and `number` are those of its first
    message; `goes_on` says that the turn began before it. `edits` succeeded, `failed` calls did not; `took` is from its
    first to its last message, "" if unknown; `begins` are its first words, or its first call. It `folds` if it is long.
    """

    template: ClassVar[str] = "session/_turn_work.html"
    id: int
    number: int
    rows: tuple[ShownMessage | Reads, ...]
    goes_on: bool
    calls: int
    edits: int
    failed: int
    took: str
    begins: str
    folds: bool
    open: bool


def turns(
    shown: Sequence[ShownMessage], of: Sequence[MessageToShow], index: TranscriptIndex, *, running: bool
) -> Iterator[ShownMessage | TurnWork]:
    """The messages of an unbroken stretch of History, with the work of each turn in one card. `of` are their stored
    messages; `running` says that the newest turn goes on where the stretch ends, unless its answer is there.
    """
    rows, parts = {item.id: item for item in of}, list(_parts(shown))
    stop = (index.place_of(of[-1].id) or 0) + 1 if of else 0
    for number, (opening, rest) in enumerate(parts, start=1):
        is_last, asked = number == len(parts), number < len(parts) or index.is_prompt(stop)
        at = _answer(rest, rows, asked=asked) if asked or stop == index.messages else len(rest)
        yield from opening
        if any(message.calls for message in rest[:at]):
            yield _work(rest[:at], rows, goes_on=not opening, is_open=running and is_last and at == len(rest))
        else:
            yield from rest[:at]
        yield from rest[at:]


def begins_turn(item: HistoryMessage, index: TranscriptIndex) -> bool:
    """Whether a message is a prompt; what a sub-agent is asked, nobody typed."""
    place = index.place_of(item.entry.id)
    return place is not None and (index.is_prompt(place) or (place == 0 and item.row.role == "user"))


def _parts(shown: Sequence[ShownMessage]) -> Iterator[tuple[list[ShownMessage], list[ShownMessage]]]:
    """Prompts in a row, and what follows them."""
    opening: list[ShownMessage] = []
    rest: list[ShownMessage] = []
    for message in shown:
        if message.asks:
            if rest:
                yield opening, rest
                opening, rest = [], []
            opening.append(message)
        else:
            rest.append(message)
    if opening or rest:
        yield opening, rest


def _answer(rest: Sequence[ShownMessage], rows: Mapping[int, MessageToShow], *, asked: bool) -> int:
    """Where the last words of a turn begin, its end if there are none. Words with calls are the last only where the
    next prompt was `asked`.
    """
    for at in reversed(range(len(rest))):
        if rest[at].calls and not asked:
            break
        if rest[at].kind == "assistant":
            return at if engine.said(rows[rest[at].id].row.content).strip() else len(rest)
    return len(rest)


def _work(
    messages: Sequence[ShownMessage], rows: Mapping[int, MessageToShow], *, goes_on: bool, is_open: bool
) -> TurnWork:
    made = [call for message in messages for call in message.calls]
    ids = [*(message.id for message in messages), *(call.result.id for call in made if call.result is not None)]
    times = [rows[each].row.timestamp for each in ids if rows[each].row.timestamp]
    passed = max(times) - min(times) if times else 0.0
    failed = sum(_has_failed(call) for call in made)
    is_marked = any(map(_is_marked, messages))
    return TurnWork(
        id=messages[0].id,
        number=messages[0].number,
        rows=tuple(_joined(messages)),
        goes_on=goes_on and messages[0].number > 1,
        calls=len(made) + sum(message.calls_left for message in messages),
        edits=sum(call.sort == "edit" and not _has_failed(call) for call in made),
        failed=failed,
        took=formats.seconds(passed) if passed >= 1 else "",
        begins=_begins(messages, rows),
        folds=len(made) + sum(bool(message.html) for message in messages) > SHORT,
        open=is_open or is_marked,
    )


def _begins(messages: Sequence[ShownMessage], rows: Mapping[int, MessageToShow]) -> str:
    for message in messages:
        if message.begins:
            continue
        if words := line(engine.said(rows[message.id].row.content), FIRST_WORDS):
            return words
        if message.calls:
            title = message.calls[0].title
            return line(" ".join(filter(None, (title.did, title.path, title.what))), FIRST_WORDS)
    return ""


def _has_failed(call: calls.ShownCall) -> bool:
    return call.result is not None and bool(call.result.outcome.word)


def _is_marked(message: ShownMessage) -> bool:
    return message.marked or any(call.open for call in message.calls)


# -- reads in a row ----------------------------------------------------------------------------------------------------


def _joined(messages: Sequence[ShownMessage]) -> Iterator[ShownMessage | Reads]:
    """The messages, those in a row that only read and search as one line."""
    for only_reads, run in groupby(messages, _only_reads):
        joined = tuple(run)
        if only_reads and sum(len(message.calls) for message in joined) >= JOINED:
            yield _reads(joined)
        else:
            yield from joined


def _only_reads(message: ShownMessage) -> bool:
    """Whether a message says nothing, and does nothing but look; what failed is not hidden in a line of others."""
    said_something = message.html or message.notes or message.calls_left
    looked = all(call.sort in ("read", "search") and not _has_failed(call) for call in message.calls)
    return bool(message.calls) and looked and not said_something


def _reads(messages: tuple[ShownMessage, ...]) -> Reads:
    made = [call for message in messages for call in message.calls]
    files = dict.fromkeys(call.title.whole_path for call in made if call.sort == "read")
    names = dict.fromkeys(name.rstrip("/").rpartition("/")[2] for name in files)
    searches = sum(call.sort == "search" for call in made)
    did = [f"Read {formats.counted(len(files), 'file')}"] if files else []
    did += [f"{'searched' if files else 'Searched'} {_times(searches)}"] if searches else []
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    what = line(", ".join([*list(filter(None, names))[:NAMED], *more]), 160)
    return Reads(", ".join(did), what, messages, open=any(map(_is_marked, messages)))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
