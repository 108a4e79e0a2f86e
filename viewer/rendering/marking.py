"""Marks at words in rendered HTML: the words of a search, at their positions.

Marks are set only in the text between tags, which is escaped again; the page's own text, such as the line of a fold or
a button, is unchanged.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from html import unescape

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from viewer.stores.search.query import fold, parse

_TAG = re.compile(r"""(<(?:[^<>"']++|"[^"]*+"|'[^']*+')*+>)""")
_OWN = re.compile(r"<(/?)(?:button|summary)\b")
_CODE = re.compile(r"<(/?)(?:pre|code)\b")
_ELEMENT = re.compile(r"&lt;/?[a-z][\w:.-]{0,80}(?: [^&<>\n]{0,200})?/?&gt;", re.IGNORECASE)

Span = tuple[int, int]


class WordMarks:
    """Finds a search's words: the whole text as typed, or any of its words; if there are none, parts of words."""

    def __init__(self, typed: str) -> None:
        words, whole = parse(typed), parse(typed, whole=True)
        inside = words.inside
        first = [query.marks for query in (whole, words) if not query.empty]
        self._ways = [first, [inside.marks] if inside is not None else []]

    def spans(self, text: str) -> list[Span]:
        """The positions in a composed text, in order, without overlaps."""
        folded = fold(text)
        for way in self._ways:
            matches = sorted(match.span() for pattern in way for match in pattern.finditer(folded))
            if matches:
                return _joined(matches)
        return []

    def marked(self, html: SafeString) -> SafeString:
        """The HTML with the words in it marked; unchanged if it has none of them."""
        pieces = _TAG.split(html)
        texts = _texts(pieces)
        spans = self.spans("".join(texts))
        return mark_safe("".join(_with_marks(pieces, texts, spans))) if spans else html  # noqa: S308  # text is escaped


def with_quiet_tags(html: SafeString) -> SafeString:
    """The HTML of a text with the tags that the text itself has set apart, outside of code: a model reads words and
    markup alike, people look for the words.
    """
    pieces, code = _TAG.split(html), 0
    for at, piece in enumerate(pieces):
        if at % 2:
            tag = _CODE.match(piece)
            code += 0 if tag is None else -1 if tag[1] else 1
        elif not code:
            pieces[at] = _ELEMENT.sub(r'<span class="markup">\g<0></span>', piece)
    return mark_safe("".join(pieces))  # noqa: S308  # only our own tags are added


def _joined(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, stop in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        elif stop > start:
            joined.append((start, stop))
    return joined


def _texts(pieces: Sequence[str]) -> list[str]:
    """The text of each piece as a reader sees it; "" for a tag, and for the page's own text."""
    texts, own = [], 0
    for at, piece in enumerate(pieces):
        if at % 2:
            tag = _OWN.match(piece)
            own += 0 if tag is None else -1 if tag[1] else 1
        texts.append("" if at % 2 or own else unicodedata.normalize("NFC", unescape(piece)))
    return texts


def _with_marks(pieces: Sequence[str], texts: Sequence[str], spans: Sequence[Span]) -> Iterator[str]:
    begins = at = 0
    for piece, text in zip(pieces, texts, strict=True):
        ends, done = begins + len(text), begins
        while at and spans[at - 1][1] > begins:  # one that began in a piece before may reach into this one
            at -= 1
        while at < len(spans) and text and spans[at][0] < ends:
            start, stop = max(spans[at][0], begins), min(spans[at][1], ends)
            if stop > start:
                before, inside = text[done - begins : start - begins], text[start - begins : stop - begins]
                yield f"{escape(before)}<mark>{escape(inside)}</mark>"
                done = stop
            at += 1
        yield escape(text[done - begins :]) if done > begins else piece
        begins = ends
