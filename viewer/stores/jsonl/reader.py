"""What readers of stores that are directories of such files have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from viewer.stores import conversation
from viewer.stores.base import Capabilities, ChangeToken
from viewer.stores.conversation import Conversation
from viewer.stores.message import (
    Handoff,
    HistoryMessage,
    ReportedCompaction,
    StoredMessage,
    live_content,
    parted,
)
from viewer.stores.reader import Reader
from viewer.stores.recorded import Recorded
from viewer.stores.transcript import HistoryEntry, Item, TranscriptIndex

from .listing import FileListing


class FileReader(Reader):
    """An open store, which is a directory: each question opens the files that it needs."""

    __slots__ = ()
    offers_text: ClassVar[bool] = True
    rows_are_messages: ClassVar[bool] = False

    @property
    @abstractmethod
    def listing(self) -> FileListing[Any]:
        """What lists of sessions ask: it looks at every file."""

    @abstractmethod
    def _messages(self, session_id: str) -> Conversation:
        """All messages of a session. Raises NotFound, StoreUnavailable."""

    def capabilities(self) -> Capabilities:
        files = self.listing.all()
        return Capabilities(
            schema=None,
            sessions=len(files),
            size=sum(each.state.size for each in files),
            search=False,
            summary_flag=True,
            turn_leases=True,
        )

    # -- messages

    def live(self, session_id: str) -> list[StoredMessage]:
        live = self._messages(session_id).live
        rows = self.sent(session_id, live)
        return [rows[each] for each in live if each in rows]

    def shown(self, session_id: str, items: Iterable[Item]) -> list[HistoryMessage | Handoff]:
        listed = list(items)
        rows = self.messages(session_id, [_row_id(item) for item in listed])
        handoffs = [item.handoff_id for item in listed if not isinstance(item, HistoryEntry)]
        reported = self._reported(session_id, handoffs) if handoffs else {}
        shown: list[HistoryMessage | Handoff] = []
        for item in listed:
            row = rows.get(_row_id(item))
            if row is None:
                continue
            if isinstance(item, HistoryEntry):
                shown.append(HistoryMessage(item, row, live_content(row)))
            else:
                parts = parted(replace(row, flagged=True))
                shown.append(Handoff(item, row, parts.summary, parts.directive, reported.get(item.handoff_id)))
        return shown

    def _reported(self, session_id: str, handoffs: Sequence[int]) -> Mapping[int, ReportedCompaction | None]:
        """What the agent recorded about the compactions with these summaries."""
        return {}

    def next_message(self, session_id: str, after: int) -> StoredMessage | None:
        messages = self._messages(session_id)
        following = next((each for each in messages.ids if each > after and not messages.units[each].is_summary), None)
        return None if following is None else self.messages(session_id, [following]).get(following)

    # -- History

    def index(self, session_id: str, recorded: Recorded, token: ChangeToken) -> TranscriptIndex:
        return conversation.index_of(self._messages(session_id), recorded)

    def extended(
        self, session_id: str, index: TranscriptIndex, before: ChangeToken, now: ChangeToken
    ) -> TranscriptIndex | None:
        return conversation.extended_index(self._messages(session_id), index)


def _row_id(item: Item) -> int:
    """The row that an item of History is shown by."""
    return item.full_id if isinstance(item, HistoryEntry) else item.handoff_id
