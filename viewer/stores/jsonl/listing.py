"""What lists ask of a directory of sessions. It has no numbers of its own, so files are ordered by their time and ids.

What is new is found by the times at which files were last written, in nanoseconds. A session's number is made from its
id. A change that leaves no newer time (a file that is gone, or whose time was set back) is detected by comparing sizes
and times of all files, without reading them.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from typing import Generic, Protocol, TypeVar

from viewer.stores.base import Session
from viewer.stores.listing import Activity, Changes

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
    def listed(self, file: F) -> Session:
        """What its file says about a session, without what needs messages to be read. Raises OSError."""

    @abstractmethod
    def words_of(self, file: F) -> str:
        """The beginning of the first request, "" for none. Raises OSError."""

    @abstractmethod
    def time_of(self, file: F) -> float:
        """The time of its newest entry, in epoch seconds, 0.0 where none has one. Raises OSError."""

    def session_of(self, file: F) -> Session:
        """The session that is written to this file. Raises OSError."""
        last_active = self.time_of(file) or file.state.changed / 1e9
        return replace(self.listed(file), first_words=self.words_of(file), last_active=last_active)

    @cached_property
    def _files(self) -> dict[str, F]:
        try:
            return {each.id: each for each in self.files()}
        except OSError:
            return {}

    @cached_property
    def _by_number(self) -> list[tuple[int, str | None]]:
        return sorted((each.number, each.id) for each in self._files.values())

    @cached_property
    def _by_time(self) -> list[F]:
        """The newest first."""
        return sorted(self._files.values(), key=lambda each: each.state.changed, reverse=True)

    def all(self) -> Collection[F]:
        """The files of all sessions."""
        return self._files.values()

    def changed(self, cursor: str, messages: int, sessions: int) -> Changes | None:
        """A cursor is JSON, a list with the newest time; the same time never belongs to another directory."""
        if not cursor:
            return Changes([each.id for each in self._by_time[:messages]], _cursor(self._by_time[:1]))
        above = json.loads(cursor)[0]
        newer = [each for each in reversed(self._by_time) if each.state.changed > above]
        read = newer[:messages][::-1]
        return Changes([each.id for each in read], _cursor(read[:1]) if read else cursor, more=len(newer) > messages)

    def page(self, number: int, limit: int) -> list[tuple[int, str | None]]:
        return [pair for pair in reversed(self._by_number) if pair[0] <= number][:limit]

    def sessions(self, ids: Sequence[str]) -> dict[str, Session]:
        sessions = {}
        for session_id in ids:
            file = self._files.get(session_id)
            with suppress(FileNotFoundError):
                if file is not None:
                    sessions[session_id] = self.listed(file)
        return sessions

    def activity(self, session: Session, before: str | None) -> Activity:
        file = self._files.get(session.id)
        if file is None:
            return Activity(0.0, "")
        try:
            return Activity(self.time_of(file) or file.state.changed / 1e9, self.words_of(file))
        except OSError:
            return Activity(0.0, "")


def _cursor(newest: Sequence[ListedFile]) -> str:
    return json.dumps([each.state.changed for each in newest] or [0])
