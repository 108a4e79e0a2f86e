"""Other people's words inside our Markdown text, written so that they can neither end nor join the text around them."""

from __future__ import annotations

import re

from compaction.text.fences import open_behind
from viewer.stores.clean_text import clean

_ATX = re.compile(r"( {0,3})(#{1,4})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_TAG = re.compile(r" {0,3}(?=<[A-Za-z/!?])")
_RUN = re.compile(r"`+")


def fenced(text: str, language: str = "") -> str:
    """The text in a fence that its content cannot close."""
    text = clean(text)
    longest = max((len(run) for run in _RUN.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n"


def embedded(text: str) -> str:
    """A Markdown text to put between the headings of an export: its own headings go two levels down, an open fence is
    closed, a tag at the start of a line becomes text.
    """
    lines: list[str] = []
    fence = ""
    for line in clean(text).split("\n"):
        before, fence = fence, open_behind([line], fence)
        lines.append(line if before or fence else _tamed(line, lines[-1] if lines else ""))
    return "\n".join([*lines, fence] if fence else lines)


def _tamed(line: str, before: str) -> str:
    if _ATX.match(line):
        return _ATX.sub(lambda match: f"{match[1]}##{match[2]}", line, count=1)
    if before.strip() and _UNDERLINE.match(line):
        return f"\\{line.lstrip(' ')}"
    return _TAG.sub(lambda match: f"{match[0]}\\", line, count=1)


def quoted(text: str) -> str:
    """The text as a Markdown quotation."""
    return "\n".join(f"> {line}" if line else ">" for line in embedded(text).split("\n"))


def escaped(text: str) -> str:
    """A line in which all Markdown is escaped."""
    return re.sub(r"([\\`*{}\[\]<>#|~&]|(?<![^\W_])_|_(?![^\W_]))", r"\\\1", text)
