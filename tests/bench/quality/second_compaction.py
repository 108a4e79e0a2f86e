"""A second compaction 4 to 30 messages after the first: it keeps 70 % of what the first summary says.

What a summary says are its lines of at least four content words; a line is kept when 80 % of them stand in one line of
what the second compaction leaves: all of them where it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.bench.quality.engine import Engine
from tests.bench.quality.figures import Figure
from tests.bench.quality.messages import whole_until
from tests.bench.quality.spoken import FEWEST_WORDS, Left, content_words
from tests.bench.quality.transcripts import Transcript

CUTS, LATER, ENOUGH = (0.5, 0.65, 0.8), (4, 8, 16, 30), 0.7


def figures(transcripts: Sequence[Transcript], engine: Engine) -> Iterator[Figure]:
    """How many second compactions are good, how many of them by a refusal, and the mean share that is kept."""
    good = refused = 0
    shares: list[float] = []
    for transcript in transcripts:
        for cut in CUTS:
            end = whole_until(transcript.messages, cut)
            first = engine.compact(transcript.messages[:end])
            if first.refused:
                continue
            lines = list(said(first.summary))
            for later in LATER:
                until = whole_until(transcript.messages, (end + later) / len(transcript.messages))
                second = engine.compact([*first.left, *transcript.messages[end:until]])
                kept, of = Left.of(second.left).share(lines)
                shares.append(kept / of if of else 1.0)
                refused += bool(second.refused)
                good += shares[-1] >= ENOUGH
    yield Figure("good second compactions", good, len(shares))
    yield Figure("of these refused", refused, len(shares))
    yield Figure("mean share of the first summary's lines", sum(shares) / max(len(shares), 1))
    yield Figure("least share", min(shares, default=1.0))


def said(summary: str) -> Iterator[str]:
    """The lines of a summary that say something."""
    for line in summary.splitlines():
        if not line.startswith("#") and len(set(content_words(line))) >= FEWEST_WORDS:
            yield line
