"""Searching one session for what a question asks, with the texts themselves as the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from viewer.stores.errors import StoreError
from viewer.stores.registry import Reader
from viewer.web import cursors

from .ranking import RankedPassage, nearest_first, ranked
from .terms import SearchTerm, terms_of
from .texts import Author, RecalledMessage, RecalledText, SessionTexts, ShownText, shown_texts, texts_of

Only = Literal["summarised", "all"]

ANSWER = 6_000  # characters of the texts of one answer
# Characters of a message that is shown whole; of a longer one, what is shown before a passage and behind it. In the
# first answer to a question, and in later ones, which are for what the best matches do not have.
FIRST, LATER = (1_100, 100), (500, 0)
LEAST = 200  # characters: the last text of an answer is not cut to fewer
QUESTION = 0.7  # share of the terms by which the newest prompt is the question itself


class NothingAsked(StoreError):
    """The query has no words."""

    code = "nothing_asked"
    status = 422


@dataclass(frozen=True, slots=True)
class RecalledHit:
    """A part of a message, with its position in the message's text of `length` characters. `place` is the message's
    number in History, counted from 1; `in_context`: the message is still there, if not all of it.
    """

    id: int
    place: int
    author: Author
    tool: str
    calls: tuple[str, ...]
    time: float
    text: str
    start: int
    end: int
    length: int
    in_context: bool

    def part(self, text: str) -> RecalledHit:
        """The same with only the beginning of its text."""
        return replace(self, text=text, end=self.start + len(text))


@dataclass(frozen=True, slots=True)
class RecalledHits:
    """One page of hits, the best first; `next` is the cursor of the next page, "" for none. `searched` counts the
    messages that were searched, of `messages` in the session.
    """

    hits: tuple[RecalledHit, ...]
    next: str
    searched: int
    messages: int
    only: Only


def search_history(
    reader: Reader, session_id: str, query: str, only: Only = "summarised", cursor: str = "", size: int = ANSWER
) -> RecalledHits:
    """What messages of a session say about a question: those that are no longer in context, or all of them. Neither the
    question itself nor what our own tools answered is among them.

    Raises NotFound, StoreUnavailable, NothingAsked, and BadCursor for a cursor of another question.
    """
    terms = terms_of(query)
    if not terms:
        raise NothingAsked("Ask with words: the question itself will do.")
    kind = f"search {only} {cursors.digest(query)}"
    first, skip = (max(each, 0) for each in cursors.read(cursor, kind, int, int)) if cursor else (0, 0)
    session = reader.session(reader.newest_part(session_id))
    texts = texts_of(reader, session)
    searched = _searched(texts, terms, only)
    passages = ranked(searched, terms)
    if first:
        passages = nearest_first(passages, first)
    windows, used = _windows(searched, passages, first, skip, size)
    shown = shown_texts(reader, session.id, [searched[each.at] for each in windows])
    hits = tuple(
        _hit(searched[each.at], each, shown[searched[each.at].entry.id])
        for each in windows
        if searched[each.at].entry.id in shown
    )
    following = cursors.written(kind, first or used, skip + used) if used and windows else ""
    return RecalledHits(hits, following, len(searched), texts.index.messages, only)


def _searched(texts: SessionTexts, terms: Sequence[SearchTerm], only: Only) -> list[RecalledMessage]:
    if only == "summarised":
        return [each for each in texts.messages if each.away]
    prompts = [each for each in texts.messages if each.words.author == "person"]
    question = prompts[-1] if prompts and _asks(prompts[-1].words, terms) else None
    return [each for each in texts.messages if each is not question]


def _asks(words: RecalledText, terms: Sequence[SearchTerm]) -> bool:
    """Whether a message has most words of the question."""
    return sum(any(term.occurrences(words.text, words.folded)) for term in terms) >= QUESTION * len(terms)


# -- what is shown of a message ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Window:
    """The part of the message `at` that is shown."""

    at: int
    start: int
    end: int


def _windows(
    messages: Sequence[RecalledMessage], passages: Sequence[RankedPassage], first: int, skip: int, size: int
) -> tuple[list[_Window], int]:
    """What the next answer shows, and how many passages are in it, 0 for all that there are. The `first` ones were in
    the first answer and `skip` in all before: what these showed is passed over. Later answers show less around each.
    """
    before: list[_Window] = []
    for number, passage in enumerate(passages[:skip]):
        before = _joined(before, _around(messages, passage, FIRST if number < first else LATER))
    windows: list[_Window] = []
    for used, passage in enumerate(passages[skip:]):
        if any(_covers(each, passage) for each in (*before, *windows)):
            continue
        window = _around(messages, passage, LATER if skip else FIRST)
        joined = _joined(windows, window)
        over = sum(each.end - each.start for each in joined) - size
        if over > 0 and (windows or window.end - window.start - over < LEAST):
            return windows, used
        windows = joined
    return windows, 0


def _around(messages: Sequence[RecalledMessage], passage: RankedPassage, shown: tuple[int, int]) -> _Window:
    words = messages[passage.at].words
    whole, around = shown
    if len(words.text) <= whole:
        return _Window(passage.at, 0, len(words.text))
    start = max(0, passage.start - around)
    end = min(len(words.text), passage.end + around)
    if start:
        least = max(0, start - 80)
        near = max(words.text.rfind("\n", least, start), words.text.rfind(" ", least, start))
        start = near + 1 if near >= 0 else start
    return _Window(passage.at, start, end)


def _covers(window: _Window, passage: RankedPassage) -> bool:
    return window.at == passage.at and window.start <= passage.start and passage.end <= window.end


def _joined(windows: list[_Window], new: _Window) -> list[_Window]:
    """The windows with one more; where it touches one of its message, both are one, where that was."""
    for number, each in enumerate(windows):
        if each.at == new.at and new.start <= each.end and each.start <= new.end:
            both = _Window(new.at, min(each.start, new.start), max(each.end, new.end))
            return [*windows[:number], both, *windows[number + 1 :]]
    return [*windows, new]


def _hit(message: RecalledMessage, window: _Window, shown: ShownText) -> RecalledHit:
    words = message.words
    start, end = shown.at(window.start), shown.at(window.end)
    if window.end == len(words.text):
        end = len(shown.text)
    return RecalledHit(
        id=message.entry.id,
        place=message.place,
        author=words.author,
        tool=words.tool,
        calls=words.named_calls,
        time=words.time,
        text=shown.text[start:end].strip(),
        start=start,
        end=end,
        length=len(shown.text),
        in_context=message.entry.state == "live",
    )
