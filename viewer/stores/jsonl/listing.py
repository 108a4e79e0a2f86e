"""What lists ask of a directory of sessions. It has no numbers of its own, so files are ordered by their time and ids.

A message's number is the time its file was last written, in nanoseconds: a newer time means news. A session's number is
made from its id. A change that leaves no newer time (a file that is gone, or whose time was set back) is detected by
comparing sizes and times of all files, without reading them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from typing import Generic, Protocol, TypeVar

from viewer.stores.base import Session, Store
from viewer.stores.listing import Ends, SessionFacts, Unaskable, session_of

from .files import FileState


class ListedFile(Protocol):
    """The file that a session is written to now."""

    @property
    def id(self) -> str: ...
    @property
    def state(self) -> FileState: ...
    @property
    def number(self) -> int:
        """A number that identifies the session in the store, made from its id."""


def number_of(session_id: str) -> int:
    """A positive number of 62 bits for a session."""
    return int.from_bytes(blake2b(session_id.encode(), digest_size=8).digest(), "big") >> 2 or 1


F = TypeVar("F", bound=ListedFile)


class FileListing(ABC, Generic[F]):
    """`listing.Listing` of such a store."""

    @abstractmethod
    def files(self) -> Iterable[F]:
        """The files of all sessions. Raises OSError where they cannot be listed."""

    @abstractmethod
    def facts_of(self, file: F) -> SessionFacts:
        """What its file says about a session. Raises OSError."""

    @abstractmethod
    def words_of(self, file: F) -> str:
        """The beginning of the first request, "" for none. Raises OSError."""

    @abstractmethod
    def time_of(self, file: F) -> float:
        """The time of its newest entry, in epoch seconds, 0.0 where none has one. Raises OSError."""

    def session_of(self, store: Store, file: F, is_open: bool | None = None) -> Session:
        """The session that is written to this file. Raises OSError."""
        last_active = self.time_of(file) or file.state.changed / 1e9
        return session_of(store, self.facts_of(file), self.words_of(file), last_active, is_open)

    @cached_property
    def _files(self) -> dict[str, F]:
        try:
            return {each.id: each for each in self.files()}
        except OSError:
            return {}

    @cached_property
    def _by_number(self) -> list[tuple[int, str]]:
        return sorted((each.number, each.id) for each in self._files.values())

    @cached_property
    def _by_time(self) -> list[F]:
        """The newest first."""
        return sorted(self._files.values(), key=lambda each: each.state.changed, reverse=True)

    def all(self) -> Collection[F]:
        """The files of all sessions."""
        return self._files.values()

    def ends(self) -> Ends:
        highest = self._by_number[-1][0] if self._by_number else 0
        return Ends(self.newest_message(), highest, len(self._files))

    def newest_message(self) -> int:
        return self._by_time[0].state.changed if self._by_time else 0

    def fingerprint(self, message: int) -> str | None:
        return ""  # the same number never belongs to another directory

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
        facts_by_id = {}
        for session_id in ids:
            file = self._files.get(session_id)
            with suppress(FileNotFoundError):
                if file is not None:
                    facts_by_id[session_id] = self.facts_of(file)
        return facts_by_id

    def unaskable(self, ids: Sequence[str]) -> dict[str, Unaskable]:
        return {}

    def appended(self, session_id: str, before: str, after: str) -> int | None:
        return None

    def has_archived(self, session_id: str) -> bool:
        return False

    def last_active(self, session_id: str) -> float:
        file = self._files.get(session_id)
        try:
            return (self.time_of(file) or file.state.changed / 1e9) if file else 0.0
        except OSError:
            return 0.0

    def first_words(self, session_id: str) -> str:
        file = self._files.get(session_id)
        try:
            return self.words_of(file) if file else ""
        except OSError:
            return ""
