"""How many statements of people and agent are left after one compaction, by the engine and by other ways.

Transcripts are cut at half and at four fifths of their messages and compacted at the default window of 200,000. The
statements are those of the messages that the engine replaces there, the same for every way; for the engine also without
announcements ("Now let me run the tests.").
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.bench.quality.engine import Engine, tokens
from tests.bench.quality.figures import Figure, total
from tests.bench.quality.messages import Message, whole_until
from tests.bench.quality.spoken import Left, is_announcement, statements
from tests.bench.quality.transcripts import Transcript
from tests.bench.quality.ways import OWN, all_ways

CUTS = (0.5, 0.8)


def figures(transcripts: Sequence[Transcript], engine: Engine, *, others: bool = True) -> Iterator[Figure]:
    """A line for each way and kind of transcript."""
    kept: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    sizes: dict[tuple[str, str], int] = defaultdict(int)
    refused = 0
    with all_ways(engine, others) as ways:
        for transcript, messages in contexts(transcripts):
            made = engine.compact(messages)
            refused += bool(made.refused)
            if made.refused:
                continue
            said, size = statements(made.replaced), tokens(made.left)
            for name, way in ways.items():
                left = made.left if name == OWN else way()(messages, size)
                kept[name, transcript.kind].append(Left.of(left).share(said))
                if name == OWN:
                    telling = [each for each in said if not is_announcement(each)]
                    kept[f"{OWN}, no announcements", transcript.kind].append(Left.of(left).share(telling))
                sizes[name, transcript.kind] += tokens(left)
    for (name, kind), counted in sorted(kept.items(), key=lambda each: (each[0][1], not each[0][0].startswith(OWN))):
        yield total(f"{kind}, {name}", counted)
        if (name, kind) in sizes:
            yield Figure(f"  tokens left, {kind}, {name}", sizes[name, kind])
    yield Figure("contexts refused", refused)


def contexts(transcripts: Sequence[Transcript]) -> Iterator[tuple[Transcript, list[Message]]]:
    """The contexts that are compacted, each with its transcript."""
    for transcript in transcripts:
        for cut in CUTS:
            yield transcript, transcript.messages[: whole_until(transcript.messages, cut)]
