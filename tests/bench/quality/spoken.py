"""What people and the agent said, sentence by sentence, and how much of it stands in a text: a measure of its own.

A statement is a sentence of at least four content words in a message of a person or of the agent, outside fences and
tables, no pleasantry. It is kept when 80 % of its content words stand in one line of what is left; of a line of more
than 60 words, within 60 words one after another.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from tests.bench.quality.messages import Message, shown, words

FEWEST_WORDS, ENOUGH, WIDEST = 4, 0.8, 60
_FENCED = re.compile(r"^\s*(```|~~~).*?(?:^\s*\1\s*$|\Z)", re.DOTALL | re.MULTILINE)
_END = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+(?=[\"'(\[*_`]*[A-Z0-9])")
_MARK = re.compile(r"^[\s>#*+\-•]*(?:\d{1,3}[.)]\s+)?(?:\[[ xX]\]\s*)?")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_PLEASANT = re.compile(
    r"(?:hi|hello|hey|thanks?(?: you)?(?: so much| very much)?|you(?:'re| are)(?: very)? welcome|great|perfect|sure"
    r"|of course|certainly|okay|ok|yes|no problem|have an? (?:great|nice|good|safe|wonderful) \w+"
    r"|(?:is there )?anything else i can (?:help|assist).*|if you (?:need|have) any(?:thing| (?:more|other|further)).*"
    r"|(?:please )?(?:feel free|let me know).*|(?:i'?m|i am) (?:happy|glad|here) to (?:help|assist).*"
    r"|how (?:can|may) i (?:help|assist).*|one moment.*|please (?:wait|hold).*)[\s,.!?:;-]*",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(
    r"(?:(?:now|first|next|then|okay|ok|good|great|perfect|so|finally)\b[,.!:]?\s+)*(?:let me|let's|let us|i'll|i will"
    r"|i'm going to|i need to|i should|(?:now|next) (?:i|the|add|update|implement|create|run|write|check|fix|close)\b)",
    re.IGNORECASE,
)
_STOP = frozenset(
    _WORD.findall(
        "a an the and or but if then else so as of at by for from in into on onto out over to up with without about is"
        " are was were be been being am do does did done have has had having it its this that these those there here he"
        " she they them his her their we us our you your i me my mine yours what which who whom whose when where why"
        " how not no nor can could will would shall should may might must just also too very more most much many some"
        " any all each than let's let it's i'm i'll i've i'd you're we're that's there's don't doesn't didn't isn't now"
        " please s t ll re ve d m"
    )
)


def statements(messages: Iterable[Message]) -> list[str]:
    """The statements in messages, each once."""
    return list(dict.fromkeys(each for message in messages for each in sentences(words(message))))


def sentences(text: str) -> Iterator[str]:
    """The statements of a text."""
    for line in _FENCED.sub("\n", text).splitlines():
        if line.lstrip().startswith("|"):
            continue
        for sentence in _END.split(_MARK.sub("", line)):
            said = _PLEASANT.sub("", sentence, count=1) if _PLEASANT.match(sentence) else sentence
            if len(set(content_words(said))) >= FEWEST_WORDS:
                yield sentence.strip()


def is_announcement(statement: str) -> bool:
    """Whether it only says what comes at once: "Now let me run the tests." """
    return bool(_ANNOUNCED.match(statement))


def content_words(text: str) -> list[str]:
    """Its words in lower case without those that only join others."""
    return [word for word in _WORD.findall(text.lower().replace("’", "'")) if word not in _STOP]


class Left:
    """What is left of a context, to be asked what stands in it."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._lines_with: dict[str, set[int]] = defaultdict(set)
        units = (unit for text in texts for line in text.splitlines() for unit in _windows(content_words(line)))
        for at, unit in enumerate(units):
            for word in unit:
                self._lines_with[word].add(at)

    @classmethod
    def of(cls, messages: Iterable[Message]) -> Left:
        """Of the words of people and agent, summaries among them; tool output and arguments are not looked at."""
        return cls(map(shown, messages))

    def has(self, statement: str) -> bool:
        """Whether enough of its content words stand in one line."""
        wanted = set(content_words(statement))
        found: Counter[int] = Counter()
        for word in wanted:
            found.update(self._lines_with.get(word, ()))
        return bool(wanted) and max(found.values(), default=0) >= ENOUGH * len(wanted)

    def share(self, said: Iterable[str]) -> tuple[int, int]:
        """How many of these statements are kept, and how many they are."""
        kept = [self.has(each) for each in said]
        return sum(kept), len(kept)


def _windows(line: list[str]) -> Iterator[frozenset[str]]:
    for start in range(0, max(len(line) - WIDEST, 0) + 1, WIDEST // 2):
        yield frozenset(line[start : start + WIDEST])
    if len(line) > WIDEST:
        yield frozenset(line[-WIDEST:])
