"""Rules of the workspace: what of its context file is carried through a compaction, and how they stand in a summary.

The context file is data that anyone who may write to the workspace wrote. What is carried of it is short, without
credentials, and can end neither its own block nor the summary around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from . import protocol
from .secrets import redact

# --- sections of a Markdown file --------------------------------------------------------------------------------------
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*(.*)")  # the line that opens or closes a block of code


class _Heading(NamedTuple):
    line: int
    level: int
    title: str


def extract_sections(content: str, names: Sequence[str]) -> list[str]:
    """The first section of each name, in the order of the names, heading and sub-headings included.

    A section is an H2 or H3 whose whole title is the name, in any case, up to the next heading of its level or above.
    A heading inside a block of code is none (CommonMark 0.31, 4.2 and 4.5); a fence that is never closed is no fence.
    """
    lines = content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    headings = list(_headings(lines))
    places: dict[str, int] = {}
    for at, heading in enumerate(headings):
        if heading.level in (2, 3):
            places.setdefault(heading.title, at)
    wanted = dict.fromkeys(name.strip().casefold() for name in names)
    return [_section(lines, headings, places[name]) for name in wanted if name in places]


def sections_of(content: str, names: Sequence[str] = protocol.RULE_SECTIONS) -> list[str]:
    """`extract_sections`; of the default names, where none is found, those that older templates use."""
    found = extract_sections(content, names)
    if not found and tuple(names) == protocol.RULE_SECTIONS:
        return extract_sections(content, protocol.LEGACY_RULE_SECTIONS)
    return found


def _section(lines: list[str], headings: list[_Heading], at: int) -> str:
    start, level = headings[at].line, headings[at].level
    end = next((later.line for later in headings[at + 1 :] if later.level <= level), len(lines))
    return "\n".join(lines[start:end]).strip()


def _headings(lines: list[str]) -> Iterator[_Heading]:
    for at, (line, fenced) in enumerate(zip(lines, _fenced(lines), strict=True)):
        heading = _heading(at, line) if "#" in line and not fenced else None
        if heading:
            yield heading


def _heading(at: int, line: str) -> _Heading | None:
    """The heading on this line, its title folded for comparison; None if there is none."""
    text = line.lstrip(" ")
    title = text.lstrip("#")
    level = len(text) - len(title)
    if len(line) - len(text) > 3 or not 1 <= level <= 6 or title[:1] not in ("", " ", "\t"):
        return None
    title = title.strip()
    open_end = title.rstrip("#")
    if not open_end or open_end[-1] in " \t":  # "## Red Lines ##"
        title = open_end.strip()
    return _Heading(at, level, title.casefold())


def _fenced(lines: list[str]) -> list[bool]:
    """For each line whether it stands in a block of code, fences included."""
    fences = [_fence(line) for line in lines]
    longest = {"`": 0, "~": 0}  # of the fences further down that may close one
    closable = [False] * len(lines)
    for at in range(len(lines) - 1, -1, -1):
        mark, length, bare = fences[at]
        if mark:
            closable[at] = length <= longest[mark]
            longest[mark] = max(longest[mark], length if bare else 0)
    fenced, opened = [], ("", 0)
    for (mark, length, bare), closes in zip(fences, closable, strict=True):
        inside = bool(opened[0])
        if inside and bare and mark == opened[0] and length >= opened[1]:
            opened = ("", 0)
        elif not inside and mark and closes:
            opened, inside = (mark, length), True
        fenced.append(inside)
    return fenced


def _fence(line: str) -> tuple[str, int, bool]:
    """A fence's character, its length, and whether nothing follows it; ("", 0, False) for another line."""
    found = _FENCE.match(line) if "```" in line or "~~~" in line else None
    return (found[1][0], len(found[1]), not found[2].strip()) if found else ("", 0, False)


# --- what is carried --------------------------------------------------------------------------------------------------
_TAG = re.compile(r"(?i)<(\s{0,9}/?\s{0,9}workspace-critical-rules[^<>]{0,40})>")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BRACKETED = (*protocol.HEADERS, protocol.PRIOR_HEADER)


def carried(sections: Sequence[str], limit: int = protocol.RULES_CHARS) -> str:
    """The sections as one text of at most `limit` characters, a line saying what was cut included; "" for none.

    Without credentials, NUL and lone surrogates; quoted markers of a summary and of the block itself are defused.
    """
    text = _SURROGATE.sub("\ufffd", "\n\n".join(section.strip() for section in sections if section.strip()))
    return _cut(_defused(redact(text.replace("\0", ""))).strip(), limit)


def _defused(text: str) -> str:
    for marker, neutral in protocol.NEUTRAL.items():
        text = text.replace(marker, neutral)
    for header in _BRACKETED:
        text = text.replace(header, header.replace("[", "(").replace("]", ")"))
    return _TAG.sub(r"[\1]", text)


def _cut(text: str, limit: int) -> str:
    """The text, or its first lines and how much is left out; a line longer than half of what fits is cut itself."""
    if len(text) <= limit:
        return text
    room = limit - len(protocol.CUT_SHORT.format(len(text))) - 1
    if room <= 0:
        return text[: max(limit, 0)].strip()
    end = text.rfind("\n", 0, room + 1)
    kept = text[: end if end > room // 2 else room].rstrip()
    return f"{kept}\n{protocol.CUT_SHORT.format(len(text) - len(kept))}".strip()


# --- the block in a summary -------------------------------------------------------------------------------------------
def block(text: str) -> str:
    """The rules between their tags; "" for none."""
    return f"{protocol.RULES_OPEN}\n{text}\n{protocol.RULES_CLOSE}" if text else ""


def with_rules(body: str, rules: str) -> str:
    """The body with these rules (`carried`) at its end, in place of any it had."""
    return "\n\n".join(piece for piece in (without_rules(body), block(rules)) if piece)


def without_rules(body: str) -> str:
    """The body without the rules in it. Tags inside a sentence, or without their counterpart, are text."""
    lines = body.split("\n")
    edges = [0, *(edge for first, last in _blocks(lines) for edge in (first, last + 1)), len(lines)]
    pieces = [lines[start:end] for start, end in list(pairwise(edges))[::2]]
    return "\n\n".join(piece for piece in map(_without_blank_ends, pieces) if piece).strip()


def rules_in(body: str) -> str:
    """The rules in a body, those of the last block; "" for none."""
    lines = body.split("\n")
    found = _blocks(lines)
    return "\n".join(lines[found[-1][0] + 1 : found[-1][1]]) if found else ""


def _blocks(lines: list[str]) -> list[tuple[int, int]]:
    """The first and last line of each whole block, in order; of one inside another only the outer one."""
    opened: list[int] = []
    found: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        tag = line.strip()
        if tag == protocol.RULES_OPEN:
            opened.append(at)
        elif tag == protocol.RULES_CLOSE and opened:
            start = opened.pop()
            while found and found[-1][0] > start:
                found.pop()
            found.append((start, at))
    return found


def _without_blank_ends(lines: list[str]) -> str:
    said = [at for at, line in enumerate(lines) if line.strip()]
    return "\n".join(lines[said[0] : said[-1] + 1]) if said else ""
