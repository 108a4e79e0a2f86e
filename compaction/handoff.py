"""The handoff: every marker, header and tag that is read or written, each with its source, and `split()`.

Theory: a handoff is one stored row. It is either *standalone* (only the summary) or *merged* with live text of the
row's own role, in one of two layouts:

    summary first   HEADER directive \n body \n\n END_MARKER \n\n live text
    prior first     PRIOR_HEADER \n live text \n\n MERGE_DELIMITER \n\n HEADER directive \n body \n\n END_MARKER

Handoffs of other engines have no end marker. Each of their summaries has a head and a foot (`ENGINE_FORMS`). A row is
such a handoff if it begins with a complete summary, or with a request that the engine repeats followed by a complete
summary. More complete handoffs may follow, if rows were merged, or each in its own block.

In a list of content blocks the markers are inside text blocks, and whole blocks may be live. `split()` therefore works
on a list of blocks and a position (block, character); a plain string is a list of one. The marker strings are Hermes
Agent's interchange format (`docs/hermes.md` section 4).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from typing import Any, Literal, NamedTuple

from .text import fences

Form = Literal["plain", "hermes"]  # in which a handoff is written; every form is read
FORMS: tuple[Form, ...] = ("plain", "hermes")

# --- markers that are read -------------------------------------------------------------------------------------------
CURRENT_HEADER = "[CONTEXT COMPACTION — REFERENCE ONLY]"  # start of every long Hermes header
HYPHEN_HEADER = "[CONTEXT COMPACTION - REFERENCE ONLY]"  # the same in ASCII; Hermes' session page accepts it
LEGACY_HEADER = "[CONTEXT SUMMARY]:"  # short, and recognised by content by every Hermes version
PLAIN_HEADER = "[Summary of the earlier conversation]:"  # of no agent: what this engine writes unless it is asked
HEADERS = (LEGACY_HEADER, CURRENT_HEADER, HYPHEN_HEADER, PLAIN_HEADER)
END_MARKER = "--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---"
PRIOR_HEADER = "[PRIOR CONTEXT — for reference only; not a new message]"
MERGE_DELIMITER = "[END OF PRIOR CONTEXT — COMPACTION SUMMARY BELOW]"
FLAG = "_compressed_summary"  # the key (and column) by which Hermes marks a row that is or contains a summary
NOTE_SENTENCE = "earlier conversation turns have been compacted into a handoff summary"  # in a system message 0
# There, too, when another engine compacted.
NOTE_SENTENCES = (NOTE_SENTENCE, "this conversation uses lossless context management")
LONG_DIRECTIVE_START = "Earlier turns were compacted"  # all six long Hermes directives start and end so,
LONG_DIRECTIVE_END = "avoid repeating it:"  # on one line

# The framing that was written until November 2026.
EARLIER_FRAMING = (
    "Reference only: what follows sums up earlier turns and is not a request. Answer the message after it; the latest"
    " message wins over this summary. Persistent memory and skills stay fully authoritative."
)
EVENT_START = "[Palimpsest: note after a compaction]"  # start of the two texts for the turn after a compaction
WARNING_START = "[Palimpsest: reading check after a compaction]"
PUT_BACK_START = "[Palimpsest: put back from earlier in this conversation]"  # of a message with quotations

# User rows that no person typed: Hermes' notices (its own list: context_compressor._SYNTHETIC_USER_ROW_PREFIXES), what
# it says to a model that stopped early (conversation_loop, turn_stop_gates), its marker rows, and our texts.
SYNTHETIC_USER_STARTS = (
    "[System:",
    "[CONTEXT",
    "[PRIOR CONTEXT",
    "[IMPORTANT: Background",
    "[IMPORTANT: MCP servers have been reloaded",
    "[Your active task list",
    "[Planning state preserved",
    "[Skills pruned during compression",
    "[ASYNC DELEGATION",
    "[ASYNC BATCH",
    "[ASYNC COMPLETE",
    "A background subagent you dispatched earlier",
    "A background fan-out",
    "[OUT-OF-BAND",
    "Cronjob Response:",
    "[Continuing toward your standing goal",
    "You've reached the maximum number of tool-calling iterations allowed.",
    "Your previous turn indicated a tool call but none was included.",
    "You just executed tool calls but returned an empty response.",
    "Continue from the compressed conversation context above.",
    EVENT_START,
    WARNING_START,
    PUT_BACK_START,
)
# The subset that only a compaction writes.
NO_USER_START = "Continue from the compressed"  # where nothing that a person typed was in context
NO_USER_MARKERS = (  # whole: 0.19 to 0.22, and 0.18
    f"{NO_USER_START} conversation context above. This marker exists because no human user turn was available.",
    f"{NO_USER_START} conversation context above. This marker exists because the compacted transcript contained no "
    "preserved user turn.",
)
COMPACTION_STARTS = ("[Your active task list", "[Planning state", "[Skills pruned", NO_USER_START)
# After these lines follows a person's request that is not answered yet, repeated next to a summary.
OBJECTIVE = "[Current user objective preserved from compacted history]"  # hermes-lcm and its descendants
RESTATED_STARTS = ("[STILL IN PROGRESS", OBJECTIVE)
# A list of tasks that a compaction appended to what a person typed (tools/todo_tool.py, TODO_INJECTION_HEADER).
TASK_LIST = "[Your active task list was preserved across context compression]"

# A summary that Claude Code wrote, in a row that it marks as one: its words to the model are around the body.
CONTINUED_START = "This session is being continued from a previous conversation"
# Its continuation, which identifies a summary in an unmarked row: pasted into another agent, or read from a file.
_CONTINUED = re.compile(
    re.escape(CONTINUED_START)
    + r" that ran out of context\. The (?:conversation is summarized below:|summary below covers the earlier portion)"
)
CONTINUED_ENDS = (
    "\n\nIf you need specific details from before compaction",
    "\nContinue the conversation from where it left off",
    "\nPlease continue the conversation from where we left it off",
    "\n\nThe messages after this summary are",
)
_CONTINUED_LINE = re.compile(rf"^(?:{'|'.join(re.escape(end.strip()) for end in CONTINUED_ENDS)})[^\n]*", re.MULTILINE)
# What OpenClaw and pi put around a summary that they send (`docs/openclaw.md`), in a row that is marked as one.
SUMMED_UP_START = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
SUMMED_UP_END = "\n</summary>"


class EngineForm(NamedTuple):
    """How an engine other than the agent's own frames each summary of a handoff: a row with one begins with `start`.
    Further summaries follow after a blank line, or after a blank line and a rule; live text follows after a blank line.
    """

    engine: str
    start: str
    head: re.Pattern[str]
    foot: re.Pattern[str]


_FOOT_ENDS = r"(?=[^\S\n]*(?:\n[^\S\n]*\n|\s*\Z))"  # a blank line, or nothing else


def _lcm(level: str) -> EngineForm:
    """The form of a summary of one level of hermes-lcm. Its descendants add after the head how short the summary is."""
    head = rf"{re.escape(level)}{'[0-9]+' if level.endswith('-') else ''} Summary \(d[0-9]+, node [0-9]+\)\]"
    foot = rf"^\[Expand for details:[^\n]*\]{_FOOT_ENDS}"
    return EngineForm(
        "hermes-lcm", level, re.compile(rf"{head}(?: \[[^\]\n]*\])?\r?\n"), re.compile(foot, re.MULTILINE)
    )


ENGINE_FORMS = (
    *map(_lcm, ("[Recent", "[Session Arc", "[Durable", "[Depth-")),
    EngineForm(
        "lossless-claw",
        '<summary id="sum_',
        re.compile(r'<summary id="sum_\w+"[^>]*>\s*(?:<parents>[^\0]*?</parents>\s*)?<content>\r?\n'),
        re.compile(rf"^[^\S\n]*</content>\r?\n</summary>{_FOOT_ENDS}", re.MULTILINE),
    ),
)
ENGINE_STARTS = tuple(form.start for form in ENGINE_FORMS)

# --- text that is written --------------------------------------------------------------------------------------------
PLAIN_FRAMING = (
    "Reference only: what follows sums up earlier turns and is not a request. Answer the message after it, or go on"
    " with the work after it; the latest message wins over this summary, and what it stops, undoes or no longer wants"
    ' ("stop", "undo", "never mind") is cancelled.'
)
FRAMING = f"{PLAIN_FRAMING} Persistent memory and skills stay fully authoritative."  # of Hermes
# First line of a summary that another program had this engine make, by which `is_by_engine` knows it.
BY_ENGINE = "Summary by Palimpsest, in the words of the conversation."
NOTE = f"[Note: Some {NOTE_SENTENCE}. {FRAMING}]"
MEDIA_STUB = "[An earlier image was left out when the context was compacted.]"
IMAGE_STUB = "[image]"  # in a digest
UNANSWERED_STUB = "[A tool call that never got a result was left out when the context was compacted.]"
PRUNED = "[Shortened tool output]"  # first words of the line that replaces a tool output
PRUNE_SENTENCE = "Old tool output before this note was shortened to one line each; nothing was summarised."  # its note
CUT_SHORT = "[... {:,} characters left out]"  # after the start of a long argument
# A body must not contain a marker that would end it early; these replace a quoted marker. Neither begins or
# ends like its marker, so that it cannot become one together with neighbouring text.
NEUTRAL = {END_MARKER: "[end of summary]", MERGE_DELIMITER: "(end of prior context)"}
# Hermes' gateway sends the file for each "MEDIA:/path" in a reply, in any case and anywhere on a line, so a model that
# repeats one from a summary sends it again (hermes-agent #14665). Read in 0.19 and 0.22 (gateway/platforms/base.py):
# `extract_media` wants a path from "/", "~/" or a drive, or anything in quotes, and blanks code, quotations and JSON
# first; an adapter takes any word. `extract_local_files` sends bare paths to files that are there, behind a colon none.
MEDIA_DIRECTIVE = re.compile(r"MEDIA:[^\S\n]*|(?i:media):[^\S\n]*(?=\s*[*_]{0,3}(?:[`\"'>/~]|[A-Za-z]:[/\\]))")
MEDIA_NAMED, MEDIA_PATH = "[media] ", re.compile(r"(?<=\[media\]) (?=~?/|[A-Za-z]:[/\\])")

# --- rules of the workspace ------------------------------------------------------------------------------------------
# The tag of OpenClaw's enforcement after a compaction (PR #18049, #34556), each alone on its line, last in a summary.
RULES_OPEN = "<workspace-critical-rules>"
RULES_CLOSE = "</workspace-critical-rules>"
# The line after a summary where the agent has a tool for what the summary leaves out.
RECALL = (
    "What this summary leaves out is not lost: ask the tool `search_history` (MCP server `palimpsest`) for it, in a"
    " whole question."
)
PINS_OPEN = "<pinned-messages>"
PINS_CLOSE = "</pinned-messages>"

# Of the request that is being worked on, where the message itself cannot stay before the summary.
REQUEST_HEADING = "## Request being worked on, word for word"

MOST_DELIMITERS = 64  # merge delimiters looked at in one row; a text with more of them is about something else
TEXT_TYPES = ("text", "input_text", "output_text")


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a stored row.

    For a "summary" part, `text` is the body alone and `directive` the header and framing before it. "live" and "prior"
    parts are the row's own words; `content` keeps their original shape so that they can be restored.
    """

    kind: Literal["summary", "live", "prior"]
    text: str
    directive: str = ""
    content: Any = None


def split(content: Any, flagged: bool = False) -> list[Part]:
    """The summary and live parts of a row's content, in reading order; a row without a handoff is one "live" part.

    `flagged` is the row's `_compressed_summary`. Any content shape is accepted; never raises.
    """
    if isinstance(content, str):
        return _parts([content], flagged, as_text=True) or [Part("live", content, content=content)]
    blocks = content if isinstance(content, list) else [content]
    parts = _parts(blocks, flagged, as_text=False) if isinstance(content, (list, dict)) else []
    if not parts and flagged:
        return [Part("summary", _joined(blocks), content=content)]
    return parts or [Part("live", _joined(blocks), content=content)]


def is_handoff(message: Any) -> bool:
    """Whether a message is, or contains, a compaction summary (flag or content); a tool result never is."""
    if not isinstance(message, dict) or message.get("role") in ("tool", "function"):
        return False
    content, flagged = message.get("content"), flag_of(message)
    if not flagged and not isinstance(content, (str, list, dict)):
        return False  # most often None, next to tool calls
    if isinstance(content, str) and not flagged and MERGE_DELIMITER not in content:
        text = content.lstrip()
        return text.startswith(HEADERS) or _framed(text) is not None or _CONTINUED.match(text) is not None
    return any(part.kind == "summary" for part in split(content, flagged))


def is_by_engine(directive: str, body: str) -> bool:
    """Whether another program had this engine make the handoff with this framing and body (`compaction.programs`)."""
    return BY_ENGINE in directive.splitlines() or body.startswith(PRUNE_SENTENCE)


def flag_of(message: dict[str, Any]) -> bool:
    """The row's `_compressed_summary` as a bool, whatever type it is stored as."""
    value = message.get(FLAG)
    return value not in ("", "0") if isinstance(value, str) else isinstance(value, (int, float)) and bool(value)


def handoff_text(body: str, form: Form = "hermes") -> str:
    """The text of a handoff: header, framing, body, end marker. Markers that the body quotes are `defused`."""
    opening = f"{LEGACY_HEADER} {FRAMING}" if form == "hermes" else f"{PLAIN_HEADER} {PLAIN_FRAMING}"
    return f"{opening}\n{defused(body).strip()}\n\n{END_MARKER}"


def defused(text: str) -> str:
    """The text without anything that would end a summary early, or that a program would act on if a
    model repeats it.
    """
    for marker, neutral in NEUTRAL.items():
        text = text.replace(marker, neutral)
    return without_directives(text)


def without_directives(text: str) -> str:
    """The text in which `MEDIA:` directives are replaced by words that no gateway acts on; their files stay named."""
    return MEDIA_PATH.sub(":", MEDIA_DIRECTIVE.sub(MEDIA_NAMED, text))


def restated(text: str) -> str | None:
    """The request that this text repeats next to a summary, None if it repeats none."""
    text = text.lstrip()
    if not text.startswith(RESTATED_STARTS):
        return None
    return text.partition("]")[2].strip()


# --- rules of the workspace in a body --------------------------------------------------------------------------------
def rules_block(text: str) -> str:
    """The rules between their tags; "" for none."""
    return f"{RULES_OPEN}\n{text}\n{RULES_CLOSE}" if text else ""


def with_rules(body: str, rules: str) -> str:
    """The body with these rules at its end, replacing any rules it had."""
    return "\n\n".join(piece for piece in (without_rules(body), rules_block(rules)) if piece)


def without_rules(body: str) -> str:
    """The body without its rules. A tag inside a sentence, or without its counterpart, is ordinary text."""
    return _without_blocks(body, RULES_OPEN, RULES_CLOSE)


def rules_in(body: str) -> str:
    """The rules in all blocks of a body, "" if it has none."""
    lines = body.split("\n")
    return "\n\n".join("\n".join(lines[first + 1 : last]) for first, last in _blocks(lines, RULES_OPEN, RULES_CLOSE))


def bare(body: str) -> str:
    """The summary without all that may follow it: the line of recall, pinned messages, rules."""
    return without_recall(without_pins(without_rules(body)))


def with_recall(body: str, recall: bool) -> str:
    """The body with the line about the tool of recall at its end, or without any."""
    return "\n\n".join(piece for piece in (without_recall(body), RECALL if recall else "") if piece)


def without_recall(body: str) -> str:
    """The body without the line about the tool of recall."""
    return _without_blank_ends([line for line in body.split("\n") if line.strip() != RECALL])


def with_pins(body: str, pins: Sequence[str]) -> str:
    """The body with these pinned messages at its end, word for word, replacing any that it had."""
    inside = "\n\n".join(pins)
    for tag in (PINS_OPEN, PINS_CLOSE, RULES_OPEN, RULES_CLOSE):  # they would end the block, or be taken for rules
        inside = inside.replace(tag, f"({tag[1:-1]})")
    block = f"{PINS_OPEN}\n{inside}\n{PINS_CLOSE}" if pins else ""
    return "\n\n".join(piece for piece in (without_pins(body), block) if piece)


def without_pins(body: str) -> str:
    """The body without its pinned messages."""
    return _without_blocks(body, PINS_OPEN, PINS_CLOSE)


def pins_in(body: str) -> str:
    """The pinned messages of a body, "" if it has none."""
    lines = body.split("\n")
    return "\n\n".join("\n".join(lines[first + 1 : last]) for first, last in _blocks(lines, PINS_OPEN, PINS_CLOSE))


def _without_blocks(body: str, opening: str, closing: str) -> str:
    lines = body.split("\n")
    edges = [0, *(edge for first, last in _blocks(lines, opening, closing) for edge in (first, last + 1)), len(lines)]
    pieces = [lines[start:end] for start, end in list(pairwise(edges))[::2]]
    return "\n\n".join(piece for piece in map(_without_blank_ends, pieces) if piece).strip()


def _blocks(lines: list[str], opening: str, closing: str) -> list[tuple[int, int]]:
    """The first and last line of each complete block, in order. Of nested blocks only the outer one counts."""
    opened: list[int] = []
    blocks: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        tag = line.strip()
        if tag == opening:
            opened.append(at)
        elif tag == closing and opened:
            start = opened.pop()
            while blocks and blocks[-1][0] > start:
                blocks.pop()
            blocks.append((start, at))
    return blocks


def _without_blank_ends(lines: list[str]) -> str:
    written = [at for at, line in enumerate(lines) if line.strip()]
    return "\n".join(lines[written[0] : written[-1] + 1]) if written else ""


def with_request(body: str, text: str) -> str:
    """The body of a summary followed by this request, each line marked as quoted. An empty request adds nothing."""
    quoted = "\n".join(f"> {line}".rstrip() for line in text.splitlines())
    return "\n\n".join(piece for piece in (body, f"{REQUEST_HEADING}\n{quoted}" if quoted else "") if piece)


# --- reading: positions in a list of blocks --------------------------------------------------------------------------
_Position = tuple[int, int]
_DELIMITER, _END = (re.compile(f"({re.escape(marker)})") for marker in (MERGE_DELIMITER, END_MARKER))
_DELIMITER_LINE = re.compile(rf"^[^\S\n]*({re.escape(MERGE_DELIMITER)})", re.MULTILINE)
_END_LINE = re.compile(rf"^[^\S\n]*({re.escape(END_MARKER)})[^\S\n]*$", re.MULTILINE)


def _parts(blocks: list[Any], flagged: bool, as_text: bool) -> list[Part]:
    parts = _first_parts(blocks, flagged, as_text)
    for _ in range(MOST_DELIMITERS):  # handoffs in one row
        if not parts or parts[-1].kind != "live":
            break
        behind = [parts[-1].content] if as_text else parts[-1].content
        if not _begins_with_whole(behind):
            break
        parts[-1:] = _first_parts(behind, False, as_text)
    return parts


def _begins_with_whole(blocks: list[Any]) -> bool:
    """Whether the text after a handoff begins with another complete handoff."""
    text = next((text for text in map(str.lstrip, map(block_text, blocks)) if text), "")
    if text.startswith(HEADERS):
        return END_MARKER in text
    return _framed(text) is not None or bool(_asked_before(blocks))


def _asked_before(blocks: list[Any]) -> int:
    """The number of blocks before another engine's summaries if one of them holds a request that it repeats, else 0."""
    texts = [(at, text) for at, block in enumerate(blocks) if (text := block_text(block).lstrip())][:2]
    if len(texts) < 2 or not texts[0][1].startswith(OBJECTIVE) or not texts[1][1].startswith(ENGINE_STARTS):
        return 0
    return texts[1][0] if _framed(texts[1][1]) else 0


def _first_parts(blocks: list[Any], flagged: bool, as_text: bool) -> list[Part]:
    first = next((i for i, block in enumerate(blocks) if block_text(block).strip()), None)
    if first is None:
        return [Part("summary", "", content=_shape(blocks, as_text))] if flagged and as_text else []
    text = block_text(blocks[first]).lstrip()
    if text.startswith(HEADERS):
        return _summary_first(blocks, first, as_text)
    if flagged and text.startswith(SUMMED_UP_START):
        return [_summary(blocks, as_text)]
    if not flagged and _CONTINUED.match(text):
        return _pasted(blocks, first, as_text)
    if framed := _framed(text):
        return _of_engine(blocks, first, framed, as_text)
    if before := _asked_before(blocks):
        return [*_own_words("prior", blocks[:before], as_text), *_first_parts(blocks[before:], flagged, as_text)]
    delimiter = _delimiter(blocks, flagged, _prior_headers(text))
    if delimiter is not None:
        return _prior_first(blocks, delimiter, as_text)
    if not flagged:
        return []
    if _end(blocks) is not None:
        return _summary_first(blocks, first, as_text)
    return [_summary(blocks, as_text)]


def _framed(text: str) -> tuple[int, int] | None:
    """Start and end of another engine's summaries in a text that begins with them, or with a request and a rule before
    them; None if no summary is complete.
    """
    if text.startswith(ENGINE_STARTS):
        begins = [0]
    elif text.startswith(OBJECTIVE):
        begins = [match.end() for match in islice(_RULE.finditer(text), MOST_DELIMITERS)]
    else:
        return None
    candidates = ((at, [*_frames(text, at)]) for at in begins)
    return next(((at, frames[-1][1].end()) for at, frames in candidates if frames), None)


_EMPTY_LINE = r"\r?\n\r?\n"
_RULE, _BETWEEN = re.compile(f"{_EMPTY_LINE}---{_EMPTY_LINE}"), re.compile(f"{_EMPTY_LINE}(?:---{_EMPTY_LINE})?")
_RULE_AT_END = re.compile(rf"{_RULE.pattern}\Z")


def _frames(text: str, at: int) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    """Head and foot of each complete summary of another engine, for summaries that follow each other from position
    `at`.
    """
    while form := next((form for form in ENGINE_FORMS if text.startswith(form.start, at)), None):
        head = form.head.match(text, at)
        foot = form.foot.search(text, head.end()) if head else None
        if head is None or foot is None:
            return
        yield head, foot
        between = _BETWEEN.match(text, foot.end())
        at = between.end() if between else len(text)


def _of_engine(blocks: list[Any], first: int, framed: tuple[int, int], as_text: bool) -> list[Part]:
    """The parts of a row whose first text has summaries of another engine. `framed` are their start and end in that
    text without leading white space.
    """
    text = block_text(blocks[first])
    start, end = (at + len(text) - len(text.lstrip()) for at in framed)
    between = _BETWEEN.match(text, end)
    behind = _with_text(blocks[first], text[between.end() if between else end :])
    return [
        *_own_words("prior", _with_text(blocks[first], _RULE_AT_END.sub("", text[:start])), as_text),
        _summary([*_with_text(blocks[first], text[start:end])], as_text),
        *_own_words("live", [*blocks[:first], *behind, *blocks[first + 1 :]], as_text),
    ]


def _prior_headers(text: str) -> int:
    """The number of prior headers at the start of a row: more than one if summaries were merged
    into it more than once.
    """
    if not text.startswith(PRIOR_HEADER):
        return 0
    leading = re.match(rf"(?:{re.escape(PRIOR_HEADER)}\s*){{0,{MOST_DELIMITERS}}}", text)
    return leading[0].count(PRIOR_HEADER) if leading else 0


def _summary_first(blocks: list[Any], first: int, as_text: bool) -> list[Part]:
    before, rest = blocks[:first], blocks[first:]
    end = _end(rest)
    if end is None:
        summary, live = rest[:1], rest[1:]
    else:
        summary, live = _cut(rest, end, len(END_MARKER))
    return [_summary(summary, as_text), *_own_words("live", before + _trimmed(live, "\n\n", ""), as_text)]


def _prior_first(blocks: list[Any], delimiter: _Position, as_text: bool) -> list[Part]:
    prior, rest = _cut(blocks, delimiter, len(MERGE_DELIMITER))
    first = next((i for i, block in enumerate(prior) if block_text(block).strip()), None)
    if first is not None and block_text(prior[first]).lstrip().startswith(PRIOR_HEADER):
        text = block_text(prior[first]).lstrip().removeprefix(PRIOR_HEADER).removeprefix("\n")
        prior = [*prior[:first], *_with_text(prior[first], text), *prior[first + 1 :]]
    end = _end(rest)
    summary, live = (rest, []) if end is None else _cut(rest, end, len(END_MARKER))
    earlier = _earlier(_trimmed(prior, "", "\n\n"), as_text)
    return [*earlier, _summary(summary, as_text), *_own_words("live", _trimmed(live, "\n\n", ""), as_text)]


def _earlier(blocks: list[Any], as_text: bool) -> list[Part]:
    """The parts of the content that a row had before a summary was merged into it; an earlier summary may be among
    them.
    """
    parts = _parts(blocks, False, as_text)
    if not parts:
        return _own_words("prior", blocks, as_text)
    return [replace(part, kind="prior") if part.kind == "live" else part for part in parts]


def _summary(blocks: list[Any], as_text: bool) -> Part:
    directive, body = _directive(_joined(blocks).strip())
    first, _, rest = body.partition("\n")
    if first.strip() == BY_ENGINE:
        directive, body = f"{directive}\n{BY_ENGINE}".lstrip(), rest.strip()
    return Part("summary", body, directive, _shape(blocks, as_text))


def _directive(text: str) -> tuple[str, str]:
    """Header and framing prose of a summary, and the body after them."""
    if text.startswith(CONTINUED_START):
        return _continued(text)
    if text.startswith(SUMMED_UP_START):
        return _summed_up(text)
    if text.startswith(ENGINE_STARTS) and _framed(text) == (0, len(text)):
        return _out_of_frames(text)
    header = next((h for h in HEADERS if text.startswith(h)), "")
    rest = text[len(header) :]
    line, _, after = rest.partition("\n")
    if header in (LEGACY_HEADER, PLAIN_HEADER) and line.strip() in (FRAMING, EARLIER_FRAMING, PLAIN_FRAMING):
        return f"{header}{line}".strip(), after.strip()
    if header in (CURRENT_HEADER, HYPHEN_HEADER) and line.strip().startswith(LONG_DIRECTIVE_START):
        prose, ending, inline = line.partition(LONG_DIRECTIVE_END)
        return f"{header}{prose}{ending}".strip(), f"{inline}\n{after}".strip()
    return header, rest.strip()


def _continued(text: str) -> tuple[str, str]:
    """Framing and body of a summary that Claude Code wrote: the body follows "Summary:", the framing is before and
    after it.
    """
    before, marker, body = text.partition("\nSummary:")
    if not marker:
        return "", text
    ends = [at for end in CONTINUED_ENDS if (at := body.rfind(end)) >= 0]
    end = min(ends, default=len(body))
    return f"{before.strip()}\n\n{body[end:].strip()}".strip(), body[:end].strip()


def _pasted(blocks: list[Any], first: int, as_text: bool) -> list[Part]:
    """The parts of an unflagged row that begins with a summary of Claude Code; a person may have written more after its
    last sentences.
    """
    text = block_text(blocks[first])
    ends = [match.end() for match in _CONTINUED_LINE.finditer(text)]
    end = ends[-1] if ends else len(text)
    behind = [*_with_text(blocks[first], text[end:]), *blocks[first + 1 :]]
    live = _own_words("live", blocks[:first] + _trimmed(behind, "\n", ""), as_text)
    return [_summary(_with_text(blocks[first], text[:end]), as_text), *live]


def _out_of_frames(text: str) -> tuple[str, str]:
    """The heads and feet of another engine's summaries, and the text between them."""
    frames = [*_frames(text, 0)]
    lines = (f"{head[0].strip()}\n{foot[0].strip()}" for head, foot in frames)
    return "\n".join(lines), "\n\n".join(text[head.end() : foot.start()].strip() for head, foot in frames)


def _summed_up(text: str) -> tuple[str, str]:
    """Framing and body of a summary in the form in which OpenClaw and pi send it; for a summary written here, its own
    framing too.
    """
    inner = text.removeprefix(SUMMED_UP_START).removesuffix(SUMMED_UP_END).strip()
    header = next((each for each in HEADERS if inner.startswith(each)), "")
    framing, body = _directive(inner.removesuffix(END_MARKER).strip()) if header else ("", inner)
    return "\n".join(filter(None, (SUMMED_UP_START.strip(), framing, SUMMED_UP_END.strip()))), body


def _delimiter(blocks: list[Any], flagged: bool, prior: int) -> _Position | None:
    """The position of the merge delimiter: alone on a line directly before a header, not quoted in a sentence.

    In a flagged row any text may follow it; after the prior header it may be anywhere. A delimiter inside a code fence
    only shows a handoff and does not count. If there are several, it is the one that belongs to the first of the
    `prior` headers at the start of the row.
    """
    if not any(MERGE_DELIMITER in block_text(block) for block in blocks):  # cheaper than looking for lines
        return None
    own = list(islice(_all(blocks, _DELIMITER_LINE), MOST_DELIMITERS))
    anywhere = islice(_all(blocks, _DELIMITER), MOST_DELIMITERS if prior else 0)
    before_header = [at for at in (*own, *anywhere) if _after(blocks, at).startswith(HEADERS)]
    shown = [at for at in before_header if _in_fence(block_text(blocks[at[0]])[: at[1]])]
    delimiters = [at for at in before_header if at not in shown] + (shown if flagged or prior else [])
    delimiters = delimiters or (own if flagged else [])
    return delimiters[min(max(prior, 1), len(delimiters)) - 1] if delimiters else None


def _after(blocks: list[Any], at: _Position) -> str:
    """The text after a merge delimiter, in its block or in the next block with text."""
    i, offset = at
    behind = chain([block_text(blocks[i])[offset + len(MERGE_DELIMITER) :]], map(block_text, blocks[i + 1 :]))
    return next((text for text in (t.lstrip() for t in behind) if text), "")


def _end(blocks: list[Any]) -> _Position | None:
    """The position of the end marker: the first one alone on a line, else the first one, as a body may quote it."""
    return next(chain(_all(blocks, _END_LINE), _all(blocks, _END)), None)


def _in_fence(before: str) -> bool:
    return bool(fences.open_behind(map(str.lstrip, before.splitlines())))


def _all(blocks: list[Any], pattern: re.Pattern[str]) -> Iterator[_Position]:
    return ((i, match.start(1)) for i, block in enumerate(blocks) for match in pattern.finditer(block_text(block)))


def _cut(blocks: list[Any], at: _Position, width: int) -> tuple[list[Any], list[Any]]:
    """The blocks before and after the `width` characters at a position."""
    i, offset = at
    text = block_text(blocks[i])
    before = [*blocks[:i], *_with_text(blocks[i], text[:offset])]
    return before, [*_with_text(blocks[i], text[offset + width :]), *blocks[i + 1 :]]


def _with_text(block: Any, text: str) -> list[Any]:
    """The block with another text, as a list; the list is empty if the text is."""
    if not text:
        return []
    return [text] if isinstance(block, str) else [{**block, "text": text}]


def _trimmed(blocks: list[Any], lead: str, trail: str) -> list[Any]:
    """The blocks without the blank line that the layout added at their start or end; blank text blocks are removed."""
    out: list[Any] = []
    for i, block in enumerate(blocks):
        text = block_text(block)
        trimmed = text.removeprefix(lead) if i == 0 else text
        trimmed = trimmed.removesuffix(trail) if i == len(blocks) - 1 else trimmed
        out += [block] if trimmed == text else (_with_text(block, trimmed) if trimmed.strip() else [])
    return out


def _own_words(kind: Literal["live", "prior"], blocks: list[Any], as_text: bool) -> list[Part]:
    text = _joined(blocks)
    media = any(not block_text(block) for block in blocks)
    return [Part(kind, text, content=_shape(blocks, as_text))] if text.strip() or media else []


def _shape(blocks: list[Any], as_text: bool) -> Any:
    return _joined(blocks) if as_text else blocks


def _joined(blocks: list[Any]) -> str:
    return "\n".join(text for text in map(block_text, blocks) if text)


def block_text(block: Any) -> str:
    """The text of one content block (a string, or a dict of a text type); "" for anything else."""
    if isinstance(block, str):
        return block
    if isinstance(block, dict) and block.get("type", "text") in TEXT_TYPES and isinstance(block.get("text"), str):
        return str(block["text"])
    return ""
