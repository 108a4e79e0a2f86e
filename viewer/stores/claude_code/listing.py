"""What lists ask of a directory of sessions: it has no numbers of its own, so files go by their time and ids.

A message's number is when its file was last written, in nanoseconds: whatever is newer than what was seen has news. A
session's number is made of its id. What leaves no newer time (a file that is gone, or whose time was put back) is found
by comparing sizes and times of all files, which costs no reading.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from viewer.stores.base import Store
from viewer.stores.listing import Ends, RowsDigest, SessionFacts, Unaskable

from . import places
from .facts import facts_of
from .places import SessionFile


@dataclass(frozen=True)
class ClaudeListing:
    """`listing.Listing` of such a store."""

    store: Store

    @cached_property
    def _files(self) -> dict[str, SessionFile]:
        try:
            return {each.id: each for each in places.all_files(self.store)}
        except OSError:
            return {}

    @cached_property
    def _by_number(self) -> list[tuple[int, str]]:
        return sorted((each.number, each.id) for each in self._files.values())

    @cached_property
    def _by_time(self) -> list[SessionFile]:
        """The newest first."""
        return sorted(self._files.values(), key=lambda each: each.state.changed, reverse=True)

    def all(self) -> Collection[SessionFile]:
        """The files of all sessions."""
        return self._files.values()

    def ends(self) -> Ends:
        highest = self._by_number[-1][0] if self._by_number else 0
        return Ends(self.newest_message(), highest, len(self._files))

    def newest_message(self) -> int:
        return self._by_time[0].state.changed if self._by_time else 0

    def fingerprint(self, message: int) -> str | None:
        return ""  # a directory is never another one under the same number

    def given_messages(self) -> int:
        return self.newest_message()

    def sessions_with_news(self, above: int, limit: int) -> tuple[list[str], int]:
        newer = [each for each in reversed(self._by_time) if each.state.changed > above][:limit]
        return [each.id for each in reversed(newer)], newer[-1].state.changed if newer else above

    def active_lately(self, limit: int) -> list[str]:
        return [each.id for each in self._by_time[:limit]]

    def sessions_above(self, number: int, limit: int) -> list[tuple[int, str]]:
        return [pair for pair in self._by_number if pair[0] > number][:limit]

    def sessions_down_from(self, number: int, limit: int) -> list[tuple[int, str]]:
        return [pair for pair in reversed(self._by_number) if pair[0] <= number][:limit]

    def facts(self, ids: Sequence[str]) -> dict[str, SessionFacts]:
        found = {}
        for session_id in ids:
            file = self._files.get(session_id)
            if file is not None and (facts := _facts(file)) is not None:
                found[session_id] = facts
        return found

    def unaskable(self, ids: Sequence[str]) -> dict[str, Unaskable]:
        return {}

    def appended(self, session_id: str, before: str, after: str) -> int | None:
        return None

    def has_archived(self, session_id: str) -> bool:
        return False

    def last_active(self, session_id: str) -> float:
        file = self._files.get(session_id)
        return file.state.changed / 1e9 if file else 0.0

    def first_words(self, session_id: str) -> str:
        file = self._files.get(session_id)
        try:
            return facts_of(file.path, file.state).first_words if file else ""
        except OSError:
            return ""


def _facts(file: SessionFile) -> SessionFacts | None:
    try:
        found = facts_of(file.path, file.state)
    except OSError:
        return None
    return SessionFacts(
        id=file.id,
        row=file.number,
        source=found.source,
        model=found.model,
        title=found.title,
        base_title=found.title,
        part_number=1,
        parent=file.parent,
        started_at=found.began or file.state.changed / 1e9,
        ended_at=None,
        continued=False,
        archived=False,
        cwd=found.cwd,
        branched_from="",
        delegated=bool(file.parent),
        forked_from=(file.parent,) if file.parent else (),
        mark=RowsDigest(1 if file.state.size else 0, 0, file.state.changed, file.state.text),
        git_branch=found.branch,
    )
