"""What a client puts around a person's words in one message, and the rest of the message without it.

A client adds at the two ends of a text: tags, headed blocks, lines. Each client's folder has a table of these
(`Envelopes`); this module is their interpreter. Only a piece at the beginning or end of a text that is complete (a tag
with its end) counts as added. Anything that no table knows counts as typed, and so does a tag that somebody quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from compaction import messages as chat
from compaction.handoff import TEXT_TYPES, block_text


class Added(NamedTuple):
    """A piece that a client added, up to the position `end` of a text. `typed` are a person's words within it, `around`
    is the piece without them, and `is_run` says that it is a command which a person ran in the client.
    """

    end: int
    typed: str = ""
    around: str = ""
    is_run: bool = False


Leading = Callable[[str, int], Added | None]  # what was added at this position of a text, None for nothing
Trailing = Callable[
    [str, int, int], int | None
]  # the start of what was added between two positions and ends at the second
RAN = "a command that somebody ran"  # the kind of a message that only holds a command; see `Split.kind` for others


@dataclass(frozen=True, slots=True)
class Envelopes:
    """What one client adds; `by` is its name. `leading` and `trailing` are tried again after each match, `rest` once:
    everything from there on was added.
    """

    by: str
    leading: tuple[Leading, ...] = field(repr=False)
    trailing: tuple[Trailing, ...] = field(default=(), repr=False)
    rest: tuple[Trailing, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Split:
    """A message's content without what a client added, in its own shape with every block in its place, and the texts
    that were `added`. `kind` is "" where a person typed something, else what the message is. `is_command`: some of what
    was typed is inside of what was added, as the name and the words of a client's command are.
    """

    typed: Any
    added: tuple[str, ...] = ()
    kind: str = ""
    is_command: bool = False

    @property
    def words(self) -> str:
        """What was typed, as text."""
        return chat.said(self.typed)


def split(content: Any, envelopes: Envelopes | None) -> Split:
    """The content of a person's message, taken apart; all of it is typed where there are no envelopes."""
    blocks = content if isinstance(content, list) else [content]
    pieces = [_piece(block, envelopes) for block in blocks] if envelopes is not None else []
    added = tuple(text for piece in pieces for text in piece.added)
    if not added or envelopes is None:
        return Split(content)
    remaining = [_with_text(block, piece) for block, piece in zip(blocks, pieces, strict=True)]
    is_typed = any(piece.text.strip() or not piece.is_text for piece in pieces)
    kind = RAN if any(piece.is_run for piece in pieces) else f"added by {envelopes.by}"
    is_command = any(piece.is_command for piece in pieces)
    return Split(remaining if isinstance(content, list) else remaining[0], added, "" if is_typed else kind, is_command)


class _Piece(NamedTuple):
    """One block: what is typed of its text, what was added to it, and whether that is a command that was run, or one
    with words of a person in it.
    """

    text: str
    added: Sequence[str] = ()
    is_run: bool = False
    is_command: bool = False
    is_text: bool = True


def _piece(block: Any, envelopes: Envelopes) -> _Piece:
    text = block_text(block)
    is_text = isinstance(block, str) or (isinstance(block, dict) and block.get("type", "text") in TEXT_TYPES)
    return _text(text, envelopes) if text else _Piece("", is_text=is_text)


def _with_text(block: Any, piece: _Piece) -> Any:
    if not piece.added:
        return block
    return {**block, "text": piece.text} if isinstance(block, dict) else piece.text


def _text(text: str, envelopes: Envelopes) -> _Piece:
    """One text, taken apart from both ends."""
    start, end = 0, len(text)
    within: list[str] = []
    added: list[str] = []
    is_run = False
    while piece := _leading(text, _behind_space(text, start), envelopes):
        added.append(piece.around.strip() if piece.typed else text[start : piece.end].strip())
        within += [piece.typed] if piece.typed else []
        is_run = is_run or piece.is_run
        start = piece.end
    behind: list[str] = []
    if (at := _trailing(text, start, end, envelopes.rest)) is not None:
        behind.append(text[at:end].strip())
        end = at
    while (at := _trailing(text, start, end, envelopes.trailing)) is not None:
        behind.append(text[at:end].strip())
        end = at
    if not added and not behind:
        return _Piece(text)
    typed = "\n\n".join(filter(None, (*within, text[start:end].strip())))
    return _Piece(typed, [*added, *reversed(behind)], is_run, is_command=bool(within))


def _leading(text: str, at: int, envelopes: Envelopes) -> Added | None:
    candidates = (each(text, at) for each in envelopes.leading) if at < len(text) else iter(())
    return next((each for each in candidates if each is not None and each.end > at), None)


def _trailing(text: str, start: int, end: int, forms: Sequence[Trailing]) -> int | None:
    last = _before_space(text, end)
    candidates = (each(text, start, last) for each in forms) if last > start else iter(())
    return next((each for each in candidates if each is not None and start <= each < last), None)


_SPACE = re.compile(r"\s*")


def _behind_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _before_space(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end


# -- the forms of which tables are made --------------------------------------------------------------------------------


def tags(*names: str, attribute: str = "", is_run: bool = False) -> Leading:
    """Elements of these names, whole and with everything nested in them; with `attribute`, only those whose first
    attribute it is. A name may be a regular expression.
    """
    behind = rf"\s+{attribute}=[^<>]*" if attribute else r"(?:\s[^<>]*)?"
    opening = re.compile(rf"<(?P<name>{'|'.join(names)}){behind}>")

    def leading(text: str, at: int) -> Added | None:
        match = opening.match(text, at)
        end = None if match is None else closed(text, match["name"], match.end())
        return None if end is None else Added(end, is_run=is_run)

    return leading


def tags_behind(*names: str) -> Trailing:
    """The same at the end of a text. One that ends a typed line is quoted there."""
    closing = re.compile(rf"</(?P<name>{'|'.join(names)})>")

    def trailing(text: str, start: int, end: int) -> int | None:
        last = text.rfind("</", start, end)
        match = closing.fullmatch(text, last, end) if last >= 0 else None
        begin = None if match is None else _opened(text, match["name"], start, last)
        if begin is None or (text[max(begin - 1, start)] in " \t" and "\n" not in text[begin:end]):
            return None
        return begin

    return trailing


def pattern(expression: str, *, is_run: bool = False) -> Leading:
    """What an expression matches; its group `typed`, if it has one, holds a person's words."""
    compiled = re.compile(expression)

    def leading(text: str, at: int) -> Added | None:
        match = compiled.match(text, at)
        if match is None:
            return None
        typed = match["typed"] if "typed" in compiled.groupindex else None
        if not typed:
            return Added(match.end(), is_run=is_run)
        around = f"{text[at : match.start('typed')]}{text[match.end('typed') : match.end()]}"
        return Added(match.end(), typed.strip(), around)

    return leading


def headed(heading: str, marker: str) -> Leading:
    """A text that begins with this heading, up to the marker at the beginning of a line, before the person's words."""
    begins, ends = re.compile(heading), re.compile(rf"(?m)^(?:{marker})")

    def leading(text: str, at: int) -> Added | None:
        match = begins.match(text, at)
        marked = ends.search(text, match.end()) if match else None
        return Added(marked.end()) if marked else None

    return leading


def from_line(expression: str) -> Trailing:
    """Everything from the first line that the expression matches."""
    compiled = re.compile(rf"(?m)^(?:{expression})")

    def trailing(text: str, start: int, end: int) -> int | None:
        match = compiled.search(text, start, end)
        return match.start() if match else None

    return trailing


def last_line(expression: str) -> Trailing:
    """A last line that the expression matches as a whole."""
    compiled = re.compile(expression)

    def trailing(text: str, start: int, end: int) -> int | None:
        begin = max(text.rfind("\n", start, end) + 1, start)
        return begin if compiled.fullmatch(text, begin, end) else None

    return trailing


def closed(text: str, name: str, at: int) -> int | None:
    """The position after the end of the element that was opened before `at`; where it is nested wrongly, after the last
    end tag. None for none.
    """
    depth, end = 1, None
    for match in _tag(name).finditer(text, at):
        depth += -1 if match["close"] else 1
        if match["close"]:
            end = match.end()
        if not depth:
            break
    return end


def _opened(text: str, name: str, start: int, last: int) -> int | None:
    """Where, after `start`, the element begins whose end tag is at the position `last`; as `closed`."""
    depth, begin, at = 1, None, last
    while depth and (at := text.rfind("<", start, at)) >= 0:
        if match := _tag(name).match(text, at):
            depth += 1 if match["close"] else -1
            begin = begin if match["close"] else at
    return begin


@lru_cache(maxsize=200)
def _tag(name: str) -> re.Pattern[str]:
    return re.compile(rf"<(?P<close>/?){re.escape(name)}(?:\s[^<>]*)?>")
