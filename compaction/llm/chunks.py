"""Cutting a digest into chunks that fit a window: between messages if possible, else inside a message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..tokens import Counter
from .transcript import RenderedMessage


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of the digest: its text, the entries [first, last] in it, and the label of the
    entry it begins inside.
    """

    text: str
    first: int
    last: int
    begins_inside: str = ""


def chunks_of(shown: Sequence[RenderedMessage], sizes: Sequence[int], room: int, count: Counter) -> Iterator[Chunk]:
    """The entries in stretches of at most `room` tokens; joined in order they are the whole digest.

    Joined entries stay together if a chunk can hold them; only an entry larger than a chunk is cut.
    """
    start, used, lead, inside = 0, 0, "", ""  # the open chunk; `lead`: the rest of the cut entry it begins with
    for first, last in _groups(shown, sizes, room):
        size = sum(sizes[first : last + 1])
        if first > start and used + size > room:
            yield Chunk(lead + _text(shown, start, first, bool(lead)), start, first - 1, inside)
            start, used, lead, inside = first, 0, "", ""
        if size > room:  # a single entry
            *pieces, lead = cut_to_fit(shown[first].text, room, count)
            for i, piece in enumerate(pieces):
                yield Chunk(piece, first, first, shown[first].label if i else "")
            inside, size = shown[first].label if pieces else "", count(lead)
        used += size
    if start < len(shown):
        yield Chunk(lead + _text(shown, start, len(shown), bool(lead)), start, len(shown) - 1, inside)


def _text(shown: Sequence[RenderedMessage], first: int, end: int, cut: bool) -> str:
    """The text of the entries; the first one is left out if it was cut."""
    return "".join(entry.text for entry in shown[first + cut : end])


def _groups(shown: Sequence[RenderedMessage], sizes: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """Stretches [first, last] that stay together: joined entries if a chunk can hold them, else each entry alone."""
    first = 0
    for end in range(1, len(shown) + 1):
        if end < len(shown) and shown[end].joined:
            continue
        if sum(sizes[first:end]) <= room:
            yield first, end - 1
        else:
            yield from ((i, i) for i in range(first, end))
        first = end


def cut_to_fit(text: str, room: int, count: Counter) -> Iterator[str]:
    """The text in pieces of at most `room` tokens, cut after a line, a sentence or a word if one ends nearby.

    The size of a piece is estimated from the characters per token so far and then counted; a single character is always
    accepted.
    """
    at, size = 0, max(room * 3, 1)
    while at < len(text):
        piece = text[at : _good_end(text, at, at + size)]
        tokens = count(piece)
        while tokens > room and len(piece) > 1:
            size = max(min(int(len(piece) * room / tokens * 0.95), len(piece) - 1), 1)
            piece = text[at : _good_end(text, at, at + size)]
            tokens = count(piece)
        yield piece
        at += len(piece)
        size = max(int(len(piece) * room / max(tokens, 1) * 0.95), 1)


def _good_end(text: str, start: int, end: int) -> int:
    if end >= len(text):
        return len(text)
    for sign in ("\n", "。", ". ", " "):
        position = text.rfind(sign, start + (end - start) * 3 // 4, end)
        if position > start:
            return position + len(sign)
    return end
