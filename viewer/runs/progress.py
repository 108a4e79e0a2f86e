"""What a run reports while its summary is made: the part, tokens of the answer, seconds and cost."""

from __future__ import annotations

import time
from collections.abc import Callable

import compaction
from compaction.llm.digest import Ask, Finished
from compaction.tokens import Counter

from .providers.summarizers import Usage
from .run_claim import RunClaim

REPORT_SECONDS = 1.0  # between two updates of the row while an answer comes


class Progress:
    """The run's `providers.summarizers.ProgressCallback`. All raise run_claim.LeaseLost once the run is not ours."""

    def __init__(self, hold: RunClaim, doing: str, count: Counter) -> None:
        self._hold = hold
        self._doing = doing
        self._count = count
        self._usage = Usage(**hold.run.usage)
        self._began = self._reported_at = time.monotonic()
        self._request: compaction.SummaryRequest | None = None
        self._tokens = 0

    def asking(self, ask: Callable[[compaction.SummaryRequest, Progress], str]) -> Ask:
        """`ask` with this listener; after the run was cancelled it asks nothing more."""

        def call(request: compaction.SummaryRequest) -> str:
            self._request, self._tokens = request, 0
            self.report()
            return ask(request, self)

        return call

    def on_text(self, text: str) -> None:
        self._tokens += self._count(text)
        if not text or time.monotonic() - self._reported_at >= REPORT_SECONDS:
            self.report()

    def on_usage(self, usage: Usage) -> None:
        self._usage += usage
        self._hold.update(usage=self._usage.to_json())

    def finished(self, part: Finished) -> None:
        """Save a finished part, so that a run that is resumed continues after it."""
        self._hold.update(chunks=[*self._hold.run.chunks, {"key": part.key, "summary": part.summary}])

    def report(self) -> None:
        """Write the current progress on the run."""
        self._reported_at = time.monotonic()
        seconds = round(self._reported_at - self._began)
        part = self._request
        where = f" Part {part.chunk:,} of {part.chunks:,}." if part and part.chunks > 1 else ""
        written = f" {self._tokens:,} tokens written." if self._tokens else ""
        waited = f" {seconds} s so far." if seconds else ""
        self._hold.report_progress(
            f"{self._doing}{where}{written}{waited}",
            doing=self._doing,
            chunk=part.chunk if part else 1,
            chunks=part.chunks if part else 1,
            tokens=self._tokens,
            seconds=seconds,
        )
