"""What a compaction asks of a session that is a tree of entries, in a file or a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from viewer.stores.changes import Commit, Edit, Json, LiveContext, UndoPlan
from viewer.stores.errors import CompactionConflict, NotBranchable, NotRedoable
from viewer.stores.jsonl.files import readable
from viewer.stores.recorded import Recorded
from viewer.stores.transcript import IndexedBoundary

from . import commits, redoing, refusals, undoing
from .planned import mark_of, planned_ids, token_of
from .reader import TreeReader


@dataclass(frozen=True)
class CompactingReader(TreeReader):
    """An open store whose sessions are compacted in place."""

    tail_only: ClassVar[bool] = True

    def _following(self, session_id: str) -> str:
        """The session in which a conversation continues: a rewind copies one, with the entries of its compactions."""
        return self._location(session_id).newest or session_id

    def _require_newest(self, session_id: str) -> None:
        if self._following(session_id) != session_id:
            raise CompactionConflict(refusals.GOES_ON_ELSEWHERE)

    def basis(self, session_id: str, planned: Json | None = None) -> LiveContext:
        self._require_newest(session_id)
        messages = self._messages(session_id)
        with self._source(session_id) as source:
            token = token_of(source, messages) if planned is None else planned
            ids = messages.live if planned is None else planned_ids(source, messages, planned)
        sent = self.sent(session_id, ids)
        rows = [sent[each] for each in ids if each in sent]
        return LiveContext(rows, {row.id: row.size for row in rows}, token)

    def check_basis(self, session_id: str, token: Json) -> None:
        self._require_newest(session_id)
        with self._source(session_id) as source:
            planned_ids(source, self._messages(session_id), token)

    def find_commit(
        self, session_id: str, token: Json, edits: Sequence[Edit], recorded: Recorded, mode: str = "in_place"
    ) -> Commit | None:
        with self._source(session_id) as source:
            compaction = commits.newest_of(source, self._messages(session_id), mark_of(token, edits))
        return None if compaction is None else commits.commit_of(compaction, compaction.entry.time or None)

    def wrote(self, session_id: str, receipt: Json) -> bool:
        return commits.entry_of(self._messages(self._following(session_id)), receipt) is not None

    def was_left(self, session_id: str, receipt: Json) -> bool:
        messages = self._messages(self._following(session_id))
        return commits.entry_of(messages, receipt) is not None and not commits.is_in_effect(messages, receipt)

    def undo_plan(self, session_id: str, compaction: Json | IndexedBoundary) -> UndoPlan:
        now = self._following(session_id)
        location, messages = self._location(now), self._messages(now)
        with readable(location.path):
            return undoing.plan(location, messages, compaction)

    def redo_refusal(self, session_id: str, receipt: Json) -> str:
        now = self._following(session_id)
        try:
            redoing.planned(self._location(now), self._messages(now), receipt)
        except NotRedoable as refused:
            return refused.message
        return ""

    def context_before(self, session_id: str, compaction: Json | IndexedBoundary) -> list[int]:
        compacted = undoing.taken(self._messages(self._following(session_id)), compaction)
        if compacted is None:
            raise NotBranchable(undoing.GONE)
        return list(compacted.before)

    def find_undo(self, session_id: str, receipt: Json) -> Json | None:
        is_undone = commits.entry_of(self._messages(self._following(session_id)), receipt) is None
        return {"entry": receipt["entry"]} if is_undone else None
