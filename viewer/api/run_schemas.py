"""The shapes of runs in the API's responses and requests."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ninja import Schema

from .losses import LossesOut
from .schemas import Body, BrokenOut, ErrorOut, RulesOut


class UsageOut(Schema):
    """A model's usage, in tokens as its provider counts; `cost` in US dollars, null if unknown."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0


class RunOut(Schema):
    """`progress.sentence` says what is being done; `error` is the last error; `model` wrote the summary; `fallback` is
    the store's setting that was not possible in this session, "" for none.

    `tokens_after` and `messages_after` are null until there is a summary, and for a run without a result. `summary` is
    without the rules, which follow it if they are carried. `address` is that of the session.
    """

    id: int
    store: str
    session_id: str
    address: str
    status: str
    strategy: str
    summarizer: str
    focus: str
    keep_last: int | None
    apply: bool
    mode: str
    fallback: str
    new_session_id: str | None
    model: str
    usage: UsageOut
    progress: dict[str, Any]
    tokens_before: int | None
    tokens_after: int | None
    messages_before: int | None
    messages_after: int | None
    summary: str
    rules: RulesOut
    error: ErrorOut | None
    undoable: bool
    created_at: datetime
    finished_at: datetime | None


class RunsOut(Schema):
    items: list[RunOut]
    next: str | None
    broken: list[BrokenOut] = []


class ApplyIn(Body):
    """`summary` replaces the preview's text; it is written exactly as given."""

    summary: str | None = None


class ReportOut(LossesOut):
    """What a run does with each message, by row id, and its other changes, in sentences. Lists name at most 500.

    A run of an older version has no `statements`: it recognised fewer details.
    """

    run: int
    kept: list[int]
    shortened: list[int]
    summarised: list[int]
    repairs: list[str]
    notes: list[str]
    reasons: list[str]
    recompaction: bool
