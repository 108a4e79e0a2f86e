"""Redaction of credentials, before any text leaves for a summariser and again before a summary is kept.

A summary outlives the messages it replaces and may be sent to another provider, so it must not carry keys. Reservation
numbers, user ids, hashes and prices look much like keys and must stay: a bare word is only redacted when it has the
published shape of a known credential; anything else needs a telling name beside it.

Every pattern is tried only where one of its literal starts stands: finding those costs next to nothing, while a regular
expression that may begin anywhere takes seconds for 20 MB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

REDACTED = "[REDACTED]"
CUT = "\n...\n"  # stands where the middle of a text was left out

Span = tuple[int, int]


class _Rule(NamedTuple):
    starts: tuple[str, ...]  # lower case; the pattern is matched where one of them begins
    pattern: re.Pattern[str]


def _rule(starts: str, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> _Rule:
    return _Rule(tuple(starts.split()), re.compile(pattern, flags))


_PLACEHOLDER = re.compile(r"(?i)(?:\[redacted\]|\*+|x{3,}|none|null|true|false|\.\.\.|<.*>|\$.*|%.*|\{.*)$")
_COUNT = re.compile(r"[\d.,]+$")  # "max_token: 4096" counts tokens
_VALUES = ("value", "bare")  # the groups that hold a secret; without one of them it is the whole match

_RULES = (
    _rule("-----begin", r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    _rule("sk-", r"\bsk-(?=[\w-]{0,200}\d)[\w-]{20,}"),
    _rule("sk_ rk_ pk_", r"\b[srp]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    _rule("akia asia", r"\bA[KS]IA[A-Z0-9]{16}\b"),
    _rule("ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{40,}"),
    _rule("glpat- xox xapp-", r"\bglpat-[\w-]{20,}|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{20,}"),
    _rule("aiza ya29.", r"\bAIza[\w-]{35}|\bya29\.[\w-]{20,}"),
    _rule("hf_ npm_ pypi-", r"\bhf_[A-Za-z0-9]{30,}|\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[\w-]{50,}"),
    _rule("sg.", r"\bSG\.[\w-]{16,}\.[\w-]{16,}"),
    _rule(":aa", r"(?<=\d{8}):(?P<value>AA[\w-]{33})\b"),  # Telegram bots
    _rule("eyj", r"(?<![\w-])eyJ[\w-]{8,2000}+\.eyJ[\w-]{8,}\.[\w-]*"),  # JSON web tokens
    _rule("://", r"://[^\s:/@'\"]{0,64}:(?P<value>[^\s/@'\"]{1,256})@"),
    _rule(r":\/\/", r":\\/\\/[^\s:/@'\"]{0,64}:(?P<value>[^\s/@'\"]{1,256})@"),  # in JSON that escapes slashes
    _rule("bearer", r"(?i)\bbearer\s+(?P<value>[A-Z0-9+/_.~-]{12,}=*)"),
    _rule("basic", r"(?i)\bbasic\s+(?P<value>(?=[A-Z0-9+/]*\d)[A-Z0-9+/]{16,}=*)"),
    # "password": "value", password='value', also inside JSON text with escaped quotes; PASSWORD=value, password: value,
    # --password value. Without quotes the value must hold a digit, so that prose and code stay as they are.
    _rule(
        "passwd password passphrase secret token api_key api-key apikey access_key access-key private_key",
        r"(?i:passw(?:or)?d|passphrase|secret(?:_key)?|token|(?:api|access|private)[_-]?key)"
        r"(?:\\?[\"']?\s*[:=]\s*\\?(?P<quote>[\"'])(?P<value>[^\\\n\"']{4,})\\?(?P=quote)"
        r"|(?:=|:\s{0,2}|(?<=-password)\s|(?<=-token)\s)(?=[^\s\"',;]{0,80}\d)"
        r"(?P<bare>[^\s\"',;()\[\]{}<>$]{6,})(?![(\[]))",
    ),
)
_Starts = tuple[tuple[str, re.Pattern[str]], ...]
_STARTS: _Starts = tuple((start, rule.pattern) for rule in _RULES for start in rule.starts)
_REACH = 1_000  # characters around a cut that are searched for a credential standing there
_LOOKS_BACK = 16  # characters before a match that a pattern may have looked at
_WORD = 200  # characters by which a cut moves, so that no word is cut in two
_SHORTEST = 8  # no rule fits into less: "://:a@" beside a host, "token=…"


def redact(text: str) -> str:
    """The text with credentials replaced by "[REDACTED]"; everything else is unchanged."""
    return _without(text, _STARTS)


def redact_all(texts: Sequence[str], most: Sequence[int] | None = None) -> list[str]:
    """`redact` of many texts, faster: starts that stand in none of them are looked for once.

    Of a text longer than its number in `most` about so many characters of its start and end stay, no credential being
    cut in two; 0 leaves nothing of it.
    """
    if most is not None:
        texts = [text if limit else "" for text, limit in zip(texts, most, strict=True)]
    everything = "\n".join(texts).lower()
    met = tuple((start, pattern) for start, pattern in _STARTS if start in everything)
    if most is not None:
        wanted = zip(texts, most, strict=True)
        texts = [text if len(text) <= limit else _ends(text, limit // 2, met) for text, limit in wanted]
    return [_without(text, met) for text in texts] if met else list(texts)


def _ends(text: str, length: int, starts: _Starts) -> str:
    """The start and the end of a text, each about `length` long; private keys, of many lines, are taken out first."""
    if "PRIVATE KEY-----" in text:
        text = _without(text, starts)
    end, start = length, max(len(text) - length, length)
    end = max(text.rfind(" ", end - _WORD, end), text.rfind("\n", max(end - _WORD, 0), end), 0) or end
    places = [at for mark in " \n" if (at := text.find(mark, start, start + _WORD)) >= 0]
    start = min(places, default=start)
    return f"{text[: _outside(text, end, starts)[0]]}{CUT}{text[_outside(text, start, starts)[1] :].lstrip()}"


def _outside(text: str, at: int, starts: _Starts) -> Span:
    """The nearest places before and behind `at` that are not inside a credential or between one and its label."""
    base = max(at - _REACH, 0)
    for match in _matches(text[base : at + _REACH], starts):
        first, last = base + match.start() - _LOOKS_BACK, base + match.end()
        if first < at < last:
            return max(first, 0), last
    return at, at


def _without(text: str, starts: _Starts) -> str:
    spans = sorted(_secrets(text, starts)) if len(text) >= _SHORTEST else []
    if not spans:
        return text
    kept, at = [], 0
    for start, end in spans:
        if start >= at:
            kept += [text[at:start], REDACTED]
        at = max(at, end)
    return "".join([*kept, text[at:]])


def _secrets(text: str, starts: _Starts) -> Iterator[Span]:
    return (match.span(match.lastgroup if match.lastgroup in _VALUES else 0) for match in _matches(text, starts))


def _matches(text: str, starts: _Starts) -> Iterator[re.Match[str]]:
    """Each credential with its label, if it needs one."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few capitals become two characters; positions must stay
        lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    for start, pattern in starts:
        if start not in lowered:
            continue
        at = lowered.find(start)
        while at >= 0:
            match = pattern.match(text, at)
            if match and not _harmless(match):
                yield match
            # On behind the match: its own text would be read again from each start inside it.
            at = lowered.find(start, max(match.end() if match else 0, at + 1))


def _harmless(match: re.Match[str]) -> bool:
    """A placeholder, or a number of tokens."""
    value = match[match.lastgroup if match.lastgroup in _VALUES else 0]
    return bool(_PLACEHOLDER.match(value) or (match[0][:5].lower() == "token" and _COUNT.match(value)))
