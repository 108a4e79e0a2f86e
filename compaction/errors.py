"""The three ways a compaction can end without a result.

`NothingToCompact` and `BadTranscript` speak about the transcript, `SummaryRejected` about the summary. In each case
the caller's messages are untouched.
"""

from __future__ import annotations


class CompactionError(Exception):
    """Base of the engine's errors: `reason` is a sentence for people, `code` a stable word for programs."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class NothingToCompact(CompactionError):
    """The rules leave no message that could be replaced by a shorter summary.

    `instead` names the strategy that would help ("prune"), "" if none would.
    """

    def __init__(self, code: str, reason: str, instead: str = "") -> None:
        super().__init__(code, reason)
        self.instead = instead


class BadTranscript(CompactionError):
    """The input is not a list of chat messages, or no valid result can be built from it."""


class SummaryRejected(CompactionError):
    """The summary cannot be used, or cannot be made in the given window.

    Codes: not_text, empty, cut_off, refusal (any summary); no_sections (from a model that was asked for sections);
    too_long (longer than requested); not_smaller (than what it replaces); window_too_small (nothing was asked).
    """
