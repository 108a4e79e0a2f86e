"""One small real request to a model, to see whether it can write summaries."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace

import compaction
from viewer.stores.errors import StoreError

from . import summarizer_of
from .base import Usage
from .connections import ModelAccess

PATIENCE = 60.0  # seconds; a model that is loaded into memory first takes a while
MESSAGES: tuple[compaction.Message, ...] = (
    {"role": "user", "content": "Please rename report.txt to report-2026.txt. Never delete anything."},
    {"role": "assistant", "content": "Done: report.txt is now report-2026.txt. Nothing was deleted."},
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """What came of it, in a sentence that never holds the key.

    `answers` but not `works`: the model was reached, and its text would be refused as a summary.
    """

    works: bool
    sentence: str
    answers: bool = True


class _TooSlow(Exception):
    """The request took longer than PATIENCE."""


class _Listener:
    """Ends the wait after PATIENCE."""

    def __init__(self) -> None:
        self.usage = Usage()
        self._until = time.monotonic() + PATIENCE

    def heard(self, piece: str) -> None:
        if time.monotonic() > self._until:
            raise _TooSlow

    def spent(self, usage: Usage) -> None:
        self.usage += usage


def try_out(connection: ModelAccess) -> ConnectionTest:
    """Have the model summarise two short messages. Raises nothing: what goes wrong is the answer."""
    listener, began = _Listener(), time.monotonic()
    who = f"{connection.model} at {connection.host}"
    try:
        summarizer_of(_beside_its_form(connection)).ask(_request(connection), listener)
    except compaction.SummaryRejected as problem:
        took = _took(listener.usage, time.monotonic() - began)
        return ConnectionTest(
            False, f"{who} answered in {took}, but its text cannot be used as a summary: {problem.reason}"
        )
    except StoreError as problem:
        return ConnectionTest(False, problem.message, answers=False)
    except _TooSlow:
        return ConnectionTest(False, f"{who} did not finish two short messages within {PATIENCE:.0f} s.", answers=False)
    except Exception as problem:  # its text may quote the request and with it the key: only the kind is shown
        logger.error("Trying %s: %s", who, type(problem).__name__)
        return ConnectionTest(False, f"Something unexpected went wrong ({type(problem).__name__}).", answers=False)
    return ConnectionTest(True, f"Works: {who} wrote a summary in {_took(listener.usage, time.monotonic() - began)}.")


def _beside_its_form(connection: ModelAccess) -> ModelAccess:
    """The same, so that a refusal does not send to the page on which it is read."""
    return replace(connection, source="form") if connection.source == "settings" else connection


def _request(connection: ModelAccess) -> compaction.SummaryRequest:
    return compaction.SummaryRequest(MESSAGES, count=compaction.counter_for(connection.model))


def _took(usage: Usage, seconds: float) -> str:
    tokens = f" ({usage.input_tokens:,} tokens in, {usage.output_tokens:,} out)" if usage.output_tokens else ""
    return f"{seconds:.1f} s{tokens}"
