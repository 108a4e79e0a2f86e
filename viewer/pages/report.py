"""What a run's summary replaces, keeps and loses, as its card lists it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from viewer.runs import life
from viewer.runs.models import Run

from . import formats
from .addresses import Place
from .texts import clean, line

LOST_SHOWN, LOST_LENGTH = 100, 160  # details that were lost: how many are named, characters of one


@dataclass(frozen=True, slots=True)
class Lost:
    """An exact detail that is not found after the compaction, with a link to the message it stood in."""

    kind: str
    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a summary replaces: messages summarised and kept, earlier summaries folded in, what else was done.

    `masks`: there is no summary, and nothing is summarised. `lost` of `details` exact things stand neither in the
    summary nor in a kept message.
    """

    kept: str
    shortened: int
    summarised: str
    masks: bool
    folded: int
    remarks: tuple[str, ...]
    details: int
    lost: int
    named: tuple[Lost, ...]

    @property
    def unnamed(self) -> int:
        """Lost details that the page does not name."""
        return self.lost - len(self.named)


def report_of(run: Run, place: Place) -> Report:
    """The report; links lead to messages of `place`."""
    found = run.report or {}
    lost, details, named = lost_details(found, place)
    middle, lifted = _planned(run.pk, run.created_at, run.status, run.attempts)
    return Report(
        masks=run.strategy == "mask",
        kept=formats.exact(len(found.get("kept", ()))),
        shortened=len(found.get("shortened", ())),
        summarised=formats.exact(middle),
        folded=lifted,
        remarks=tuple(clean(str(remark)) for remark in (*found.get("repairs", ()), *found.get("notes", ()))),
        details=details,
        lost=lost,
        named=named,
    )


def lost_details(noted: Mapping[str, Any], place: Place) -> tuple[int, int, tuple[Lost, ...]]:
    """How many details are not found after a compaction, of how many, and those that a page names."""
    counts = noted.get("anchors", {}).values()
    lost, details = sum(total - still for still, total in counts), sum(total for _, total in counts)
    return lost, details, _lost(noted.get("lost", ()), place)


@lru_cache(maxsize=1_000)
def _planned(run_id: int, created_at: datetime, status: str, attempts: int) -> tuple[int, int]:
    """How many messages the plan summarises, and how many earlier summaries it folds in. The plan of a long session is
    long, and is made anew only by another attempt.
    """
    plan = life.plan_of(run_id)
    return len(plan.get("middle", ())), len(plan.get("lifted", ()))


def _lost(found: Sequence[Any], place: Place) -> tuple[Lost, ...]:
    """What was said or reported first, then names; each the newest first."""
    newest = list(reversed(found))
    order = sorted(newest, key=lambda one: one["kind"] not in ("constraint", "error", "command"))
    return tuple(
        Lost(one["kind"], line(one["text"], LOST_LENGTH), place.message(one["message"]) if one["message"] else "")
        for one in order[:LOST_SHOWN]
    )
