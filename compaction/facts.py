"""What a stretch of transcript says, as plain lines: requests, constraints, actions, errors, questions, identifiers.

Every line is taken from the transcript or counted; nothing is phrased anew, so any language works. Lines are single and
clipped. Lists are oldest first.
"""

from __future__ import annotations

import json
import re
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from . import messages as m
from .messages import Call, Message

SCANNED = 8_000  # characters of one message that are read; the middle of a longer one is skipped
QUOTE, LINE, DETAIL = 1_500, 300, 120  # characters of the active task, of a line, of an argument or outcome

# Words that bind, in the languages agents are used in most. Chinese, Japanese, Korean and Russian forms need no \b.
_BINDING = re.compile(
    r"(?i)\b(?:must|mustn't|never|only|always|(?:do not|don't)(?! (?:have|know|remember|see|think|understand))"
    r"|cannot|can't|should not|shouldn't|at most|at least"
    r"|no more than|avoid|without|forbidden|required|make sure|be sure"
    r"|muss|müssen|darf|dürfen|nie|niemals|nur|immer|kein|keine|keinen|nicht|höchstens|mindestens"
    r"|jamais|toujours|seulement|uniquement|doit|doivent|ne pas|interdit|sans"
    r"|nunca|siempre|solo|sólo|solamente|debe|deben|no debes?|sin"
    r"|mai|sempre|soltanto|deve|devono|senza|apenas|somente|não)\b"
    r"|никогда|всегда|только|нельзя|должен|должна|должны|обязательно|не надо"
    r"|必须|必須|不要|不得|不能|不可|只能|只要|仅|禁止|务必|務必|永远|总是|切勿|必ず|絶対|ないで|てはいけ|てはなら|のみ|だけ"
    r"|반드시|절대|하지 마|항상|오직|금지"
)
# Signs of trouble in a tool's output, looked for as they stand: a regular expression would cost ten times as much.
_TROUBLE = (
    *("error", "exception", "traceback", "fail", "fatal", "denied", "refused", "not found", "no such", "timed out"),
    *("timeout", "panic", "cannot", "could not", "unable", "invalid", "abort", "conflict"),
    *("错误", "失败", "エラー", "失敗", "오류", "실패", "ошибка"),
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")

# Identifiers are found in words, each distinct word being looked at once.
_WORD = re.compile(r"[^\s\"'`;()\[\]{}<>|]+")
_PIECE = re.compile(r"[=,](?!\d{3}\b)|:(?!//|\d+$|\\)")  # "path=a/b.py", "id:X1", but neither "$7,222" nor a URL
_EDGES = ".,:!?*#\\"
_IDENTIFIERS = tuple(
    re.compile(pattern)
    for pattern in (
        r"https?://\S{4,}",
        r"[\w.+-]+@[\w-]+\.[\w.]+",  # mail address
        r"(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?(?::\d+)?",  # path
        r"(?!\w\.\w$)[\w@-]+(?:/[\w.@+-]+)*\.[A-Za-z][A-Za-z0-9]{0,5}(?::\d+)?",  # file
        r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        r"(?=.*[A-Z])(?=.*\d)[A-Z0-9]{5,12}|[A-Z]{2,10}-\d+",  # XEHM4B, ABC-123
        r"[A-Za-z]+(?:_[A-Za-z]+)*_\d{2,}|(?=.*\d)(?=.*[a-f])[0-9a-f]{7,40}",  # credit_card_4421486, a hash
        r"[$€£¥]\d[\d,]*(?:\.\d+)?|\d[\d,]*(?:\.\d+)?(?:%|ms|s|min|h|kB|KB|MB|GB|TB|USD|EUR)",
        r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?Z?)?",
    )
)
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
    """Lines by kind, oldest first; identifiers with a weight."""

    requests: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    actions: dict[str, Action] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    identifiers: dict[str, float] = field(default_factory=dict)
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)  # what each word met so far names
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
    trouble = _trouble(lines, text)
    if trouble:
        where = f"{action.call.partition('(')[0]}: " if action else ""
        facts.errors.append(f"{where}{clip(trouble, LINE)}")
    if action:
        size = f" ({len(lines):,} lines)" if len(lines) > 1 else ""
        action.outcome = clip(trouble or (lines[0] if lines else "no output"), DETAIL) + size


def _trouble(lines: list[str], text: str) -> str:
    """The first line that speaks of trouble."""
    lowered = text.lower()
    signs = [sign for sign in _TROUBLE if sign in lowered]
    return next((line for line in lines if any(sign in line.lower() for sign in signs)), "") if signs else ""


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
    for word in set(_WORD.findall(text)):
        if word.isalpha():
            continue
        names = facts.words.get(word)
        if names is None:
            names = facts.words[word] = identifiers(word)
        for name in names:
            facts.identifiers[name] = facts.identifiers.get(name, 0.0) + weight


def identifiers(word: str) -> tuple[str, ...]:
    """The exact things a word without white space names: URLs, paths, files, ids, hashes, amounts, dates."""
    url = word.find("http") if "://" in word else -1
    parts = _PIECE.split(word) if url < 0 else [*_PIECE.split(word[:url]), word[url:]]
    pieces = (piece.strip(_EDGES) for piece in parts)
    return tuple(p for p in pieces if len(p) <= DETAIL and any(known.fullmatch(p) for known in _IDENTIFIERS))


def scanned(text: str) -> str:
    """The part of a text that is read: all of it, or its start and end if it is long."""
    return text if len(text) <= SCANNED else f"{text[: SCANNED // 2]}\n…\n{text[-SCANNED // 2 :]}"


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
