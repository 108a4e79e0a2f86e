"""How a summary uses its room: tokens by section, the longest line, and the tokens of lines that are bare names.

A line is one of bare names when at least three of five of its words are no words of a sentence: they hold a digit, a
slash, an underscore, a dot, a hash or a capital letter inside. Summaries are those of the yardstick "statements".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.bench.quality.engine import Engine, count
from tests.bench.quality.figures import Figure
from tests.bench.quality.statements import contexts
from tests.bench.quality.transcripts import Transcript

_NAME = re.compile(r"\w*[\d/_#.]\w|\w+[a-z][A-Z]")


def figures(transcripts: Sequence[Transcript], engine: Engine) -> Iterator[Figure]:
    """Room used, then each section's share, of all summaries of a half together."""
    by_section: dict[str, int] = defaultdict(int)
    room = total = names = longest = 0
    for _, messages in contexts(transcripts):
        made = engine.compact(messages)
        room += made.budget
        total += count(made.summary)
        section = "before the first heading"
        for line in made.summary.splitlines():
            section = line.lstrip("# ").split(" (")[0] if line.startswith("#") else section
            size = count(line + "\n")
            by_section[section] += size
            names += size * is_bare_names(line)
            longest = max(longest, len(line))
    yield Figure("tokens used of the room", total, room)
    yield Figure("tokens of bare names", names, total)
    yield Figure("characters of the longest line", longest)
    for section, size in sorted(by_section.items(), key=lambda each: -each[1]):
        yield Figure(f"section: {section}", size, total)


def is_bare_names(line: str) -> bool:
    """Whether a line only lists names."""
    words = line.strip("-#>* ").split()
    return bool(words) and sum(bool(_NAME.search(word.rstrip(".,;:"))) for word in words) >= 0.6 * len(words)
