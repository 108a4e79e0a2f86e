"""What a compaction keeps and what it loses: first what the next turn needs, then the losses that matter, then all."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import chain, groupby
from typing import Any

from django.urls import reverse

from compaction.offline.asks import alike
from viewer.rendering import formats
from viewer.rendering.texts import clean, line
from viewer.runs import drafts, service
from viewer.runs.detail_loss import is_needed, lost_detail, lost_of, ranked
from viewer.runs.models import Run
from viewer.runs.planning import strategy_of
from viewer.web.session_urls import SessionUrls

FEW = 7  # lost lines that are worth a look
LOST_SHOWN, LOST_LENGTH, LINE_LENGTH = 100, 160, 240  # of a page: lost lines, characters of one and of what is around
KINDS = {"date": "date or time", "phone": "phone number", "account": "account number", "id": "", "statement": ""}
# Why a line matters.
REASONS = {"instruction": "standing instruction", "request": "the request needs it", "used": "used later"}
# Markdown's signs of a list, a heading or a quote, and of bold words. A link keeps its signs: its address may be lost.
_START = re.compile(r"\s*(?:[-*+]|#{1,6}|>)\s+")
_VALUES = re.compile(r"\S*[/\\]\S*|\S*\d\S*")  # paths, numbers, ids
_BOLD = re.compile(r"(?<![\w)\]*])\*\*(?=\S)([^*\n]{1,200})(?<=\S)\*\*(?![\w*])")
SPEAKERS = {
    "person": "said by a person",
    "agent": "said by the agent",
    "summary": "from the earlier summary",
    "call": "used in a call",
    "tool": "printed by a tool",
}


# The groups of all that is lost, in order; the last ones, which are said by whose they are, are folded.
GROUPS = {
    "needed": "",  # `_needed_by`
    "used": "Used later",
    "person": "Said by people",
    "category": "Decisions, causes, open tasks and the like",
    "agent": "Said by the agent",
    "summary": "From the earlier summary",
    "call": "Used in calls",
    "": "Others",
}
OF_ANYBODY = ("needed", "used", "category")
OPEN = ("needed", "used", "person", "category")


@dataclass(frozen=True, slots=True)
class Lost:
    """A line that is lost, and a link to its message. `label` is the kind of statement or detail, or why it
    matters; the next turn fails without a `serious` one; `above` is the heading that the line is under.

    Of a call's arguments `code` is the lost part. A candidate's page puts a line back by its `name`; `put` says that it
    did. `like` are further lines with the same words, which are below it in a fold. Where lines of one sort are
    together, `of` is the heading of the first. `keep` is the page on which its message can be put back.
    """

    name: str
    label: str
    serious: bool
    above: str
    code: str
    text: str
    href: str
    by: str
    put: bool
    like: tuple[Lost, ...] = ()
    of: str = ""
    keep: str = ""


@dataclass(frozen=True, slots=True)
class LossReport:
    """What the next turn needs and has, and how much is lost; lines that were put into the summary count as kept.

    `request` is the last request of people with its `text`, and whether it is `open` and `kept`; None if there is none,
    as in reports of older versions. `needs` are the lines it asks for and `instructions` the standing instructions of
    people, each (kept, all). `lost` counts lines, `serious` those without which the next turn fails (None: not known),
    `used` the others that later messages use, `put` those put in. `few` are the lines that are offered now, with those
    of them that are put in; `to_put` names the others, which one button puts in. First all without which the next turn
    fails are offered (`few` has the first); once these are in, `needed_in` counts them, and those worth a look are
    offered a few at a time, of which `looked_in` are in.
    """

    request: Mapping[str, Any] | None
    request_href: str
    needs: tuple[int, int]
    instructions: tuple[int, int]
    lost: int
    serious: int | None
    used: int
    put: int
    few: tuple[Lost, ...]
    to_put: tuple[str, ...]
    needed_in: int
    looked_in: int

    @property
    def missing(self) -> int:
        """How many of the lines that the request asks for are lost."""
        return self.needs[1] - self.needs[0]

    @property
    def forgotten(self) -> int:
        """How many standing instructions are lost."""
        return self.instructions[1] - self.instructions[0]


@dataclass(frozen=True, slots=True)
class SummaryReport:
    """What a summary replaces: messages summarised and kept, earlier summaries folded in, other remarks, and `losses`,
    None if nothing is known of them.

    `shortens`: there is no summary, nothing is summarised. `href` leads to all that is lost.
    """

    kept: int
    shortened: int
    summarised: int
    shortens: bool
    folded: int
    remarks: tuple[str, ...]
    losses: LossReport | None
    href: str


def report_of(run: Run, urls: SessionUrls) -> SummaryReport:
    """The report; links lead to messages at `urls`."""
    report = run.report or {}
    middle, lifted = _planned(run.pk, run.created_at, run.status, run.attempts)
    return SummaryReport(
        shortens=not strategy_of(run.strategy).asks_model,
        kept=len(report.get("kept", ())),
        shortened=len(report.get("shortened", ())),
        summarised=middle,
        folded=lifted,
        remarks=tuple(clean(str(remark)) for remark in (*report.get("repairs", ()), *report.get("notes", ()))),
        losses=losses_of(report, urls, put_into(run)) if "statements" in report else None,
        href=reverse("pages:lost", args=[run.pk]),
    )


def put_into(run: Run) -> set[str]:
    """The names of the lost lines that are in the draft of a candidate's summary."""
    return drafts.put_in(run.report, run.draft) if run.status == "ready" and run.draft else set()


def losses_of(report: Mapping[str, Any], urls: SessionUrls, put: Collection[str] = ()) -> LossReport:
    """The losses in a report (`detail_loss.report_data`); `put` are the names of the lines that were put in."""
    names, request = ranked(report), report.get("request")
    back = [lost_detail(report, name) for name in put]
    needed = _needed(report, names)
    missing = [name for name in needed if name not in put]
    worth = [] if missing else _worth_a_look(report, names)
    looked_in, offered = _offered(worth, put)
    few = _offered([[name] for name in needed], put)[1] if missing else offered
    needs, instructions = (request or {}).get("needs", (0, 0)), report.get("instructions", (0, 0))
    given = {alike(one["text"]) for one in back if one.get("matters") == "instruction"}  # one may be said twice
    own = {request["message"]} - {None} if request else set()  # what it asks for is in other messages
    asked = [one for one in back if one.get("matters") == "request" and one["message"] not in own]
    return LossReport(
        request=request,
        request_href=urls.message(request["message"]) if request and request["message"] else "",
        needs=(min(needs[0] + len(asked), needs[1]), needs[1]),
        instructions=(min(instructions[0] + len(given), instructions[1]), instructions[1]),
        lost=report.get("things", len(names)) - len(put),
        serious=len(missing) if "ranked" in report else None,
        used=sum(_group_of(report, name) == "used" for name in names if name not in put),
        put=len(put),
        few=tuple(shown_lost(report, chain(*few), urls, put)),
        to_put=tuple(missing or [first for first, *_ in offered if first not in put]),
        needed_in=0 if missing else len(needed),
        looked_in=looked_in,
    )


def _offered(rows: Sequence[list[str]], put: Collection[str]) -> tuple[int, Sequence[list[str]]]:
    """The first `FEW` rows, or the first such number after them, that are not all put in, and how many are before."""
    at = 0
    while rows[at:] and all(row[0] in put for row in rows[at : at + FEW]):
        at += FEW
    return min(at, len(rows)), rows[at : at + FEW]


def _needed(report: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """The lost things without which the next turn fails, each line once."""
    by_line: dict[str, str] = {}
    for name in names:
        if is_needed(lost_detail(report, name)):
            by_line.setdefault(drafts.line_of(report, name), name)
    return list(by_line.values())


def _worth_a_look(report: Mapping[str, Any], names: Iterable[str]) -> list[list[str]]:
    """Of the others those that are used later or are a kind of statement; those with the same words are together."""
    by_words: dict[Hashable, list[str]] = {}
    for name in names:
        one = lost_detail(report, name)
        if not is_needed(one) and (one.get("matters") in REASONS or one.get("category")):
            by_words.setdefault(_likeness(report, name), []).append(name)
    return list(by_words.values())


def _likeness(report: Mapping[str, Any], name: str) -> Hashable:
    """A key that is equal for lines with the same words: only numbers, paths, spaces and punctuation differ. A line
    that the next turn needs or a person said, and one without words, equals no other.
    """
    one = lost_detail(report, name)
    words = alike(_VALUES.sub("", f"{one.get('above', '')} {one.get('line') or one['text']}"))
    if is_needed(one) or one.get("by") == "person" or not words:
        return name
    return one.get("by", ""), one.get("category", ""), one["kind"], words


@lru_cache(maxsize=1_000)
def _planned(run_id: int, created_at: datetime, status: str, attempts: int) -> tuple[int, int]:
    """How many messages the plan summarises, and how many earlier summaries it folds in. The plan of a long session is
    long, and only another attempt changes it.
    """
    plan = service.plan_of(run_id)
    return len(plan.get("middle", ())), len(plan.get("lifted", ()))


def shown_lost(
    report: Mapping[str, Any], names: Iterable[str], urls: SessionUrls, put: Collection[str] = ()
) -> list[Lost]:
    """The lost lines of these names; those with the same words are one, at the first."""
    rows: dict[Hashable, list[Lost]] = {}
    for name in names:
        one = lost_detail(report, name)
        called = one.get("by") == "call" and one["kind"] != "command"
        words = one.get("line") or one["text"]
        lost = Lost(
            name=name,
            label=_label(one),
            serious=is_needed(one),
            above=line(one.get("above", ""), LOST_LENGTH),
            code=line(one["text"], LOST_LENGTH) if called else "",
            text=_around(words, one["text"]),
            href=urls.message(one["message"]) if one["message"] else "",
            by=SPEAKERS.get(one.get("by", ""), ""),
            put=name in put,
            keep=urls.keep(one["message"]) if one["message"] else "",
        )
        rows.setdefault(_likeness(report, name), []).append(lost)
    return [replace(first, like=tuple(others)) for first, *others in rows.values()]


def _around(text: str, detail: str) -> str:
    """The part of a line around a detail."""
    at = max(text.find(detail), 0)
    start = max(at - LINE_LENGTH // 2, 0) if len(text) > LINE_LENGTH else 0
    return ("… " if start else "") + line(unmarked(text[start:]), LINE_LENGTH)


def unmarked(text: str) -> str:
    """A line without Markdown's signs at its start, around bold words and between the cells of a table's row; the rest
    stays.
    """
    row = text.strip()
    if len(row) > 2 and row[0] == row[-1] == "|":
        text = " · ".join(cell.strip() for cell in row[1:-1].split("|"))
    match = _START.match(text)
    return _BOLD.sub(r"\1", text[match.end() :] if match else text)


@dataclass(frozen=True, slots=True)
class LostGroup:
    """Lost lines of one group of `GROUPS`, `count` of them in all. `next` leads to the lines after these, `left` is how
    many those are; `unlisted` counts lines that the report counts and does not name. `is_open`: it is not folded;
    `serious`: the next turn fails without them.
    """

    heading: str
    serious: bool
    count: int
    named: tuple[Lost, ...]
    next: str
    left: int
    unlisted: int
    is_open: bool


@dataclass(frozen=True, slots=True)
class LostPage:
    """All that is lost, by groups, or the further lines of one; `printed` counts what only tools printed."""

    losses: LossReport
    groups: tuple[LostGroup, ...]
    printed: int


def lost_page(
    report: Mapping[str, Any], urls: SessionUrls, href: str, start: int, put: Collection[str] = ()
) -> LostPage:
    """The first lines of each group; from position `start` of all of them on, those of its group. `href` is the address
    of further lines.
    """
    group_of = {name: _group_of(report, name) for name in ranked(report)}
    sort_of = {name: _sort_of(report, name, group) for name, group in group_of.items()}
    groups_in_order, sorts = list(GROUPS), list(dict.fromkeys(["", *sort_of.values()]))
    names = sorted(group_of, key=lambda name: (groups_in_order.index(group_of[name]), sorts.index(sort_of[name])))
    groups: list[LostGroup] = []
    first = 0
    for key, members in groupby(names, key=group_of.__getitem__):
        end = first + len(list(members))
        if not start or first <= start < end:
            at = max(start, first)
            stop = min(at + LOST_SHOWN, end)
            group = LostGroup(
                heading=GROUPS[key] or _needed_by(report),
                serious=key == "needed",
                count=end - first,
                named=_with_headings(shown_lost(report, names[at:stop], urls, put), sort_of, names[first:at]),
                next=f"{href}?from={stop}" if stop < end else "",
                left=end - stop,
                unlisted=max(0, report.get("things", end) - end) if stop == len(names) else 0,
                is_open=bool(start) or not groups or key in OPEN,
            )
            groups.append(group)
        first = end
    return LostPage(losses_of(report, urls, put), tuple(groups), lost_of(report.get("printed", {}))[0])


def _sort_of(report: Mapping[str, Any], name: str, group: str) -> str:
    """What a lost line is, and whose if its group does not say it: the heading of such lines within the group."""
    one = lost_detail(report, name)
    what = "" if group == "used" else _label(one)
    whose = SPEAKERS.get(one.get("by", ""), "") if group in OF_ANYBODY else ""
    heading = ", ".join(filter(None, (what, whose)))
    return heading[:1].upper() + heading[1:]


def _with_headings(rows: Iterable[Lost], sort_of: Mapping[str, str], before: Sequence[str]) -> tuple[Lost, ...]:
    """The rows, each first one of a sort with its heading; `before` names those of the group that are before them."""
    headed, last = [], sort_of[before[-1]] if before else ""
    for row in rows:
        sort = sort_of[row.name]
        headed.append(replace(row, of=sort if sort != last else ""))
        last = sort
    return tuple(headed)


def _label(one: Mapping[str, Any]) -> str:
    """Why a lost line matters, or else what it is."""
    return str(REASONS.get(one.get("matters", "")) or one.get("category") or KINDS.get(one["kind"], one["kind"]))


def _group_of(report: Mapping[str, Any], name: str) -> str:
    one = lost_detail(report, name)
    by = one.get("by", "")
    if one.get("matters") in REASONS:
        return "needed" if is_needed(one) else "used"
    return "category" if one.get("category") and by != "person" else by if by in GROUPS else ""


def _needed_by(report: Mapping[str, Any]) -> str:
    """The heading of the lines without which the next turn fails: these are what the request asks for, and standing
    instructions.
    """
    request = report.get("request")
    if not request:
        return "Standing instructions"
    return f"Needed by the {'open' if request['open'] else 'last'} request"


def lost_heading(report: Mapping[str, Any]) -> str:
    """As in "120 lines lost"."""
    return f"{formats.counted(report.get('things', len(ranked(report))), 'line')} lost"
