"""What a run's summary replaces, keeps and loses, for its card; and everything that a compaction lost, in lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.urls import reverse

from viewer.rendering import formats
from viewer.rendering.texts import clean, line
from viewer.runs import service
from viewer.runs.detail_loss import counted_in, lost_of
from viewer.runs.models import Run
from viewer.runs.planning import strategy_of
from viewer.web.session_urls import SessionUrls

LOST_SHOWN, LOST_LENGTH, LINE_LENGTH = 100, 160, 240  # of a page: lost details, characters of one and of its line
# A candidate shows a loss below MUCH in amber however small it is, from MUCH on in red.
SOME, MUCH = 0.2, 0.5  # of the details: a loss from here on is shown as one to look at, as one that hurts
KINDS = {
    "id": "id or code",
    "date": "date or time",
    "phone": "phone number",
    "account": "account number",
}
# Markdown's signs of a list, a heading or a quote, and of bold words. A link keeps its signs: its address may be lost.
_START = re.compile(r"\s*(?:[-*+]|#{1,6}|>)\s+")
_BOLD = re.compile(r"(?<![\w)\]*])\*\*(?=\S)([^*\n]{1,200})(?<=\S)\*\*(?![\w*])")
LISTS = {"lost_statements": "Statements", "lost": "Details", "lost_printed": "Printed by tools only"}
SPEAKERS = {
    "person": "said by a person",
    "agent": "said by the agent",
    "summary": "from the earlier summary",
    "call": "used in a call",
    "tool": "printed by a tool",
}


@dataclass(frozen=True, slots=True)
class Lost:
    """An exact detail or statement that is lost, the line it was in, and a link to that message.

    `category` is the kind of a statement. A candidate's page puts a detail back by its `name`; `put` says that it did.
    """

    kind: str
    text: str
    href: str
    line: str
    by: str
    category: str = ""
    name: str = ""
    put: bool = False


@dataclass(frozen=True, slots=True)
class Loss:
    """The number lost and the total, at least one, of what `noun` names."""

    lost: int
    total: int
    noun: str

    @property
    def share(self) -> float:
        return self.lost / self.total

    @property
    def level(self) -> str:
        """The class of its colour, "" for a low one."""
        return "bad" if self.share >= MUCH else "warn" if self.share >= SOME else ""

    @property
    def words(self) -> str:
        """ "123 of 134 details (92 %)"."""
        return f"{self.lost:,} of {formats.counted(self.total, self.noun)}{self._percent}"

    @property
    def sentence(self) -> str:
        """The same as a sentence."""
        of, is_or_are = formats.counted(self.total, self.noun), "is" if self.lost == 1 else "are"
        return f"{self.lost:,} of the {of} we recognise {is_or_are} lost{self._percent}"

    @property
    def _percent(self) -> str:
        return f" ({_percent(self.share)})" if self.lost else ""


def loss_of(lost: int, total: int, noun: str) -> Loss | None:
    """The loss; None if there was nothing to lose."""
    return Loss(lost, total, noun) if total else None


def label(losses: Iterable[Loss | None]) -> tuple[str, str]:
    """Several losses as one label, with the class of the worst one's colour; "" if there is none."""
    present = [loss for loss in losses if loss is not None]
    if not present:
        return "", ""
    worst = max(present, key=lambda loss: loss.share)
    return f"{', '.join(loss.words for loss in present)} lost", worst.level


def _percent(share: float) -> str:
    """A share in percent; a small loss is never shown as 0 %, nor a large one as 100 %."""
    return "under 1 %" if share < 0.01 else "over 99 %" if 0.99 < share < 1 else f"{share:.0%}".replace("%", " %")


@dataclass(frozen=True, slots=True)
class SummaryReport:
    """What a summary replaces: messages summarised and kept, earlier summaries folded in, other remarks.

    `shortens`: there is no summary, nothing is summarised. `details` and `statements` of people and the agent are lost
    if they are neither in the summary nor in a kept message, `printed` are those only tools printed; None if there were
    none. `named` are the first of the lost details, `stated` of the statements; `href` leads to all.
    """

    kept: int
    shortened: int
    summarised: int
    shortens: bool
    folded: int
    remarks: tuple[str, ...]
    details: Loss | None
    statements: Loss | None
    printed: Loss | None
    named: tuple[Lost, ...]
    stated: tuple[Lost, ...]
    href: str

    @property
    def unnamed(self) -> int:
        """Lost details that the page does not name."""
        return self.details.lost - len(self.named) if self.details else 0

    @property
    def unstated(self) -> int:
        """Lost statements that the page does not name."""
        return self.statements.lost - len(self.stated) if self.statements else 0


def report_of(run: Run, urls: SessionUrls) -> SummaryReport:
    """The report; links lead to messages at `urls`."""
    report = run.report or {}
    details, statements, printed = lost_parts(report)
    middle, lifted = _planned(run.pk, run.created_at, run.status, run.attempts)
    return SummaryReport(
        shortens=not strategy_of(run.strategy).asks_model,
        kept=len(report.get("kept", ())),
        shortened=len(report.get("shortened", ())),
        summarised=middle,
        folded=lifted,
        remarks=tuple(clean(str(remark)) for remark in (*report.get("repairs", ()), *report.get("notes", ()))),
        details=details,
        statements=statements,
        printed=printed,
        named=named_lost(report.get("lost", ()), urls),
        stated=named_lost(report.get("lost_statements", ()), urls),
        href=reverse("pages:lost", args=[run.pk]),
    )


def lost_parts(noted: Mapping[str, Any]) -> tuple[Loss | None, Loss | None, Loss | None]:
    """The loss of details, of statements, and of details that tools printed; None if there were none.

    All are None for a report from a version that recognised fewer: its numbers would say that more was kept.
    """
    if "statements" not in noted:
        return None, None, None
    details, statements = counted_in(noted)
    printed = lost_of(noted.get("printed", {}))
    return loss_of(*details, "detail"), loss_of(*statements, "statement"), loss_of(*printed, "detail")


@lru_cache(maxsize=1_000)
def _planned(run_id: int, created_at: datetime, status: str, attempts: int) -> tuple[int, int]:
    """How many messages the plan summarises, and how many earlier summaries it folds in. The plan of a long session is
    long, and only another attempt changes it.
    """
    plan = service.plan_of(run_id)
    return len(plan.get("middle", ())), len(plan.get("lifted", ()))


def named_lost(details: Sequence[Any], urls: SessionUrls, start: int = 0, most: int = LOST_SHOWN) -> tuple[Lost, ...]:
    """A page of lost details, in their stored order: the most important first."""
    return tuple(
        Lost(
            kind=KINDS.get(one["kind"], one["kind"]),
            text=line(unmarked(one["text"]) if one["kind"] == "statement" else one["text"], LOST_LENGTH),
            href=urls.message(one["message"]) if one["message"] else "",
            line=_around(one.get("line", ""), one["text"]),
            by=SPEAKERS.get(one.get("by", ""), ""),
            category=one.get("category", ""),
        )
        for one in details[start : start + most]
    )


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


# -- all of it, in lists -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LostList:
    """One list of lost things: a page of them; `next` leads to the following, `left` is how many more there are."""

    name: str
    title: str
    loss: Loss
    named: tuple[Lost, ...]
    next: str
    left: int


def lost_page(noted: Mapping[str, Any], lists: Sequence[LostList]) -> dict[str, Any]:
    """The data of the page of lost details; `noted` is from `detail_loss.noted`."""
    return {"details": lost_parts(noted)[0], "lists": lists}


def lost_heading(noted: Mapping[str, Any]) -> str:
    details, statements, _ = lost_parts(noted)
    return label((details, statements))[0] or "details lost"


def lost_lists(noted: Mapping[str, Any], urls: SessionUrls, href: str, start: int) -> Iterator[LostList]:
    """The lists from position `start` on; `href` is the address of further pages."""
    details, statements, printed = lost_parts(noted)
    for (name, title), loss in zip(LISTS.items(), (statements, details, printed), strict=True):
        if loss is not None:
            all_of_them = noted.get(name, ())
            named = named_lost(all_of_them, urls, start)
            stop = start + len(named)
            more = f"{href}?list={name}&from={stop}" if stop < len(all_of_them) else ""
            yield LostList(name, title, loss, named, more, max(0, loss.lost - stop))
