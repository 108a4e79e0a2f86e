"""Stores whose sessions are files that are small enough to be parsed whole: a kind finds the files and parses one.

What a file says is parsed once in each of its states (`ParsedStores.parsed`). The sessions that were used last stay in
memory, and of many more what lists ask. Nothing here writes.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import ClassVar

from cachetools import LRUCache

from viewer.stores import conversation
from viewer.stores.base import ChangeToken, ChildSession, ReportedUsage, RowsDigest, Session, Store
from viewer.stores.changes import Json
from viewer.stores.clean_text import shell_word
from viewer.stores.errors import NotBranchable, NotFound, StoreReadOnly, StoreUnavailable
from viewer.stores.home import HomeStores
from viewer.stores.jsonl.files import TOO_LARGE, readable
from viewer.stores.jsonl.listing import FileListing
from viewer.stores.jsonl.reader import FileReader
from viewer.stores.kind import Agent, newer_than
from viewer.stores.message import (
    AbandonedBranch,
    Addition,
    ReportedCompaction,
    StoredMessage,
)
from viewer.stores.parsed_session import ParsedFile, ParsedSession
from viewer.stores.reader import Reader
from viewer.stores.refused import Action, Refusal
from viewer.stores.search.pages import SearchableText
from viewer.stores.transcript import Boundary, TranscriptIndex

READ_ONLY = (
    "Sessions of {client} can be read, but not be changed here: what the client makes of a compaction that another "
    "program writes was not tried."
)
LARGEST = 200_000_000  # bytes; a larger file is listed, and not read
HELD = 64_000_000  # bytes of files whose sessions are held in memory
REMEMBERED = 20_000  # sessions of which facts are held


# -- the kind ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ParsedFacts:
    """What lists ask of a session; `version` is the client's, "" for unknown."""

    session: Session  # of a store without a name
    first_words: str
    newest: float
    version: str
    is_empty: bool


# With the size that each counts with: at most half of all, so that two are always held.
_sessions: LRUCache[ParsedFile, tuple[int, ParsedSession]] = LRUCache(HELD, getsizeof=lambda each: each[0])
_facts: LRUCache[ParsedFile, ParsedFacts] = LRUCache(REMEMBERED)
_lock = Lock()


class ParsedStores(HomeStores):
    """A kind of such stores. `command` resumes a session, `tried` is the newest version of the client that was tried
    ("" where files name none), and `compacts_at` the share of the window at which it compacts by itself (0 for
    unknown).
    """

    endings: ClassVar[tuple[str, ...]] = (".json", ".jsonl")
    command: ClassVar[str]
    tried: ClassVar[str] = ""
    compacts_at: ClassVar[float] = 0.0

    @abstractmethod
    def files(self, store: Store) -> Iterable[ParsedFile]:
        """The file of every session. Raises OSError."""

    def all_files(self, store: Store) -> Iterable[ParsedFile]:
        """The same, and further files that a session may have. Raises OSError."""
        return self.files(store)

    @abstractmethod
    def parse(self, file: ParsedFile) -> ParsedSession:
        """What a file says. Raises OSError."""

    def parsed(self, file: ParsedFile) -> ParsedSession:
        """What a file says, parsed once in its state. Raises StoreUnavailable."""
        with _lock:
            held = _sessions.get(file)
        if held is not None:
            return held[1]
        with readable(file.path):
            if file.state.size > LARGEST:
                raise OSError(TOO_LARGE.format(size=file.state.size // 1_000_000, limit=LARGEST // 1_000_000))
            session = self.parse(file)
        with _lock:
            _sessions[file] = min(file.state.size + 1, HELD // 2), session
        return session

    def facts(self, file: ParsedFile) -> ParsedFacts:
        """What lists ask; of a file that cannot be read, what its surroundings say."""
        with _lock:
            known = _facts.get(file)
        if known is None:
            try:
                session = self.parsed(file)
            except StoreUnavailable:  # its own page says why, and it may be readable the next time
                return ParsedFacts(self._listed(file, ParsedSession()), "", 0.0, "", is_empty=False)
            known = ParsedFacts(
                self._listed(file, session), session.first_words, session.newest, session.version, session.is_empty
            )
            with _lock:
                _facts[file] = known
        return known

    def _listed(self, file: ParsedFile, session: ParsedSession) -> Session:
        parent = file.parent or session.branched_from
        return Session(
            store="",
            id=file.id,
            row=file.number,
            source=self.name,
            model=session.model,
            title=session.title,
            base_title=session.title,
            parent=parent,
            started_at=session.began or file.state.changed / 1e9,
            cwd=session.cwd or file.cwd,
            branched_from="" if file.parent else session.branched_from,
            delegated=bool(file.parent),
            delegated_from=file.parent,
            forked=bool(parent),
            mark=RowsDigest(1 if file.state.size else 0, 0, file.state.changed, file.state.text),
            git_branch=session.branch,
            window=session.window,
        )

    # -- as a kind of store

    def states(self, store: Store) -> Iterable[ParsedFile]:
        return self.all_files(store)

    @contextmanager
    def open(self, store: Store, *, listed: bool) -> Iterator[Reader]:
        self.identity(store)
        yield ParsedReader(store, self)

    def agent(self, store: Store) -> Agent:
        return ParsedAgent(store, self.client, is_known=True, kind=self)


@dataclass(frozen=True, slots=True)
class ParsedAgent(Agent):
    """The client that owns the sessions."""

    kind: ParsedStores = field(kw_only=True)

    def threshold(self, model: str, window: int) -> int | None:
        return int(window * self.kind.compacts_at) or None

    def _of(self, session_id: str) -> ParsedFacts | None:
        with suppress(OSError):
            file = next((each for each in self.kind.files(self.store) if each.id == session_id), None)
            return None if file is None else self.kind.facts(file)
        return None

    def resume_command(self, session_id: str) -> str:
        """With the directory that it worked in; "" for a sub-agent's session, which cannot be resumed."""
        known = self._of(session_id)
        command = self.kind.command.format(shell_word(session_id))
        if known is None or known.session.delegated:
            return "" if known else command
        return f"cd {shell_word(known.session.cwd)} && {command}" if known.session.cwd else command

    def untried_version(self, session_id: str) -> str:
        known = self._of(session_id)
        return newer_than(self.kind.tried, known.version, self.name) if known is not None and self.kind.tried else ""


# -- the open store ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ParsedListing(FileListing[ParsedFile]):
    """`listing.Listing` of such a store."""

    store: Store
    kind: ParsedStores

    @cached_property
    def every(self) -> list[ParsedFile]:
        """The files of all sessions, also of those that say nothing yet."""
        with suppress(OSError):
            return list(self.kind.files(self.store))
        return []

    def files(self) -> Iterable[ParsedFile]:
        return (each for each in self.every if not self.kind.facts(each).is_empty)

    def listed(self, file: ParsedFile) -> Session:
        return replace(self.kind.facts(file).session, store=self.store.name)

    def words_of(self, file: ParsedFile) -> str:
        return self.kind.facts(file).first_words

    def time_of(self, file: ParsedFile) -> float:
        return self.kind.facts(file).newest


@dataclass(frozen=True)
class ParsedReader(FileReader):
    """An open store, which is a directory: each question parses the file that it is about."""

    store: Store
    kind: ParsedStores

    def refusal(self, session_id: str | None, action: Action = "compact") -> Refusal | None:
        if session_id is not None:
            self._file(session_id)
        return StoreReadOnly(READ_ONLY.format(client=self.kind.client))

    @cached_property
    def listing(self) -> ParsedListing:  # cached: it looks at every file
        return ParsedListing(self.store, self.kind)

    def _file(self, session_id: str) -> ParsedFile:
        file = next((each for each in self.listing.every if each.id == session_id), None)
        if file is None:
            raise NotFound(f"Store {self.store.name} has no session {session_id!r}.")
        return file

    def _messages(self, session_id: str) -> ParsedSession:
        return self.kind.parsed(self._file(session_id))

    # -- sessions

    def session(self, session_id: str) -> Session:
        return self.listing.session_of(self._file(session_id))

    def usage(self, session_id: str) -> ReportedUsage:
        return self._messages(session_id).usage

    def children(self, parts: Sequence[str]) -> list[ChildSession]:
        known = (self.kind.facts(each) for each in self.listing.every)
        begun = {each.session.id: (each.session, each.first_words) for each in known if each.session.parent in parts}
        return [
            ChildSession(each.id, each.title or words, "delegate" if each.delegated else "branch")
            for each, words in sorted(begun.values(), key=lambda pair: pair[0].started_at)
        ]

    # -- messages

    def messages(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        session = self._messages(session_id)
        started = {each.call: each.id for each in self.listing.every if each.call and each.parent == session_id}
        return {
            each: replace(
                row := session.messages[each].row,
                state=session.states[each],
                sub_agents=row.sub_agents or tuple(filter(None, [started.get(row.tool_call_id)])),
            )
            for each in ids
            if each in session.messages
        }

    def sent(self, session_id: str, ids: Sequence[int]) -> dict[int, StoredMessage]:
        rows = self.messages(session_id, ids)
        if self._messages(session_id).sends_thoughts:
            return rows
        return {each: replace(row, reasoning="") for each, row in rows.items()}

    def raw(self, session_id: str, *, before: int | None, limit: int) -> list[StoredMessage]:
        session = self._messages(session_id)
        rows = [replace(each, state=session.states.get(each.id, "out")) for each in session.rows]
        return [each for each in rows if before is None or each.id < before][-limit:]

    def _reported(self, session_id: str, handoffs: Sequence[int]) -> Mapping[int, ReportedCompaction | None]:
        return {each.handoff: each.reported for each in self._messages(session_id).compactions}

    def additions(self, session_id: str, ids: Sequence[int], *, end: bool) -> list[Addition]:
        session = self._messages(session_id)
        first = next(iter(session.live), None)
        is_asked = first in ids or (first is None and end)
        return [Addition(first, "context", session.added, is_sent=True)] if session.added and is_asked else []

    def abandoned(self, session_id: str) -> list[AbandonedBranch]:
        return self._messages(session_id).abandoned

    def searchable(self, session_id: str, after: str) -> SearchableText | None:
        session = self._messages(session_id)
        last, version = json.loads(after) if after else (0, "")
        if after and session.text_version(last) != version:
            return None
        return conversation.searchable(
            session,
            last,
            cursor=after,
            message_of=lambda each: session.messages[each].row,
            cursor_at=lambda each: json.dumps([each, session.text_version(each)]),
        )

    # -- History

    def context_before(self, session_id: str, compaction: Json | Boundary) -> list[int]:
        if not isinstance(compaction, Boundary):  # no commit of this site is in such a store
            raise NotBranchable(READ_ONLY.format(client=self.kind.client))
        return list(compaction.before_ids)

    def change_token(self, session_id: str) -> ChangeToken:
        session, file = self._messages(session_id), self._file(session_id)
        return ChangeToken(((session_id, f"{file.path} {file.state.text}"),), session.ids[-1] if session.ids else 0)

    def extended(
        self, session_id: str, index: TranscriptIndex, before: ChangeToken, now: ChangeToken
    ) -> TranscriptIndex | None:
        return None  # a client may complete a message that it wrote earlier, and so few are read anew quickly
