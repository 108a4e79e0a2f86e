"""Valid records, each time with one field that holds something else: for tests that no record stops a reader."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tests.listed import activity_of
from viewer.stores.base import Session
from viewer.stores.errors import NotBranchable, StoreError
from viewer.stores.message import StoredMessage, message_of, parted, row_tokens
from viewer.stores.reader import Reader
from viewer.stores.recorded import Recorded
from viewer.stores.search.passages import words_of
from viewer.usage import counting

Step = str | int


def nested(depth: int, *, in_objects: bool) -> Any:
    """Lists, or objects, so deep in one another."""
    value: Any = "x"
    for _ in range(depth):
        value = {"content": value} if in_objects else [value]
    return value


VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "0": 0,
    "-1": -1,
    "1e308": 1e308,
    "400 digits": 10**400,
    "text that is empty": "",
    "[]": [],
    "{}": {},
    '["x"]': ["x"],
    "a lone surrogate": "a \ud800 b",
    "a NUL": "a\0b",
    "lists 80 deep": nested(80, in_objects=False),
    "objects 80 deep": nested(80, in_objects=True),
    "lists 450 deep": nested(450, in_objects=False),
    "objects 450 deep": nested(450, in_objects=True),
}


@dataclass(frozen=True, slots=True)
class Variant:
    """All the records, of which the one `at` this place has one field malformed; `says` which, and by what."""

    says: str
    at: int
    records: list[Any]


def variants(records: Sequence[Any]) -> Iterator[Variant]:
    """For each field of each record, at any depth, and the record itself, one variant for each of `VALUES`. What
    several records have alike at one place counts for each of them.
    """
    for at, record in enumerate(records):
        for path in paths(record):
            for name, value in VALUES.items():
                changed = [*records[:at], _with(record, path, value), *records[at + 1 :]]
                yield Variant(f"{at}{''.join(f'[{step!r}]' for step in path)} = {name}", at, changed)


def paths(value: Any, above: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """The way to every value in a record, from itself on."""
    yield above
    inside: Sequence[tuple[Step, Any]] = ()
    if isinstance(value, dict):
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value))
    for step, each in inside:
        yield from paths(each, (*above, step))


def _with(value: Any, path: tuple[Step, ...], new: Any) -> Any:
    """A copy with another value at the end of this way."""
    if not path:
        return new
    step, *rest = path
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[step] = _with(value[step], tuple(rest), new)
    return copy


def ask_everything(reader: Reader, session_id: str) -> None:
    """Every question of a reader about a session, and what pages, search, exports and the API make of the answers."""
    session = reader.session(session_id)
    assert session_id in reader.listing.sessions([session_id])
    activity_of(reader, session_id)
    reader.usage(session_id)
    reader.children(reader.parts(session_id))
    reader.refusal(session_id)
    reader.refusal(session_id, "branch")
    reader.refusal(session_id, "prune")
    reader.presence(session_id)
    reader.abandoned(session_id)
    index = reader.index(session_id, Recorded(), reader.change_token(session_id))
    shown = reader.shown(session_id, index.window().items)
    reader.previews(session_id, list(index.ids))
    rows = [*reader.raw(session_id, before=None, limit=1_000), *reader.messages(session_id, list(index.ids)).values()]
    live = reader.live(session_id)
    reader.additions(session_id, [row.id for row in live], end=True)
    cursor = ""
    while reader.offers_text and (found := reader.searchable(session_id, cursor)) and found.more:
        cursor = found.cursor
    _made_of(session, [*rows, *live, *(each.row for each in shown)])
    for boundary in index.compactions:
        reader.undo_plan(session_id, boundary)
        with suppress(NotBranchable):
            reader.context_before(session_id, boundary)
    with suppress(StoreError):
        reader.basis(session_id)


def _made_of(session: Session, rows: Sequence[StoredMessage]) -> None:
    count = counting.counter_for(session.model)
    for row in rows:
        words_of(row, redacting=True)
        parted(row)
        row_tokens(row, count)
        json.dumps(message_of(row), ensure_ascii=False).encode()
        json.dumps(row.extra, ensure_ascii=False, default=str).encode()  # as exports write it
