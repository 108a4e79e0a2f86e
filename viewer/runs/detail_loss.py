"""The exact details that a compaction removed from the context, and which of them are lost."""

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
    """(lost, all) of details, and of statements."""

    details: tuple[int, int]
    statements: tuple[int, int]


def report_data(survival: Survival, name: Callable[[int], int | None], most: int | None = None) -> dict[str, Any]:
    """Survival in the form of a run's report; `name` gives the id of the message at an index.

    {"anchors": {kind: [still there, all]}, "lost": [{kind, text, message, line, by}], "statements": [still there, all],
    "lost_statements": [{..., category}], "printed": {kind: [...]}, "lost_printed": [...]}: each list has its most
    informative entries first, at most `most` of them.
    """

    def details_of(lost: Iterable[Anchor]) -> list[dict[str, Any]]:
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
        "anchors": {kind: list(counts) for kind, counts in survival.by_kind.items()},
        "lost": details_of(survival.lost),
        "statements": list(survival.statements),
        "lost_statements": details_of(survival.lost_statements),
        "printed": {kind: list(counts) for kind, counts in survival.printed.items()},
        "lost_printed": details_of(survival.lost_printed),
    }


def losses(reader: Reader, session_id: str, index: TranscriptIndex, boundary: IndexedBoundary) -> dict[str, Any]:
    """Which details that a compaction removed from the context are still there, in the form of `report_data`.

    For our own compactions the run's report has it. For the agent's, the rows are compared, which takes longer the more
    was summarised; so it is for reports of our older versions, which recognised fewer details.
    """
    if boundary.run is not None:
        report: dict[str, Any] | None = Run.objects.filter(pk=boundary.run).values_list("report", flat=True).first()
        if report and "statements" in report and _names_all(report):
            return report
    rows = reader.messages(session_id, [*boundary.before_ids, *boundary.block_ids])
    before = [rows[row_id] for row_id in boundary.before_ids if row_id in rows]
    gone = set(_gone(index, boundary))
    gone_at = {at for at, row in enumerate(before) if row.id in gone}
    remaining = [message_of(rows[row_id]) for row_id in boundary.block_ids if row_id in rows]
    earlier = [(at, text) for at in sorted(gone_at) for text in _summaries(before[at])]
    survival = survival_of([message_of(row) for row in before], gone_at, remaining, earlier)
    return report_data(survival, lambda at: index.message_of(before[at].id), LISTED)


def counted(run: int | None) -> LossCounts | None:
    """How many details and statements one of our own compactions lost; None for the agent's."""
    if run is None:
        return None
    report = Run.objects.filter(pk=run).values_list("report", flat=True).first()
    if not report or "statements" not in report:
        return None
    return counted_in(report)


def counted_in(report: Mapping[str, Any]) -> LossCounts:
    """How many details and statements are lost, from a report."""
    kept, statements = report["statements"]
    return LossCounts(lost_of(report["anchors"]), (statements - kept, statements))


def _names_all(report: Mapping[str, Any]) -> bool:
    """Whether a report names every lost detail and statement, not only the first of them."""
    kept, statements = report["statements"]
    return len(report["lost"]) >= lost_of(report["anchors"])[0] and len(report["lost_statements"]) >= statements - kept


def lost_of(counts: Mapping[str, Sequence[int]]) -> tuple[int, int]:
    """(lost, all), from (still there, all) by kind."""
    return sum(total - still for still, total in counts.values()), sum(total for _, total in counts.values())


def _gone(index: TranscriptIndex, boundary: IndexedBoundary) -> list[int]:
    """The rows in context before that are not copied unchanged."""
    shortened = set(boundary.shortened_ids)
    carried = {source for _, source in boundary.copies if index.message_of(source) not in shortened}
    return [row_id for row_id in boundary.before_ids if row_id not in carried]


def _summaries(row: StoredMessage) -> Iterator[str]:
    """The texts of earlier summaries in a row, which do not count as messages."""
    return (part.text for part in compaction.split(row.content, flagged=row.flagged) if part.kind == "summary")
