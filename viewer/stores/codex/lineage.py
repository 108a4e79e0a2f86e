"""The files of a session joined: those that its current file continues from, and the parts it went back behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from viewer.stores.jsonl.files import FileState

from .places import Rollout, ThreadFile, Threads, by_file_id
from .records import RECORDS, RolloutRecord

SHIFT = 40  # bits of an id for a line's offset in its file: a terabyte
MOST_FILES = 1_000  # that are followed, and that a thread may have; ids stay below 2**53


@dataclass(frozen=True, slots=True)
class RolloutPart:
    """One file. `start` is added to offsets for ids; the sent part of it ends before the offset `end`, None for all of
    it. `is_own` says that it is of the session's thread, `is_sent` that the current file continues from it.
    """

    rollout: Rollout
    state: FileState
    start: int
    records: list[RolloutRecord]
    end: int | None
    is_own: bool
    is_sent: bool

    @property
    def path(self) -> Path:
        return Path(self.rollout.path)

    @property
    def is_bare(self) -> bool:
        """Whether it is one of the oldest files, with bare items."""
        return bool(self.records) and self.records[0].is_bare

    @property
    def is_numbered(self) -> bool:
        """Whether its lines have numbers, as newer clients write them."""
        return bool(self.records) and self.records[0].ordinal is not None

    @property
    def number(self) -> int:
        """Its position among the files of its session."""
        return self.start >> SHIFT

    def sent(self) -> Iterator[RolloutRecord]:
        """Its records in the history of the session."""
        return (each for each in self.records if self.end is None or each.offset < self.end)

    def left(self) -> Iterator[RolloutRecord]:
        """Its records after the point that the session went back to."""
        return (each for each in self.records if self.end is not None and each.offset >= self.end)


@dataclass(frozen=True, slots=True)
class Lineage:
    """The files of a session, those of the oldest records first. `missing` is the id of a missing file that the current
    one continues from, "" for none.
    """

    parts: tuple[RolloutPart, ...]
    missing: str

    @property
    def current(self) -> RolloutPart:
        """The file that the session is written to."""
        return [each for each in self.parts if each.is_sent][-1]

    @property
    def text(self) -> str:
        """A text that differs when any of it changed."""
        return ";".join(f"{each.rollout.file_id} {each.end} {each.state.text}" for each in self.parts)

    def part_of(self, message_id: int) -> RolloutPart | None:
        """The file that contains a message."""
        start = message_id >> SHIFT << SHIFT
        return next((each for each in self.parts if each.start == start), None)


def lineage_of(file: ThreadFile, threads: Threads) -> Lineage:
    """The current files of a session. Raises StoreUnavailable."""
    chain, missing = _chain(file.rollout, threads)
    own = {each.file_id: (each, None, False) for each in file.files[-MOST_FILES:]}
    others = {each.file_id: (each, end, True) for each, end in chain if each.thread != file.id}
    sent = {each.file_id: (each, end, True) for each, end in chain if each.thread == file.id}
    ordered = [*others.values(), *(sent.get(file_id, own_file) for file_id, own_file in own.items())]
    parts = []
    for number, (rollout, end, is_sent) in enumerate(ordered):
        read = RECORDS.read(Path(rollout.path))
        is_own = rollout.thread == file.id
        ends = 0 if not is_sent else end
        parts.append(RolloutPart(rollout, read.state, number << SHIFT, read.records, ends, is_own, is_sent))
    return Lineage(tuple(parts), missing)


def _chain(current: Rollout, threads: Threads) -> tuple[list[tuple[Rollout, int | None]], str]:
    """The files from the first one on, each with the offset that its history ends before; and the id of
    a missing one.
    """
    chain: list[tuple[Rollout, int | None]] = [(current, None)]
    visited = {current.file_id}
    while len(chain) < MOST_FILES:
        records = RECORDS.read(Path(chain[-1][0].path)).records
        base = records[0].base if records else None
        if base is None or base.file_id in visited:
            return chain[::-1], ""
        rollout = by_file_id(threads, base.file_id)
        if rollout is None:
            return chain[::-1], base.file_id
        visited.add(base.file_id)
        chain.append((rollout, base.end))
    return chain[::-1], ""
