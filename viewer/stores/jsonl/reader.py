"""What readers of stores that are directories of such files have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from viewer.stores.base import Capabilities
from viewer.stores.history_types import HistoryEntry
from viewer.stores.reader import Reader
from viewer.stores.transcript import Item

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

    def capabilities(self) -> Capabilities:
        files = self.listing.all()
        return Capabilities(
            schema=None,
            sessions=len(files),
            size=sum(each.state.size for each in files),
            compact_reason=self.compact_reason(),
            search=False,
            summary_flag=True,
            turn_leases=True,
        )


def row_id_of(item: Item) -> int:
    """The row that an item of History is shown by."""
    return item.full_id if isinstance(item, HistoryEntry) else item.handoff_id
