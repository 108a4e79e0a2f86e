"""Compactions of sessions in files of lines: one is appended, taken back, and applied again; and branches, in files of
their own. What is new is read back, and made inert, or removed, where it is not what was meant.
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
    it, `is_strict` says whether OpenClaw's rules hold for it.
    """

    find: Callable[[], SessionPlace]
    require_idle: Callable[[], object]
    is_strict: bool

    def now(self) -> tuple[SessionPlace, EntryMessages]:
        """Its place and messages as they are now. Raises NotFound, StoreUnavailable."""
        place = self.find()
        return place, sources.messages_of(place, None, is_strict=self.is_strict)


def commit(session: TreeFile, opened: Appending, token: Json, edits: Sequence[Edit], *, now: float) -> Commit:
    """Append the line of a compaction. Raises CompactionConflict: nothing counts then of what was written."""
    seen = opened.state
    place, found = session.now()
    if place.path != opened.path or place.state != seen:
        raise CompactionConflict(WRITTEN_TO)
    if session.is_strict and found.tree.leaf != found.tree.known_before(found.tree.append_parent):
        raise SessionBusy(refusals.ANOTHER_LEAF)
    with sources.opened(place, None) as source:
        made = _compaction(session, source, found, place, token, edits, now)
    lines = [new_entries.encoded(each) + b"\n" for each in made.values]
    session.require_idle()
    start = opened.append(b"".join(lines), seen)
    with opened.taken_back({start: b"".join(lines)}, undoing.inert(undoing.types_of(lines, start))):
        place, read = session.now()
        with sources.opened(place, None) as source:
            return commits.read_back(source, read, made)


def _compaction(
    session: TreeFile,
    source: EntrySource,
    found: EntryMessages,
    place: SessionPlace,
    token: Json,
    edits: Sequence[Edit],
    now: float,
) -> NewCompaction:
    ids = _new_ids(found)
    if not session.is_strict and shortening.is_asked_for(edits):
        return commits.shortening_of(source, found, token, edits, ids=ids, now=now)
    tokens = place.noted.tokens
    return commits.compaction_of(source, found, token, edits, entry_id=next(ids), noted=tokens, now=now)


def _new_ids(found: EntryMessages) -> Iterator[str]:
    """Ids that no entry of the session has, each once, as the clients make them."""
    used = set(found.tree.nodes)
    while True:
        made = secrets.token_hex(4)
        if made not in used:
            used.add(made)
            yield made


def undo(session: TreeFile, opened: Appending, what: InertEntry) -> Json:
    """Make a compaction inert and read that back; the receipt. Raises CompactionConflict: nothing was written then, or
    it was put back.
    """
    place, found = session.now()
    session.require_idle()
    receipt = undoing.overwrite(found, place, opened, what)
    with opened.taken_back(what.inert, what.active):
        opened.read_back(lambda: session.now()[1].live, what.live)
    return receipt


def redo(session: TreeFile, opened: Appending, receipt: Json) -> None:
    """Make a compaction that `undo` made inert count again. Raises NotRedoable, CompactionConflict."""
    place, found = session.now()
    what = redoing.planned(place, found, receipt)
    session.require_idle()
    redoing.overwrite(opened, what)
    _, read = session.now()
    if not read.compactions or read.compactions[-1].entry.id != what.entry:
        redoing.take_off(opened, what)
        raise NotRedoable(redoing.NOT_AS_MEANT)


def branch(session: TreeFile, ids: Sequence[int], made: TreeFile, path: Path, own: Json) -> None:
    """Write a session with these messages in context into a new file, `made` once it is there; `own` is what its header
    says of itself. Raises NotBranchable, StoreReadOnly, StoreUnavailable; nothing is left then.
    """
    place, found = session.now()
    meant = branching.branch_of(found, ids)
    with plainly(place.path) as file:
        create(path, _lines(LineSource(file), found, meant, own))
    try:
        _, read = made.now()
        if not meant.is_read_as_meant(read):
            raise NotBranchable(branching.NOT_AS_MEANT)
    except BaseException:
        path.unlink()
        raise


def tokens_before(session: TreeFile, entry_id: str) -> int:
    """What a compaction notes of the tokens before it, 0 for nothing."""
    place, found = session.now()
    with sources.opened(place, None) as source:
        entry = found.tree.nodes.get(entry_id)
        return new_entries.tokens_before(source.value(entry) if entry is not None else None)


def _lines(source: LineSource, found: EntryMessages, meant: Branch, own: Json) -> Iterator[bytes]:
    header = source.value(found.entries[0]) or {}
    yield new_entries.encoded({**header, **own}) + b"\n"
    for each in meant.copied:
        entry = each.entry
        line = line_at(source.file, entry.offset, entry.length) if each.is_same else b""
        yield (line or new_entries.encoded(each.value(source))).rstrip(b"\r\n") + b"\n"
