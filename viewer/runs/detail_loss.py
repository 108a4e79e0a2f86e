"""The exact details that a compaction removed from the context, and which of them are lost."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

from cachetools import LRUCache, cached

import compaction
from compaction import Survival
from compaction.loss.later import used_later
from compaction.loss.records import MATTERS, SERIOUS, Anchor
from compaction.loss.report import survival_of
from viewer.stores.message import StoredMessage, message_of
from viewer.stores.registry import Reader
from viewer.stores.transcript import Boundary, TranscriptIndex

from .models import Run
from .plain import plain

LISTED = 5_000  # lost details of each list that a page may go through
LATER = 2_000  # messages after a compaction, its first ones, that are searched for what it lost
LISTS = ("lost", "lost_statements")  # of a report, whose entries are things that are lost
EXTRA = ("category", "above", "matters")  # of an entry, where it has them
RECENT = 8  # reports of agents' compactions that a process keeps


class LossCounts(NamedTuple):
    """(lost, all) of details, and of statements."""

    details: tuple[int, int]
    statements: tuple[int, int]


def report_data(survival: Survival, name: Callable[[int], int | None], most: int | None = None) -> dict[str, Any]:
    """Survival in the form of a run's report; `name` gives the id of the message at an index.

    {"anchors": {kind: [still there, all]}, "lost": [{kind, text, message, line, by, above, matters}],
    "statements": [still there, all], "lost_statements": [{..., category}], "printed": {kind: [...]},
    "lost_printed": [...]}: each list has its most informative entries first, at most `most` of them. "things" is the
    number of lost lines, "ranked" names them by list and position ("lost:3"), as far as the lists have them, the most
    serious first. "request" is {text, message, open, kept, needs: [still there, all]} or None, "instructions" is
    [still there, all].
    """

    def details_of(lost: Iterable[Anchor]) -> list[dict[str, Any]]:
        return [
            {
                "kind": each.kind,
                "text": plain(each.text),
                "message": name(each.message),
                "line": plain(each.line) if each.line != each.text else "",
                "by": each.source,
                **{extra: plain(text) for extra in EXTRA if (text := getattr(each, extra))},
            }
            for each in islice(lost, most)
        ]

    request, things = survival.request, survival.things
    names = {id(each): f"lost:{at}" for at, each in enumerate(survival.lost[:most])}
    names |= {id(each): f"lost_statements:{at}" for at, each in enumerate(survival.lost_statements[:most])}
    return {
        "things": len(things),
        "ranked": [names[id(each)] for each in things if id(each) in names],
        "request": None
        if request is None
        else {
            "text": plain(request.text),
            "message": name(request.message) if request.message >= 0 else None,
            "open": request.open,
            "kept": request.kept,
            "needs": list(request.needs),
        },
        "instructions": list(survival.instructions),
        "anchors": {kind: list(counts) for kind, counts in survival.by_kind.items()},
        "lost": details_of(survival.lost),
        "statements": list(survival.statements),
        "lost_statements": details_of(survival.lost_statements),
        "printed": {kind: list(counts) for kind, counts in survival.printed.items()},
        "lost_printed": details_of(survival.lost_printed),
    }


def losses(reader: Reader, session_id: str, index: TranscriptIndex, boundary: Boundary) -> dict[str, Any]:
    """Which details that a compaction removed from the context are still there, in the form of `report_data`; what
    later messages use is marked.

    For our own compactions the run's report has it. For the agent's, the rows are compared, which takes longer the more
    was summarised; so it is for reports of our older versions, which recognised fewer details.
    """
    if boundary.run is not None:
        report: dict[str, Any] | None = Run.objects.filter(pk=boundary.run).values_list("report", flat=True).first()
        if report and "ranked" in report and _names_all(report):
            return _with_later(reader, session_id, index, boundary, report)
    return _with_later(reader, session_id, index, boundary, _compared(reader, session_id, index, boundary))


def _boundary_key(reader: Reader, session_id: str, index: TranscriptIndex, boundary: Boundary) -> Hashable:
    return reader.store, session_id, boundary.handoff_id, tuple(boundary.before), tuple(boundary.block), len(index.ids)


@cached(LRUCache(RECENT), key=_boundary_key, lock=Lock())
def _compared(reader: Reader, session_id: str, index: TranscriptIndex, boundary: Boundary) -> dict[str, Any]:
    """The report, from the rows before and after."""
    rows = reader.messages(session_id, [*boundary.before_ids, *boundary.block_ids])
    before = [rows[row_id] for row_id in boundary.before_ids if row_id in rows]
    gone = set(_gone(index, boundary))
    gone_at = {at for at, row in enumerate(before) if row.id in gone}
    remaining = [message_of(rows[row_id]) for row_id in boundary.block_ids if row_id in rows]
    earlier = [(at, text) for at in sorted(gone_at) for text in _summaries(before[at])]
    survival = survival_of([message_of(row) for row in before], gone_at, remaining, earlier)
    return report_data(survival, lambda at: index.message_of(before[at].id), LISTED)


def _with_later(
    reader: Reader, session_id: str, index: TranscriptIndex, boundary: Boundary, report: dict[str, Any]
) -> dict[str, Any]:
    """The report with what messages after the compaction use marked "used" and ranked, if they come before the next."""
    lost = report["lost"]
    later_ids = tuple(_later_ids(index, boundary)[:LATER]) if lost else ()
    texts = tuple("" if one["by"] == "call" else one["text"] for one in lost)  # a call can be made again
    used = _used(reader, session_id, tuple(boundary.block_ids), later_ids, texts) if later_ids else frozenset()
    if not used:
        return report
    places = {(lost[at]["message"], lost[at]["line"] or lost[at]["text"]) for at in used}

    def marked(one: dict[str, Any]) -> dict[str, Any]:
        is_used = (one["message"], one["line"] or one["text"]) in places and one.get("matters") not in SERIOUS
        return {**one, "matters": "used"} if is_used else one

    report = {**report, **{name: list(map(marked, report[name])) for name in LISTS}}
    ranked = sorted(report["ranked"], key=lambda name: MATTERS.index(lost_detail(report, name).get("matters", "")))
    return {**report, "ranked": ranked}


def _used_key(reader: Reader, *others: Hashable) -> Hashable:
    return reader.store, *others


@cached(LRUCache(RECENT), key=_used_key, lock=Lock())
def _used(
    reader: Reader, session_id: str, remaining_ids: Sequence[int], later_ids: Sequence[int], texts: Sequence[str]
) -> frozenset[int]:
    """The positions of the texts that rows after a compaction use."""
    rows = reader.messages(session_id, [*remaining_ids, *later_ids])
    remaining, later = ([message_of(rows[at]) for at in ids if at in rows] for ids in (remaining_ids, later_ids))
    return frozenset(used_later(texts, remaining, later))


def _later_ids(index: TranscriptIndex, boundary: Boundary) -> list[int]:
    """The rows that came into context between a compaction and the next one."""
    later = (each for each in index.boundaries if each.place > boundary.place and not each.inherited)
    following = min(later, key=lambda each: each.place, default=None)
    ids = following.before_ids if following else index.live_ids
    known = {*boundary.before_ids, *boundary.block_ids}
    return [row_id for row_id in ids if row_id not in known]


def lost_detail(report: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The lost thing of this name ("lost:3") in a report, {} if there is none."""
    list_name, _, at = name.partition(":")
    details = report.get(list_name, ()) if list_name in LISTS else ()
    exists = at.isascii() and at.isdigit() and len(at) < 6 and int(at) < len(details)
    return details[int(at)] if exists else {}


def ranked(report: Mapping[str, Any]) -> list[str]:
    """The names of the lost things, the most serious first; reports of older versions have no order."""
    if "ranked" in report:
        return list(report["ranked"])
    return [f"{name}:{at}" for name in reversed(LISTS) for at in range(len(report.get(name, ())))]


def counted(run: int | None) -> LossCounts | None:
    """How many details and statements one of our own compactions lost; None for the agent's."""
    if run is None:
        return None
    report = Run.objects.filter(pk=run).values_list("report", flat=True).first()
    if not report or "statements" not in report:
        return None
    return counted_in(report)


def stored_report(run: int | None) -> Mapping[str, Any]:
    """The report of one of our own compactions, {} for the agent's."""
    return (Run.objects.filter(pk=run).values_list("report", flat=True).first() or {}) if run else {}


def lines_in(report: Mapping[str, Any] | None) -> int | None:
    """How many lines are lost, from a report; None for none, and for one of an older version."""
    return report["things"] if report and "ranked" in report else None


def is_needed(one: Mapping[str, Any]) -> bool:
    """Whether the next turn fails without a lost line."""
    return one.get("matters") in SERIOUS


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


def _gone(index: TranscriptIndex, boundary: Boundary) -> list[int]:
    """The rows in context before that are not copied unchanged."""
    shortened = set(boundary.shortened_ids)
    carried = {source for _, source in boundary.copies if index.message_of(source) not in shortened}
    return [row_id for row_id in boundary.before_ids if row_id not in carried]


def _summaries(row: StoredMessage) -> Iterator[str]:
    """The texts of earlier summaries in a row, which do not count as messages."""
    return (part.text for part in compaction.split(row.content, flagged=row.flagged) if part.kind == "summary")
