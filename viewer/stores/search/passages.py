"""The text of a row that a person can read, and the passage of it that is shown for a query.

Marks are data, not text: a passage is a sequence of pieces, and no content can imitate one.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import compaction
from compaction import messages, redaction
from viewer.stores.envelopes import Envelopes, split
from viewer.stores.message import StoredMessage

from .query import Query, fold

BEFORE, LENGTH = 60, 260  # characters: how far before the first match a passage begins, and its length


@dataclass(frozen=True, slots=True)
class PassagePart:
    text: str
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Readable:
    """A row's words: `said` is what its role says, calls included, `added` what a client put around a person's words,
    `summary` what a compaction wrote into it; `cut` says that there is more than was read, `raw` is the row as stored.
    """

    said: str
    added: str
    summary: str
    raw: str
    cut: bool

    @property
    def text(self) -> str:
        return "\n".join(filter(None, (self.said, self.added, self.summary)))

    def holding(self, query: Query) -> Literal["said", "added", "summary"]:
        """The first of the three that matches the query, `said` before all; the summary of a merged row, and where none
        matches.
        """
        for name in _PARTS:
            text = getattr(self, name)
            if text and query.marks.search(fold(text)) is not None:
                return name
        return "summary" if self.summary else "said"

    def passage_in(self, part: Literal["said", "added", "summary"], query: Query) -> tuple[PassagePart, ...]:
        """The passage around the first match in one of these, or in another one where it has no words."""
        return passage(getattr(self, part) or self.said or self.added or self.summary, query)


_PARTS: tuple[Literal["said", "added", "summary"], ...] = ("said", "added", "summary")


def readable(
    content: Any,
    tool_calls: list[dict[str, Any]],
    tool_name: Any,
    *,
    raw: str,
    flagged: bool,
    cut: bool = False,
    redacting: bool = False,
    envelopes: Envelopes | None = None,
) -> Readable:
    """The words of a row with this content and these calls, stored as `raw`.

    With `redacting`, what looks like a secret is replaced. It is searched in the values and not in the words made from
    them, in which a name is no longer next to its value.
    """
    if redacting:
        content, tool_calls, tool_name = redaction.redact_shown_value([content, tool_calls, tool_name])
    parts = compaction.split(content, flagged=flagged)
    summary = "\n".join(part.text for part in parts if part.kind == "summary")
    live, added = _live([part.content for part in parts if part.kind != "summary"], envelopes)
    texts = [*live, *_calls(content, tool_calls), str(tool_name or "")]
    return Readable(
        said=_composed("\n".join(text for text in texts if text)),
        added=_composed(added),
        summary=_composed(summary),
        raw=_composed(raw),
        cut=cut,
    )


def words_of(row: StoredMessage, *, redacting: bool = False) -> Readable:
    """The words of a whole message, without `raw`."""
    return readable(
        row.content,
        row.tool_calls,
        row.tool_name,
        raw="",
        flagged=row.flagged,
        redacting=redacting,
        envelopes=row.envelopes,
    )


def _live(contents: Sequence[Any], envelopes: Envelopes | None) -> tuple[list[str], str]:
    """The texts of contents, and what a client added to a person's words in them."""
    splits = [split(content, envelopes) for content in contents]
    if all(each.kind for each in splits):
        return [messages.text(content) for content in contents], ""
    return [messages.text(each.typed) for each in splits], "\n".join(text for each in splits for text in each.added)


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _calls(content: Any, tool_calls: list[dict[str, Any]]) -> list[str]:
    calls = messages.calls({"content": content, "tool_calls": tool_calls})
    return [f"{call.name} {arguments_text(call.arguments)}" for call in calls]


def arguments_text(text: str) -> str:
    """The arguments of a call without JSON's quotes and escapes, each with its name."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(value, dict):
        return text
    return "\n".join(f"{name}: {each if isinstance(each, str) else _json(each)}" for name, each in value.items())


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return ""


# -- passages ----------------------------------------------------------------------------------------------------------


def passage(text: str, query: Query) -> tuple[PassagePart, ...]:
    """The stretch of `text` (composed) around the first match, with all matches marked; the start of the text where
    there is none.
    """
    folded = fold(text)
    first = query.marks.search(folded)
    start = _word_start(text, max(0, first.start() - BEFORE)) if first else 0
    stop = _word_end(text, min(len(text), max(start + LENGTH, first.end() if first else 0)))
    pieces = [PassagePart("… ")] if start else []
    at = start
    for match in query.marks.finditer(folded, start, stop):
        if match.end() > match.start() >= at:
            pieces += [PassagePart(text[at : match.start()]), PassagePart(text[match.start() : match.end()], True)]
            at = match.end()
    pieces += [PassagePart(text[at:stop]), PassagePart(" …" if stop < len(text) else "")]
    return tuple(PassagePart(_spaced(piece.text), piece.marked) for piece in pieces if piece.text)


def _word_start(text: str, at: int) -> int:
    """The next beginning of a word at or after a position, if one is near: no passage begins within a word."""
    if not at or text[at - 1].isspace():
        return at
    near = next((position for position in range(at, min(at + 20, len(text))) if text[position].isspace()), None)
    return at if near is None else near + 1


def _word_end(text: str, at: int) -> int:
    """The end of the word at a position, if it is near."""
    near = (position for position in range(at, min(at + 20, len(text))) if text[position].isspace())
    return next(near, at if at + 20 < len(text) else len(text))


def _spaced(text: str) -> str:
    """White space as single spaces, also at the ends."""
    inner = " ".join(text.split())
    lead, trail = text[:1].isspace(), text[-1:].isspace()
    return f"{' ' if lead else ''}{inner}{' ' if trail and inner else ''}"
