"""The exact details of what a compaction took out of the context, and which of them stand in nothing it left there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import compaction
from compaction import Survival
from compaction.loss.records import Anchor
from compaction.loss.report import survival_of
from viewer.stores.message import StoredMessage, message_of
from viewer.stores.registry import Reader
from viewer.stores.transcript import IndexedBoundary, TranscriptIndex

from .models import Run
from .plain import plain

LISTED = 5_000  # lost details of each list that a page may go through


class LossCounts(NamedTuple):
    """How many details are lost of how many, and how many statements."""

    details: tuple[int, int]
    statements: tuple[int, int]


def report_data(found: Survival, name: Callable[[int], int | None], most: int | None = None) -> dict[str, Any]:
    """Survival as the report of a run has it; `name` is the id of the message at an index.

    {"anchors": {kind: [still there, all]}, "lost": [{kind, text, message, line, by}], "statements": [still there, all],
    "lost_statements": [{..., category}], "printed": {kind: [...]}, "lost_printed": [...]}: the most telling first, of
    each list at most `most`.
    """

    def named(lost: Iterable[Anchor]) -> list[dict[str, Any]]:
        return [
            {
                "kind": each.kind,
                "text": plain(each.text),
                "message": name(each.message),
                "line": plain(each.line) if each.line != each.text else "",
                "by": each.source,
                **({"category": each.category} if each.category else {}),
            }
            for each in islice(lost, most)
        ]

    return {
        "anchors": {kind: list(counts) for kind, counts in found.by_kind.items()},
        "lost": named(found.lost),
        "statements": list(found.statements),
        "lost_statements": named(found.lost_statements),
        "printed": {kind: list(counts) for kind, counts in found.printed.items()},
        "lost_printed": named(found.lost_printed),
    }


def losses(reader: Reader, session_id: str, index: TranscriptIndex, boundary: IndexedBoundary) -> dict[str, Any]:
    """Which details of what a compaction took out of the context are still there, as `noted`.

    Of our own compactions it was noted when the summary was made; of the agent's it is looked for in the rows, which
    takes the longer the more was summarised. So is what our own older versions noted: they recognised less.
    """
    if boundary.run is not None:
        known: dict[str, Any] | None = Run.objects.filter(pk=boundary.run).values_list("report", flat=True).first()
        if known and "statements" in known and _names_all(known):
            return known
    rows = reader.messages(session_id, [*boundary.before_ids, *boundary.block_ids])
    before = [rows[row_id] for row_id in boundary.before_ids if row_id in rows]
    gone = set(_gone(index, boundary))
    which = {at for at, row in enumerate(before) if row.id in gone}
    left = [message_of(rows[row_id]) for row_id in boundary.block_ids if row_id in rows]
    earlier = [(at, text) for at in sorted(which) for text in _summaries(before[at])]
    survival = survival_of([message_of(row) for row in before], which, left, earlier)
    return report_data(survival, lambda at: index.message_of(before[at].id), LISTED)


def counted(run: int | None) -> LossCounts | None:
    """What of details and statements is lost by one of our own compactions; None for the agent's."""
    if run is None:
        return None
    report = Run.objects.filter(pk=run).values_list("report", flat=True).first()
    if not report or "statements" not in report:
        return None
    return counted_in(report)


def counted_in(noted: Mapping[str, Any]) -> LossCounts:
    """What of details and statements is lost, of what was `noted`."""
    kept, statements = noted["statements"]
    return LossCounts(lost_of(noted["anchors"]), (statements - kept, statements))


def _names_all(report: Mapping[str, Any]) -> bool:
    """Whether a run noted every lost detail and statement, not only the first of them."""
    kept, statements = report["statements"]
    return len(report["lost"]) >= lost_of(report["anchors"])[0] and len(report["lost_statements"]) >= statements - kept


def lost_of(counts: Mapping[str, Sequence[int]]) -> tuple[int, int]:
    """How many are lost of how many, from (still there, all) by kind."""
    return sum(total - still for still, total in counts.values()), sum(total for _, total in counts.values())


def _gone(index: TranscriptIndex, boundary: IndexedBoundary) -> list[int]:
    """The rows in context before that it does not carry on word for word."""
    shortened = set(boundary.shortened_ids)
    carried = {source for _, source in boundary.copies if index.message_of(source) not in shortened}
    return [row_id for row_id in boundary.before_ids if row_id not in carried]


def _summaries(row: StoredMessage) -> Iterator[str]:
    """The texts of earlier summaries in a row, which are no messages."""
    return (part.text for part in compaction.split(row.content, flagged=row.flagged) if part.kind == "summary")
