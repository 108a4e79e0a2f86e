"""The exact details of what a compaction took out of the context, and which of them stand in nothing it left there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import compaction
from compaction.anchors import Anchor, anchors_in, anchors_of, survival, visible_text
from viewer.store import reading
from viewer.store.codec import StoredMessage, message_of
from viewer.store.outline import Cut, Outline
from viewer.store.stores import Reader

from .models import Run


def losses(reader: Reader, outline: Outline, cut: Cut) -> dict[str, Any]:
    """{"anchors": {kind: [still there, all]}, "lost": [{kind, text, message}]}, as the report of a run has them.

    Of our own compactions they were noted when the summary was made; of the agent's they are looked for in the rows,
    which takes the longer the more was summarised.
    """
    if cut.run is not None:
        noted: dict[str, Any] | None = Run.objects.filter(pk=cut.run).values_list("report", flat=True).first()
        if noted:
            return noted
    rows = reading.read_rows(reader, [*cut.before_ids, *cut.block_ids])
    gone = [rows[row_id] for row_id in _gone(outline, cut) if row_id in rows]
    left = visible_text([message_of(rows[row_id]) for row_id in cut.block_ids if row_id in rows])
    found = survival(_details(gone), left)
    return {
        "anchors": {kind: list(counts) for kind, counts in found.by_kind.items()},
        "lost": [
            {"kind": each.kind, "text": each.text, "message": outline.message_of(gone[each.message].id)}
            for each in found.lost
        ],
    }


def counted(cut: Cut) -> tuple[int, int] | None:
    """How many details of how many are not found after one of our own compactions; None for the agent's."""
    if cut.run is None:
        return None
    anchors = Run.objects.filter(pk=cut.run).values_list("report__anchors", flat=True).first()
    if not anchors:
        return None
    return sum(total - still for still, total in anchors.values()), sum(total for _, total in anchors.values())


def _gone(outline: Outline, cut: Cut) -> list[int]:
    """The rows in context before that it does not carry on word for word."""
    shortened = set(cut.shortened_ids)
    carried = {source for _, source in cut.copies if outline.message_of(source) not in shortened}
    return [row_id for row_id in cut.before_ids if row_id not in carried]


def _details(gone: Sequence[StoredMessage]) -> dict[Anchor, None]:
    """Those of earlier summaries, which are no messages, come first."""
    found: dict[Anchor, None] = {}
    for at, row in enumerate(gone):
        for part in compaction.split(row.content, flagged=row.flagged):
            if part.kind == "summary":
                found |= dict.fromkeys(anchors_of(part.text, at))
    return found | anchors_in([message_of(row) for row in gone])
