"""Does a summary say that a call failed where it failed, and only there? For each call of the Claude Code sessions.

A call failed when its result is flagged as an error or begins with an exit code other than 0. It gets a summary of its
own: a person's request, the call, its result, and the agent that goes on. The summary claims a failure where it has a
word of failure that is neither the call's nor the result's own, begins a line with "[failed]", or lists the call under
a heading about failures. A command whose output counts failures though its exit code is 0 (`make test | tail`) is left
out: either verdict is fair.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from tests.bench.quality.engine import Engine
from tests.bench.quality.figures import Figure
from tests.bench.quality.messages import Message, calls, results
from tests.bench.quality.transcripts import SHARED, Half, claude_code_rows, half_of

_EXIT = re.compile(r"\s*(?:Error: )?Exit code (?!0\b)\d+")
_COUNTED = re.compile(
    r"\b[1-9]\d* (?:failures?|failed|errors?)\b|^\s*\d+\) test |^Traceback |^\*\* \(|^error:|^Total errors: [1-9]",
    re.MULTILINE,
)
_WORD = re.compile(
    r"(?:\S+\s+)?(?<![\w.\"'`/\[(-])(?:fail(?:ed|s|ure)?|error|exit(?:ed)?(?: with)?(?: code| status)? [1-9]\d*|refused"
    r"|did not (?:succeed|work)|rejected|denied|not allowed|went wrong|no success|unsuccessful(?:ly)?)"
    r"(?![\w\"'`/\])-]|\.\w)(?:[:,]?\s+\S+)?",  # alone: no part of a name or a string
    re.IGNORECASE,
)
_MARK = re.compile(r"[-*\s]*\[failed\] ", re.IGNORECASE)  # before a line
_HEADING = re.compile(r"^#+ .*(?:error|fail|trouble|blocker|wrong)", re.IGNORECASE)
_ROOM = 8_000  # characters of each summary
Verdict = tuple[Message, Message, bool]  # a call alone, its result, and whether it failed by structure


def figures(found: Sequence[Verdict], engine: Engine) -> Iterator[Figure]:
    """Claims that are true, failures that are told, and verdicts that are right of all."""
    right = true = claims = failures = told = 0
    for call, result, failed in found:
        claimed = claims_failure(engine.summary_of(_context(call, result), "", _ROOM), call, result)
        right += claimed == failed
        claims += claimed
        failures += failed
        true += claimed and failed
        told += claimed and failed
    yield Figure("claims of failure that are true", true, claims)
    yield Figure("failures that are told", told, failures)
    yield Figure("verdicts that are right", right, len(found))


def claims_failure(summary: str, call: Message, result: Message) -> bool:
    """Whether the summary says in its own words that the call failed."""
    own = _plain(" ".join(chain((a for _, _, a in calls(call)), (text for _, text, _ in results(result)))))
    under = False
    for line in summary.splitlines():
        if line.startswith("#"):
            under = bool(_HEADING.match(line))
        elif not line.strip():
            continue
        elif under or _MARK.match(line) or any(_plain(match[0]) not in own for match in _WORD.finditer(line)):
            return True
    return False


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower().replace("\\n", " ")))


def _context(call: Message, result: Message) -> list[Message]:
    return [
        {"role": "user", "content": "Go on with the next step of the plan."},
        call,
        result,
        {"role": "assistant", "content": "Then I take the next step."},
    ]


def verdicts(half: Half) -> Iterator[Verdict]:
    """The calls of the Claude Code sessions of a half."""
    for path in sorted((SHARED / "claude-code").rglob("*.jsonl")):
        if half_of(path.relative_to(SHARED / "claude-code").parts[0].removesuffix(".jsonl")) != half:
            continue
        waiting: dict[str, Message] = {}
        for row in claude_code_rows(path):
            blocks = row["content"] if isinstance(row["content"], list) else []
            waiting |= {b["id"]: {**row, "content": [b]} for b in blocks if b.get("type") == "tool_use"}
            for block in blocks:
                if block.get("type") == "tool_result" and block["tool_use_id"] in waiting:
                    result = {**row, "content": [block]}
                    [(id_, text, flagged)] = results(result)
                    failed = flagged or bool(_EXIT.match(text))
                    if failed or not _COUNTED.search(text):
                        yield waiting.pop(id_), result, failed
