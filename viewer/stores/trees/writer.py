"""Writing to sessions that are trees of entries, while no client works on them; what is written to a file of lines.

Compactions are appended to a file, taken back, and applied again; a branch is a new file. Everything written is read
back, and made inert or removed where it does not read as intended.
"""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from viewer.stores.changes import Commit, Edit, Json
from viewer.stores.errors import CompactionConflict, NotBranchable, NotRedoable, SessionBusy, StoreReadOnly
from viewer.stores.jsonl.append import WRITTEN_TO, Appending, create
from viewer.stores.jsonl.files import line_at, plainly
from viewer.stores.lock_owners import Holder
from viewer.stores.writer import Writer

from . import branch, commit, encode, presence, shortening, sources, undo
from .branch import Branch
from .codec import EntrySource
from .commit import NewCompaction
from .messages import EntryMessages
from .paths import SessionLocation
from .sources import LineSource
from .undo import InertEntry


@dataclass(frozen=True, slots=True)
class TreeWriter(Writer):
    """The writes of a store of trees. Neither client can be locked out of a session, so holding one is a check
    whether one works on it.
    """

    no_rename: ClassVar[str]  # why no name can be given, as a sentence
    is_strict: ClassVar[bool]  # whether OpenClaw's rules apply, and not pi's

    @abstractmethod
    def location_of(self, session_id: str) -> SessionLocation:
        """The current location of a session. Raises NotFound."""

    @abstractmethod
    def _holder_at(self, location: SessionLocation) -> Holder | None:
        """The client that works on a session, None for none. Raises StoreUnavailable."""

    @abstractmethod
    def _reason_at(self, location: SessionLocation) -> str:
        """Why a session can never be written to, "" where it can. Raises StoreUnavailable."""

    def require_idle(self, session_id: str) -> SessionLocation:
        """The location of a session that no client works on. Raises SessionBusy, NotFound."""
        location = self.location_of(session_id)
        if (client := self._holder_at(location)) is not None:
            raise SessionBusy(client.says)
        return location

    def _writable(self, session_id: str) -> SessionLocation:
        """The same of one that may be written to. Raises StoreReadOnly, too."""
        location = self.require_idle(session_id)
        if reason := self._reason_at(location):
            raise StoreReadOnly(reason)
        return location

    def _file(self, session_id: str) -> TreeFile:
        return TreeFile(self, session_id)

    @contextmanager
    def hold(self, session_id: str, holder: str) -> Iterator[None]:
        self.require_idle(session_id)
        yield

    def rename(self, session_id: str, title: str) -> None:
        self.location_of(session_id)
        raise StoreReadOnly(self.no_rename)


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A session in a file of lines, which is written. Where it is, and whether a client works on it, is asked anew each
    time.
    """

    writer: TreeWriter
    session_id: str

    def now(self) -> tuple[SessionLocation, EntryMessages]:
        """Its current location and messages. Raises NotFound, StoreUnavailable."""
        location = self.writer.location_of(self.session_id)
        return location, sources.messages_of(location, is_strict=self.writer.is_strict)

    def commit(self, opened: Appending, token: Json, edits: Sequence[Edit], *, now: float) -> Commit:
        """Append the line of a compaction. Raises CompactionConflict: then nothing that was written counts."""
        state = opened.state
        location, messages = self.now()
        if location.path != opened.path or location.state != state:
            raise CompactionConflict(WRITTEN_TO)
        if self.writer.is_strict and messages.tree.leaf != messages.tree.known_before(messages.tree.append_parent):
            raise SessionBusy(presence.ANOTHER_LEAF)
        with sources.opened(location) as source:
            new_compaction = self._compaction(source, messages, location, token, edits, now)
        lines = [encode.encoded(each) + b"\n" for each in new_compaction.values]
        self.writer.require_idle(self.session_id)
        start = opened.append(b"".join(lines), state)
        with opened.taken_back({start: b"".join(lines)}, undo.inert(undo.types_of(lines, start))):
            location, read = self.now()
            with sources.opened(location) as source:
                return commit.read_back(source, read, new_compaction)

    def _compaction(
        self,
        source: EntrySource,
        messages: EntryMessages,
        location: SessionLocation,
        token: Json,
        edits: Sequence[Edit],
        now: float,
    ) -> NewCompaction:
        ids = _new_ids(messages)
        if not self.writer.is_strict and shortening.is_asked_for(edits):
            return commit.shortening_of(source, messages, token, edits, ids=ids, now=now)
        tokens = location.fields.tokens
        return commit.compaction_of(source, messages, token, edits, entry_id=next(ids), recorded_tokens=tokens, now=now)

    def undo(self, opened: Appending, what: InertEntry) -> Json:
        """Make a compaction inert and read that back; returns the receipt. Raises CompactionConflict: then nothing was
        written, or it was put back.
        """
        location, messages = self.now()
        self.writer.require_idle(self.session_id)
        receipt = undo.overwrite(messages, location, opened, what)
        with opened.taken_back(what.inert, what.active):
            opened.read_back(lambda: self.now()[1].live, what.live)
        return receipt

    def redo(self, opened: Appending, receipt: Json) -> None:
        """Make a compaction that `undo` made inert count again. Raises NotRedoable, CompactionConflict."""
        location, messages = self.now()
        what = undo.redo_planned(location, messages, receipt)
        self.writer.require_idle(self.session_id)
        undo.overwrite_again(opened, what)
        _, read = self.now()
        if not read.compactions or read.compactions[-1].entry.id != what.entry:
            undo.take_off(opened, what)
            raise NotRedoable(undo.NOT_REDONE)

    def branch(self, ids: Sequence[int], branch_file: TreeFile, path: Path, own: Json) -> None:
        """Write a session with these messages in context into a new file, which is `branch_file` from then on; `own`
        are the fields of its header that are new. Raises NotBranchable, StoreReadOnly, StoreUnavailable; then no file
        is left.
        """
        location, messages = self.now()
        planned_branch = branch.branch_of(messages, ids)
        with plainly(location.path) as file:
            create(path, _lines(LineSource(file), messages, planned_branch, own))
        try:
            _, read = branch_file.now()
            if not planned_branch.is_read_as_meant(read):
                raise NotBranchable(branch.NOT_AS_MEANT)
        except BaseException:
            path.unlink()
            raise

    def tokens_before(self, entry_id: str) -> int:
        """The tokens before it that a compaction recorded, 0 for none."""
        location, messages = self.now()
        with sources.opened(location) as source:
            entry = messages.tree.nodes.get(entry_id)
            return encode.tokens_before(source.value(entry) if entry is not None else None)


def _new_ids(messages: EntryMessages) -> Iterator[str]:
    """Ids that no entry of the session has, each once, in the clients' form."""
    used = set(messages.tree.nodes)
    while True:
        entry_id = secrets.token_hex(4)
        if entry_id not in used:
            used.add(entry_id)
            yield entry_id


def _lines(source: LineSource, messages: EntryMessages, planned_branch: Branch, own: Json) -> Iterator[bytes]:
    header = source.value(messages.entries[0]) or {}
    yield encode.encoded({**header, **own}) + b"\n"
    for each in planned_branch.copied:
        entry = each.entry
        line = line_at(source.file, entry.offset, entry.length) if each.is_same else b""
        yield (line or encode.encoded(each.value(source))).rstrip(b"\r\n") + b"\n"
