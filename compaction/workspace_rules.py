"""Rules of the workspace: what of its context file is carried through a compaction, and whether the next turn kept it.

A summary carries the rules in a block of its own. The turn after a compaction gets them with the list of files to read
again; `audit` says which of these it read.
The context file is data that anyone who may write to the workspace wrote. What is carried of it is short, without
credentials, and can end neither its own block nor the summary around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise
from typing import Literal, NamedTuple
from urllib.parse import unquote

from . import messages as m
from . import paths, protocol
from .fences import closes, fence_of
from .messages import Message
from .reads import Read, in_chat_shape
from .secrets import redact

# --- sections of a Markdown file --------------------------------------------------------------------------------------
_COMMENT = re.compile(r" {0,3}<!--")

Hidden = Literal["code", "comment", ""]
_EMPHASISED = re.compile(r"([*_]{1,3}|`+)([^*_`]+)\1")


class _Heading(NamedTuple):
    line: int
    level: int
    title: str


def extract_sections(content: str, names: Sequence[str]) -> list[str]:
    """The first section of each name, in the order of the names, heading and sub-headings included.

    A section is an H2 or H3 whose whole title is the name, up to the next heading of its level or above: in any case,
    emphasised as a whole or with a colon behind it. A heading inside a block of code or a comment is none (CommonMark
    0.31, 4.2, 4.5 and 4.6); a fence or a comment that is never closed is none either.
    """
    lines = lines_of(content)
    headings = list(_headings(lines))
    places: dict[str, int] = {}
    for at, heading in enumerate(headings):
        if heading.level in (2, 3):
            places.setdefault(heading.title, at)
    wanted = dict.fromkeys(map(_folded, names))
    return [_section(lines, headings, places[name]) for name in wanted if name in places]


def lines_of(content: str) -> list[str]:
    """The lines of a Markdown file, whatever ends them."""
    return content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def sections_of(content: str, names: Sequence[str] = protocol.RULE_SECTIONS) -> list[str]:
    """`extract_sections`; of the default names, in any order, where none is found, those that older templates use."""
    sections = extract_sections(content, names)
    if not sections and set(map(_folded, names)) == set(map(_folded, protocol.RULE_SECTIONS)):
        return extract_sections(content, protocol.LEGACY_RULE_SECTIONS)
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
    return _Heading(at, level, _folded(title))


def _folded(title: str) -> str:
    """A title for comparison: one case, single blanks, no emphasis around it, no colon behind it."""
    title = " ".join(title.split()).casefold().removesuffix(":").rstrip()
    match = _EMPHASISED.fullmatch(title)
    return match[2].strip().removesuffix(":").rstrip() if match else title


def hidden_in(lines: list[str]) -> list[Hidden]:
    """For each line whether it stands in a block of code, fences included, or in a comment; "" for neither.

    A fence or a comment that is never closed hides nothing.
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
    text = protocol.defused(text)
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
    """The rules in a body, of all its blocks; "" for none."""
    lines = body.split("\n")
    return "\n\n".join("\n".join(lines[first + 1 : last]) for first, last in _blocks(lines))


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
    written = [at for at, line in enumerate(lines) if line.strip()]
    return "\n".join(lines[written[0] : written[-1] + 1]) if written else ""


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
_LONGEST_LINE, _LONGEST_NAME = 2_000, 300  # characters of a line that are looked at, and of a name


def named_files(sections: Sequence[str]) -> tuple[str, ...]:
    """The files that the startup sections name, as they are written there, in order, each once; 20 at most.

    In backticks, as the target of a link, or bare with a suffix; "memory/YYYY-MM-DD.md" stays so. What is a file is for
    the disk to say: this is liberal, but for what is certainly none and for what is not to be read.
    """
    startup = (section for section in sections if _title(section) in _STARTUP)
    found: dict[str, str] = {}
    for line in (line for section in startup for line in section.split("\n")[1:]):
        for name in _names(_FORBIDDEN.sub(" ", line[:_LONGEST_LINE])):
            found.setdefault(paths.normal(name, ""), name)
            if len(found) == protocol.MOST_REQUIRED:
                return tuple(found.values())
    return tuple(found.values())


def dated(named: str, day: date | None) -> str:
    """The name with this day in place of YYYY-MM-DD; None for one that only the shell knew (`commands`)."""
    return _DATE.sub(day.isoformat() if day else "YYYY-MM-DD", named)


_STARTUP = tuple(title.casefold() for title in protocol.STARTUP_SECTIONS)


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
            if named and len(word) <= _LONGEST_NAME and word[0] != "-" and not _NO_FILE.fullmatch(word):
                yield word


def _target(link: re.Match[str]) -> str:
    """The file a link leads to; an address elsewhere is no name of a file."""
    return unquote((link[1] or link[2] or "").partition("#")[0])


def _bare(word: str) -> str:
    """The word without the marks around it: punctuation, emphasis, the "@" of a mention."""
    word = word.rstrip(".,:!?…*")
    word = re.sub(r"^(?:\*+(?=\w)|@)", "", word)
    return word[1:-1] if word[:1] == word[-1:] == "_" else word


# --- texts for the next turn ------------------------------------------------------------------------------------------
def event_text(
    *,
    source: str,
    sections: Sequence[str],
    files: Sequence[str],
    compacted_at: str,
    now: str,
    day: date | None = None,
) -> str:
    """The note for the turn after a compaction: what happened, which files to read again, the rules, as quoted data.

    `day` stands in the rules where they say YYYY-MM-DD, as it does in the names of the files (OpenClaw #32381).
    Plain statements, labelled as a program's: content filters refuse orders, and scanners take them for injections.
    """
    quoted = block(carried([dated(section, day) if day else section for section in sections], protocol.EVENT_CHARS))
    named = f"Startup reading according to {_line(source)}. These files are named there and exist:\n{_listed(files)}"
    pieces = [
        protocol.EVENT_START,
        f"This note was made by Palimpsest; no person typed it. This session was compacted at {_line(compacted_at)}:"
        " earlier messages are summed up or cut short. What is left is no replacement for the startup reading of the"
        " workspace.",
        f"Current time: {_line(now)}",
        named if files else "",
        f"Quoted from {_line(source)} of the workspace:\n{quoted}" if quoted else "",
    ]
    return "\n\n".join(piece for piece in pieces if piece)


def warning_text(*, source: str, missing: Sequence[str], compacted_at: str) -> str:
    """The note that says which files the turn after a compaction did not read; said once, as plainly."""
    pieces = [
        protocol.WARNING_START,
        f"This note was made by Palimpsest; no person typed it. This session was compacted at {_line(compacted_at)}."
        f" The turn after that did not read these files, which {_line(source)} names for the startup reading:",
        _listed(missing),
        "Reading them puts their text back into context. This note is not repeated.",
    ]
    return "\n\n".join(pieces)


def _listed(names: Sequence[str]) -> str:
    return "\n".join(f"- {_line(name)}" for name in names)


def _line(text: str) -> str:
    """A name or a time on one line that cannot be more than that."""
    return carried([" ".join(text.split())[:_LONGEST_NAME]])


# --- the audit --------------------------------------------------------------------------------------------------------


class Requirement(NamedTuple):
    """A file to read: as it was named, and the normal absolute paths any of which it may be read under."""

    named: str
    paths: tuple[str, ...]


class Finding(NamedTuple):
    """The result for a required file: its path, and the first call that read it, None if none did."""

    named: str
    path: str
    read: Read | None


class TurnSpan(NamedTuple):
    """Indices of messages: the one of a person that begins the turn, and one behind its last message."""

    start: int
    end: int


def audit(
    reads: Sequence[Read], required: Sequence[Requirement], workspace: str, home: str = ""
) -> tuple[Finding, ...]:
    """For each requirement, in order, whether and where it was read; `home` is what "~" stood for."""
    done = [(paths.normal(read.path, workspace, home), read) for read in reads]
    return tuple(_finding(requirement, done) for requirement in required)


def _finding(requirement: Requirement, done: Sequence[tuple[str, Read]]) -> Finding:
    for path, read in done:
        for wanted in requirement.paths:
            if paths.same(path, wanted):
                return Finding(requirement.named, wanted, read)
    return Finding(requirement.named, requirement.paths[0] if requirement.paths else "", None)


def turns(messages: Sequence[Message]) -> list[TurnSpan]:
    """The complete turns, in order.

    A turn begins with what a person typed; more of it before the agent says or does anything belongs to the same turn.
    It is complete when the agent's last message is a reply without tool calls, or when the next turn begins.
    """
    found: list[TurnSpan] = []
    start, last, replied = -1, -1, False  # `last`: the last message of the agent or its tools in this turn
    for at, message in enumerate(map(in_chat_shape, messages)):
        if m.role(message) == "assistant" and not m.is_standalone_handoff(message):
            last, replied = at, m.is_readable_reply(message) and not m.calls(message)
        elif m.answers(message) and not m.is_typed(message):
            last = at
        elif m.is_typed(message):
            if 0 <= start <= last:
                found.append(TurnSpan(start, last + 1))
            start, replied = (at, False) if start < 0 or start < last else (start, replied)
    return [*found, TurnSpan(start, last + 1)] if 0 <= start < last and replied else found
