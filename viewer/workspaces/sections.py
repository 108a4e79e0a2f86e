"""What of a context file is carried over a compaction: its sections, within a limit, and the files they name.

The context file is data from anyone who may write to the workspace. What is carried is short, without credentials, and
can end neither its own block nor the summary around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Literal, NamedTuple
from urllib.parse import unquote

from compaction.handoff import CUT_SHORT, HEADERS, PRIOR_HEADER, defused
from compaction.redaction import redact
from compaction.text.fences import closes, fence_of

from . import paths

# Titles and both limits are those of OpenClaw's enforcement after a compaction (PR #18049, #34556).
RULES_CHARS, EVENT_CHARS = 2_000, 3_000  # of rules carried in a summary, and quoted in a note for the next turn
RULE_SECTIONS = ("Session Startup", "Red Lines")
LEGACY_RULE_SECTIONS = ("Every Session", "Safety")  # their names in OpenClaw's template until March 2026
STARTUP_SECTIONS = (RULE_SECTIONS[0], LEGACY_RULE_SECTIONS[0])  # those that name the files to read
MOST_REQUIRED = 20  # files that one context file can name
LONGEST_NAME = 300  # characters of a name

# --- sections of a Markdown file --------------------------------------------------------------------------------------
_COMMENT = re.compile(r" {0,3}<!--")

Hidden = Literal["code", "comment", ""]
_EMPHASISED = re.compile(r"([*_]{1,3}|`+)([^*_`]+)\1")


class _Heading(NamedTuple):
    line: int
    level: int
    title: str


def extract_sections(content: str, names: Sequence[str]) -> list[str]:
    """The first section of each name, in the order of the names, with heading and sub-headings.

    A section is an H2 or H3 whose whole title is the name, up to the next heading of its level or above. The title is
    compared without case, emphasis and a final colon. Headings inside a code block or a comment do not count
    (CommonMark 0.31, 4.2, 4.5 and 4.6); an unclosed fence or comment does not hide headings.
    """
    lines = lines_of(content)
    headings = list(_headings(lines))
    places: dict[str, int] = {}
    for at, heading in enumerate(headings):
        if heading.level in (2, 3):
            places.setdefault(heading.title, at)
    titles = dict.fromkeys(map(_folded, names))
    return [_section(lines, headings, places[name]) for name in titles if name in places]


def lines_of(content: str) -> list[str]:
    """The lines of a Markdown file, with any kind of line break."""
    return content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def sections_of(content: str, names: Sequence[str] = RULE_SECTIONS) -> list[str]:
    """`extract_sections`; if none of the default names is found, the names of older templates."""
    sections = extract_sections(content, names)
    if not sections and set(map(_folded, names)) == set(map(_folded, RULE_SECTIONS)):
        return extract_sections(content, LEGACY_RULE_SECTIONS)
    return sections


def _section(lines: list[str], headings: list[_Heading], at: int) -> str:
    start, level = headings[at].line, headings[at].level
    end = next((later.line for later in headings[at + 1 :] if later.level <= level), len(lines))
    return "\n".join(lines[start:end]).strip()


def _headings(lines: list[str]) -> Iterator[_Heading]:
    for at, (line, hidden) in enumerate(zip(lines, hidden_in(lines), strict=True)):
        heading = _heading(at, line) if "#" in line and not hidden else None
        if heading:
            yield heading


def _heading(at: int, line: str) -> _Heading | None:
    """The heading on this line, its title folded for comparison, or None."""
    text = line.lstrip(" ")
    title = text.lstrip("#")
    level = len(text) - len(title)
    if len(line) - len(text) > 3 or not 1 <= level <= 6 or title[:1] not in ("", " ", "\t"):
        return None
    title = title.strip()
    open_end = title.rstrip("#")
    if not open_end or open_end[-1] in " \t":  # "## Red Lines ##"
        title = open_end.strip()
    return _Heading(at, level, _folded(title))


def _folded(title: str) -> str:
    """A title for comparison: lower case, single spaces, without emphasis around it and a colon after it."""
    title = " ".join(title.split()).casefold().removesuffix(":").rstrip()
    match = _EMPHASISED.fullmatch(title)
    return match[2].strip().removesuffix(":").rstrip() if match else title


def hidden_in(lines: list[str]) -> list[Hidden]:
    """For each line, whether it is in a code block, fences included, or in a comment; "" for neither.

    An unclosed fence or comment hides nothing.
    """
    fences = [fence_of(line) for line in lines]
    longest = {"`": 0, "~": 0}  # of the fences further down that may close one
    closable = [False] * len(lines)
    for at in range(len(lines) - 1, -1, -1):
        fence, bare = fences[at]
        if fence:
            closable[at] = len(fence) <= longest[fence[0]]
            longest[fence[0]] = max(longest[fence[0]], len(fence) if bare else 0)
    last = max((at for at, line in enumerate(lines) if "-->" in line), default=-1)
    hidden: list[Hidden] = []
    opened, comment = "", False
    for at, ((fence, _), closed_later) in enumerate(zip(fences, closable, strict=True)):
        inside = bool(opened)
        if inside and closes(lines[at], opened):
            opened = ""
        elif not inside and not comment and fence and closed_later:
            opened, inside = fence, True
        comment = comment or (not inside and at < last and bool(_COMMENT.match(lines[at])))
        hidden.append("code" if inside else "comment" if comment else "")
        comment = comment and "-->" not in lines[at]
    return hidden


# --- carried text -----------------------------------------------------------------------------------------------------
_TAG = re.compile(r"(?i)<(\s{0,9}/?\s{0,9}workspace-critical-rules[^<>]{0,40})>")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BRACKETED = (*HEADERS, PRIOR_HEADER)


def carried(sections: Sequence[str], limit: int = RULES_CHARS) -> str:
    """The sections as one text of at most `limit` characters, including a line about what was cut; "" for none.

    Without credentials, NUL and lone surrogates; quoted markers of a summary and of the block itself are defused.
    """
    text = _SURROGATE.sub("\ufffd", "\n\n".join(section.strip() for section in sections if section.strip()))
    return _cut(_defused(redact(text.replace("\0", ""))).strip(), limit)


def _defused(text: str) -> str:
    text = defused(text)
    for header in _BRACKETED:
        text = text.replace(header, header.replace("[", "(").replace("]", ")"))
    return _TAG.sub(r"[\1]", text)


def _cut(text: str, limit: int) -> str:
    """The text, or its first lines with a note of how much is left out; a line longer than half of the room is cut
    itself.
    """
    if len(text) <= limit:
        return text
    room = limit - len(CUT_SHORT.format(len(text))) - 1
    if room <= 0:
        return text[: max(limit, 0)].strip()
    end = text.rfind("\n", 0, room + 1)
    kept = text[: end if end > room // 2 else room].rstrip()
    return f"{kept}\n{CUT_SHORT.format(len(text) - len(kept))}".strip()


# --- files that the rules name ----------------------------------------------------------------------------------------
_DATE = re.compile(r"YYYY-MM-DD", re.IGNORECASE)
_SPECIAL = re.compile(r"(`+[^`]+`+|\[[^\[\]]*\]\([^()]*\))")  # code and links
_LINK = re.compile(r"\[[^\[\]]*\]\(\s*(?:<([^<>]*)>|([^<>\s]*))")
_APART = re.compile(r"[\s`\"'“”‘’«»()\[\]|,;=，。、：；！？（）「」『』《》【】]+")  # noqa: RUF001  (Chinese and Japanese)
_NAMED = re.compile(r"(?:[A-Za-z]:)?[^:*?<>{}$&#%@]*[^:*?<>{}$&#%@/\\]\.[A-Za-z]\w{0,9}")
_NO_FILE = re.compile(r"(?i)\w\.\w|[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|ai|dev|app|co|gov|edu|eu|de|uk)(?:[/\\].*)?")
_WITHOUT_SUFFIX = re.compile(r"[A-Z.~][\w./\\~-]*|[\w.~-]+[/\\][\w./\\~-]*\w")  # in backticks: `Makefile`, `docs/START`
_FORBIDDEN = re.compile(
    r"(?i)(?<!\bhave )(?<!\bhas )(?:\b(?:never|not|avoid)|(?<!\bhave)(?<!\bhas)n['’]t)\s+(?:ever\s+)?(?:re-?)?"
    r"(?:read|open|load|view|print|cat)(?:ing)?\b[^.!?;\n]*(?:\.(?=\S)[^.!?;\n]*)*"
)
_LONGEST_LINE = 2_000  # characters of a line that are looked at


def named_files(sections: Sequence[str]) -> tuple[str, ...]:
    """The files that the startup sections name, as written there, in order, each once; 20 at most.

    In backticks, as the target of a link, or bare with a suffix; "memory/YYYY-MM-DD.md" is unchanged. The disk decides
    what is a file: this accepts everything except what is certainly not a file and what must not be read.
    """
    startup = (section for section in sections if _title(section) in _STARTUP)
    by_path: dict[str, str] = {}
    for line in (line for section in startup for line in section.split("\n")[1:]):
        for name in _names(_FORBIDDEN.sub(" ", line[:_LONGEST_LINE])):
            by_path.setdefault(paths.normal(name, ""), name)
            if len(by_path) == MOST_REQUIRED:
                return tuple(by_path.values())
    return tuple(by_path.values())


def dated(named: str, day: date | None) -> str:
    """The name with this day in place of YYYY-MM-DD; None keeps YYYY-MM-DD, for a date that only a shell knew."""
    return _DATE.sub(day.isoformat() if day else "YYYY-MM-DD", named)


_STARTUP = tuple(title.casefold() for title in STARTUP_SECTIONS)


def _title(section: str) -> str:
    heading = _heading(0, section.partition("\n")[0])
    return heading.title if heading else ""


def _names(line: str) -> Iterator[str]:
    for piece in _SPECIAL.split(line):
        link = _LINK.match(piece)
        words = [_target(link)] if link else _APART.split(piece.strip("`").strip())
        alone = piece.startswith("`") and len(words) == 1
        for word in words if link else map(_bare, words):
            named = _NAMED.fullmatch(word) or (alone and _WITHOUT_SUFFIX.fullmatch(word))
            if named and len(word) <= LONGEST_NAME and word[0] != "-" and not _NO_FILE.fullmatch(word):
                yield word


def _target(link: re.Match[str]) -> str:
    """The file that a link points to, without its fragment; an address elsewhere is not the name of a file."""
    return unquote((link[1] or link[2] or "").partition("#")[0])


def _bare(word: str) -> str:
    """The word without the marks around it: punctuation, emphasis, the "@" of a mention."""
    word = word.rstrip(".,:!?…*")
    word = re.sub(r"^(?:\*+(?=\w)|@)", "", word)
    return word[1:-1] if word[:1] == word[-1:] == "_" else word
