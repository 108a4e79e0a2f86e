"""What a stretch of transcript says, as plain lines: requests, constraints, actions, errors, questions, identifiers.

Every line is taken from the transcript or counted; nothing is phrased anew, so any language works. Lines are single,
redacted and clipped. Lists are oldest first.
"""

from __future__ import annotations

import json
import re
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from . import messages as m
from .messages import Call, Message
from .secrets import redact

SCANNED = 8_000  # characters of one message that are read; the middle of a longer one is skipped
QUOTE, LINE, DETAIL = 1_500, 300, 120  # characters of the active task, of a line, of an argument or outcome

# Words that bind, in the languages agents are used in most. Chinese, Japanese, Korean and Russian forms need no \b.
_BINDING = re.compile(
    r"(?i)\b(?:must|mustn't|never|only|always|do not|don't|cannot|can't|should not|shouldn't|at most|at least"
    r"|no more than|avoid|without|forbidden|required|make sure|be sure"
    r"|muss|müssen|darf|dürfen|nie|niemals|nur|immer|kein|keine|keinen|nicht|höchstens|mindestens"
    r"|jamais|toujours|seulement|uniquement|doit|doivent|ne pas|interdit|sans"
    r"|nunca|siempre|solo|sólo|solamente|debe|deben|no debes?|sin"
    r"|mai|sempre|soltanto|deve|devono|senza|apenas|somente|não)\b"
    r"|никогда|всегда|только|нельзя|должен|должна|должны|обязательно|не надо"
    r"|必须|必須|不要|不得|不能|不可|只能|只要|仅|禁止|务必|務必|永远|总是|切勿|必ず|絶対|ないで|てはいけ|てはなら|のみ|だけ"
    r"|반드시|절대|하지 마|항상|오직|금지"
)
_TROUBLE = re.compile(
    r"(?i)\b(?:\w*error|\w*exception|traceback|failed|failure|fatal|denied|refused|not found|no such|timed out|timeout"
    r"|panic|cannot|could not|unable|invalid|aborted|conflict)\b|错误|失败|エラー|失敗|오류|실패|ошибка"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_IDENTIFIERS = {
    "URLs": re.compile(r"\bhttps?://[^\s<>\"'`)\]}]+[^\s<>\"'`)\]}.,;:!?]"),
    "Files": re.compile(
        r"(?<![\w/.:@-])(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?"
        r"|(?<![\w/.@-])[\w-]+(?:/[\w.@+-]+)*\.[A-Za-z][A-Za-z0-9]{0,5}\b(?![\w(])"
    ),
    "Identifiers": re.compile(
        r"\b[\w.+-]+@[\w-]+\.[\w.]+\b"  # mail address
        r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
        r"|\b(?=[A-Z0-9]*[A-Z])(?=[A-Z0-9]*\d)[A-Z0-9]{5,12}\b|(?<![\w#])#\d+\b|\b[A-Z]{2,10}-\d+\b"
        r"|\b[A-Za-z]+(?:_[A-Za-z]+)*_\d{2,}\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b"
    ),
    "Amounts": re.compile(
        r"(?<![\w.])[$€£¥]\s?\d[\d,]*(?:\.\d+)?\b"
        r"|(?<![\w.,])\d[\d,]*(?:\.\d+)?\s?(?:%|ms|s|min|h|kB|KB|MB|GB|TB|tokens|USD|EUR)(?!\w)"
        r"|\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?\b"
    ),
}
_SPOKEN_WEIGHT, _ARGUMENT_WEIGHT = 4.0, 2.0  # what people say and what calls are made with is needed more than output
_PREFERRED = ("command", "cmd", "path", "file_path", "filename", "url", "query", "pattern", "code")


@dataclass(slots=True)
class Action:
    """One tool call and what came of it."""

    call: str
    outcome: str = ""
    times: int = 0


@dataclass(slots=True)
class Facts:
    """Lines by kind, oldest first; identifiers by class with a weight."""

    requests: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    actions: dict[str, Action] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    identifiers: dict[str, dict[str, float]] = field(default_factory=lambda: {name: {} for name in _IDENTIFIERS})
    tools: Tally[str] = field(default_factory=Tally)
    roles: Tally[str] = field(default_factory=Tally)


def gather(turns: Sequence[Message]) -> Facts:
    """Read the turns once, oldest first."""
    facts = Facts()
    open_actions: dict[str, Action] = {}
    for at, turn in enumerate(turns):
        facts.roles[m.role(turn)] += 1
        recent = 1 + at / len(turns)
        for id_ in m.answers(turn):
            _result(facts, open_actions.pop(id_, None), scanned(m.text(turn.get("content"))), recent)
        if m.answers(turn) or m.is_system(turn):
            continue
        _speech(facts, turn, recent)
        for call in m.calls(turn):
            _call(facts, call, open_actions, recent)
    return facts


def _speech(facts: Facts, turn: Message, recent: float) -> None:
    said = scanned(m.said(turn.get("content")))
    if not said.strip():
        return
    _identify(facts, said, _SPOKEN_WEIGHT * recent)
    if m.is_typed(turn):
        facts.requests.append(clip(said, QUOTE))
        facts.constraints += [s for s in sentences(said) if _BINDING.search(s)]
        facts.questions = [s for s in sentences(said) if s.endswith(("?", "？"))]
    elif m.role(turn) == "assistant":
        facts.replies.append(clip(said, 2 * LINE))
        facts.questions = [s for s in sentences(said) if s.endswith(("?", "？"))]


def _call(facts: Facts, call: Call, open_actions: dict[str, Action], recent: float) -> None:
    arguments = scanned(call.arguments)
    facts.tools[call.name] += 1
    _identify(facts, arguments, _ARGUMENT_WEIGHT * recent)
    text = f"{call.name}({clip(_arguments(arguments), DETAIL)})"
    action = facts.actions.pop(text, None) or Action(text)  # taken up again at the end
    action.times += 1
    facts.actions[text] = action
    for id_ in call.ids:
        open_actions[id_] = action


def _result(facts: Facts, action: Action | None, text: str, recent: float) -> None:
    _identify(facts, text, recent)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    trouble = next((line for line in lines if _TROUBLE.search(line[:LINE])), "")
    if trouble:
        where = f"{action.call.partition('(')[0]}: " if action else ""
        facts.errors.append(f"{where}{clip(trouble, LINE)}")
    if action:
        size = f" ({len(lines):,} lines)" if len(lines) > 1 else ""
        action.outcome = clip(trouble or (lines[0] if lines else "no output"), DETAIL) + size


def _arguments(arguments: str) -> str:
    """The arguments as `name=value` pairs, the telling ones first; the text itself if it is not a JSON object."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    if not isinstance(value, dict):
        return arguments
    names = sorted(value, key=lambda name: _PREFERRED.index(name) if name in _PREFERRED else len(_PREFERRED))
    return ", ".join(f"{n}={value[n] if isinstance(value[n], str) else m.as_json(value[n])}" for n in names)


def _identify(facts: Facts, text: str, weight: float) -> None:
    for name, pattern in _IDENTIFIERS.items():
        for found in set(pattern.findall(text)):
            if len(found) <= DETAIL:
                facts.identifiers[name][found] = facts.identifiers[name].get(found, 0.0) + weight


def scanned(text: str) -> str:
    """The part of a text that is read, redacted: all of it, or its start and end if it is long."""
    if len(text) > SCANNED:
        text = f"{text[: SCANNED // 2]}\n…\n{text[-SCANNED // 2 :]}"
    return redact(text)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text word for word, on one line each; overlong ones clipped."""
    return (clip(s, LINE) for s in _SENTENCE.split(text) if s and s.strip())


def clip(text: str, most: int) -> str:
    """The text on one line, and at most `most` characters of it: start and end with "…" between."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    end = most // 4
    return f"{text[: most - end - 3]} … {text[-end:]}"


def distinct(lines: Iterable[str]) -> list[str]:
    """The lines without repetitions, compared regardless of case; each at its last place."""
    found: dict[str, str] = {}
    for line in lines:
        found.pop(line.casefold(), None)
        found[line.casefold()] = line
    return list(found.values())
