"""What the History of a session consists of: messages, each once, and boundaries (`history` says how
they are found).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Boundary:
    """One compaction in effect: its block and what it did. Ids in `block_ids` and `before_ids` are rows, the others
    messages.

    `time` (epoch seconds) is None for a merged handoff, whose row has the time of the message it was merged into.
    `cut_id` is the message directly before which the boundary is shown, None when the tail kept nothing. `run` is the
    number of the known block, None for one that was found. `unsure` says that an earlier block is at (0,0) and no row
    says whether it was undone, as is assumed, or taken back with the messages that it kept.
    """

    handoff_id: int
    time: float | None
    block_ids: tuple[int, ...]
    before_ids: tuple[int, ...]
    cut_id: int | None
    copies: tuple[tuple[int, int], ...]  # (copy row, row it was copied from) within the generation before
    summarised_ids: tuple[int, ...]
    kept_ids: tuple[int, ...]
    shortened_ids: tuple[int, ...]
    run: int | None = None
    unsure: bool = False

    @property
    def inherited(self) -> bool:
        """Whether the session began with this handoff, as a branch may: it has no message that the handoff replaces."""
        return not self.before_ids

    @property
    def messages_before(self) -> int:
        return len(self.before_ids)

    @property
    def messages_after(self) -> int:
        return len(self.block_ids)

    @property
    def summarised(self) -> int:
        return len(self.summarised_ids)

    @property
    def kept(self) -> int:
        return len(self.kept_ids)

    @property
    def shortened(self) -> int:
        return len(self.shortened_ids)


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One message of History: `id` is its first row, `rows` all rows that carry it, oldest first. A row that several
    messages were merged into is among the rows of each.

    `full_id` is the row with the fullest text, `newest_id` the newest row, whose state is the message's: "lost" where
    nothing links to it any more, so that no model is sent it and no compaction summarised it. `shortened` says that the
    model now sees less than `full_id` holds, `twice` that it was written twice and the model is sent it twice.
    """

    id: int
    rows: tuple[int, ...]
    full_id: int
    newest_id: int
    state: Literal["live", "under", "lost"]
    shortened: bool
    twice: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """The History of a session, each message once: `items` as displayed, a boundary before the first message it kept.

    `settled` says that an appended live row, later than all others and without a handoff, is certainly a new message:
    there is no unfinished compaction of which it might be a copy.
    """

    items: tuple[HistoryEntry | Boundary, ...]
    boundaries: tuple[Boundary, ...]
    message_of: dict[int, int]  # every shown row id -> message id
    settled: bool = False

    @property
    def entries(self) -> tuple[HistoryEntry, ...]:
        return tuple(item for item in self.items if isinstance(item, HistoryEntry))

    @property
    def compactions(self) -> tuple[Boundary, ...]:
        """The boundaries of what was compacted in this session."""
        return tuple(boundary for boundary in self.boundaries if not boundary.inherited)
