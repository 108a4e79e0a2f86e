"""Compactions of sessions in files of lines: appended, taken back, and applied again; and branches, in new files.
Everything written is read back, and made inert or removed where it does not read as intended.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from viewer.stores.changes import Commit, Edit, Json
from viewer.stores.errors import CompactionConflict, NotBranchable, NotRedoable, SessionBusy
from viewer.stores.jsonl.append import WRITTEN_TO, Appending, create
from viewer.stores.jsonl.files import line_at, plainly

from . import branching, commits, new_entries, redoing, refusals, shortening, sources, undoing
from .branching import Branch
from .codec import EntrySource
from .commits import NewCompaction
from .messages import EntryMessages
from .places import SessionPlace
from .sources import LineSource
from .undoing import InertEntry


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A session that is written: `find` says where it is now, `require_idle` raises SessionBusy where a client works on
    it, `is_strict` says whether OpenClaw's rules apply to it.
    """

    find: Callable[[], SessionPlace]
    require_idle: Callable[[], object]
    is_strict: bool

    def now(self) -> tuple[SessionPlace, EntryMessages]:
        """Its current location and messages. Raises NotFound, StoreUnavailable."""
        location = self.find()
        return location, sources.messages_of(location, None, is_strict=self.is_strict)


def commit(session: TreeFile, opened: Appending, token: Json, edits: Sequence[Edit], *, now: float) -> Commit:
    """Append the line of a compaction. Raises CompactionConflict: then nothing that was written counts."""
    state = opened.state
    location, messages = session.now()
    if location.path != opened.path or location.state != state:
        raise CompactionConflict(WRITTEN_TO)
    if session.is_strict and messages.tree.leaf != messages.tree.known_before(messages.tree.append_parent):
        raise SessionBusy(refusals.ANOTHER_LEAF)
    with sources.opened(location, None) as source:
        new_compaction = _compaction(session, source, messages, location, token, edits, now)
    lines = [new_entries.encoded(each) + b"\n" for each in new_compaction.values]
    session.require_idle()
    start = opened.append(b"".join(lines), state)
    with opened.taken_back({start: b"".join(lines)}, undoing.inert(undoing.types_of(lines, start))):
        location, read = session.now()
        with sources.opened(location, None) as source:
            return commits.read_back(source, read, new_compaction)


def _compaction(
    session: TreeFile,
    source: EntrySource,
    messages: EntryMessages,
    location: SessionPlace,
    token: Json,
    edits: Sequence[Edit],
    now: float,
) -> NewCompaction:
    ids = _new_ids(messages)
    if not session.is_strict and shortening.is_asked_for(edits):
        return commits.shortening_of(source, messages, token, edits, ids=ids, now=now)
    tokens = location.noted.tokens
    return commits.compaction_of(source, messages, token, edits, entry_id=next(ids), recorded_tokens=tokens, now=now)


def _new_ids(messages: EntryMessages) -> Iterator[str]:
    """Ids that no entry of the session has, each once, in the clients' form."""
    used = set(messages.tree.nodes)
    while True:
        entry_id = secrets.token_hex(4)
        if entry_id not in used:
            used.add(entry_id)
            yield entry_id


def undo(session: TreeFile, opened: Appending, what: InertEntry) -> Json:
    """Make a compaction inert and read that back; returns the receipt. Raises CompactionConflict: then nothing was
    written, or it was put back.
    """
    location, messages = session.now()
    session.require_idle()
    receipt = undoing.overwrite(messages, location, opened, what)
    with opened.taken_back(what.inert, what.active):
        opened.read_back(lambda: session.now()[1].live, what.live)
    return receipt


def redo(session: TreeFile, opened: Appending, receipt: Json) -> None:
    """Make a compaction that `undo` made inert count again. Raises NotRedoable, CompactionConflict."""
    location, messages = session.now()
    what = redoing.planned(location, messages, receipt)
    session.require_idle()
    redoing.overwrite(opened, what)
    _, read = session.now()
    if not read.compactions or read.compactions[-1].entry.id != what.entry:
        redoing.take_off(opened, what)
        raise NotRedoable(redoing.NOT_AS_MEANT)


def branch(session: TreeFile, ids: Sequence[int], branch_file: TreeFile, path: Path, own: Json) -> None:
    """Write a session with these messages in context into a new file, which is `branch_file` from then on; `own` are
    the fields of its header that are new. Raises NotBranchable, StoreReadOnly, StoreUnavailable; then no file is left.
    """
    location, messages = session.now()
    planned_branch = branching.branch_of(messages, ids)
    with plainly(location.path) as file:
        create(path, _lines(LineSource(file), messages, planned_branch, own))
    try:
        _, read = branch_file.now()
        if not planned_branch.is_read_as_meant(read):
            raise NotBranchable(branching.NOT_AS_MEANT)
    except BaseException:
        path.unlink()
        raise


def tokens_before(session: TreeFile, entry_id: str) -> int:
    """The tokens before it that a compaction recorded, 0 for none."""
    location, messages = session.now()
    with sources.opened(location, None) as source:
        entry = messages.tree.nodes.get(entry_id)
        return new_entries.tokens_before(source.value(entry) if entry is not None else None)


def _lines(source: LineSource, messages: EntryMessages, planned_branch: Branch, own: Json) -> Iterator[bytes]:
    header = source.value(messages.entries[0]) or {}
    yield new_entries.encoded({**header, **own}) + b"\n"
    for each in planned_branch.copied:
        entry = each.entry
        line = line_at(source.file, entry.offset, entry.length) if each.is_same else b""
        yield (line or new_entries.encoded(each.value(source))).rstrip(b"\r\n") + b"\n"
