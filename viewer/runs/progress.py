"""What a run tells while its summary is made: which part, how much of the answer, for how long, at what cost."""

from __future__ import annotations

import time
from collections.abc import Callable

import compaction
from compaction.llm.digest import Ask, Finished
from compaction.tokens import Counter

from .providers.summarizers import Usage
from .run_claim import RunClaim

TELL_SECONDS = 1.0  # between two updates of the row while an answer comes


class Progress:
    """The `providers.summarizers.ProgressCallback` of one run. All raise hold.LeaseLost once the run is not ours."""

    def __init__(self, hold: RunClaim, doing: str, count: Counter) -> None:
        self._hold = hold
        self._doing = doing
        self._count = count
        self._usage = Usage(**hold.run.usage)
        self._began = self._told = time.monotonic()
        self._request: compaction.SummaryRequest | None = None
        self._tokens = 0

    def asking(self, ask: Callable[[compaction.SummaryRequest, Progress], str]) -> Ask:
        """`ask` with this listener; a run that was cancelled asks nothing more."""

        def asked(request: compaction.SummaryRequest) -> str:
            self._request, self._tokens = request, 0
            self.tell()
            return ask(request, self)

        return asked

    def on_text(self, text: str) -> None:
        self._tokens += self._count(text)
        if not text or time.monotonic() - self._told >= TELL_SECONDS:
            self.tell()

    def on_usage(self, usage: Usage) -> None:
        self._usage += usage
        self._hold.update(usage=self._usage.to_json())

    def finished(self, part: Finished) -> None:
        """Keep a finished part, so that a run that is taken up again goes on behind it."""
        self._hold.update(chunks=[*self._hold.run.chunks, {"key": part.key, "summary": part.summary}])

    def tell(self) -> None:
        """Write down what is being done."""
        self._told = time.monotonic()
        seconds = round(self._told - self._began)
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
