"""Important lines and sentences: those that bind, decide or ask, and lines that report trouble."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from .constraints import is_binding as is_binding


def set_of(words: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(words.split())


# Signs of trouble in a tool's output, searched for as substrings: a regular expression would cost ten times as much.
_TROUBLE = (
    *(
        "error",
        "exception",
        "traceback",
        "fail",
        "err!",
        "fatal",
        "denied",
        "refused",
        "not found",
        "no such",
        "timed out",
    ),
    *("timeout", "panic", "cannot", "could not", "unable", "invalid", "abort", "conflict", "not allowed", "forbidden"),
    # What the system itself says: errno names (errno(3)), signals (signal(7)).
    *("enoent", "eacces", "eperm:", "eexist:", "eisdir", "enotdir", "econnre", "etimedout", "eaddrinuse", "enospc"),
    *("segmentation fault", "core dumped", "out of memory", "no space left", "broken pipe"),
    *("错误", "失败", "エラー", "失敗", "오류", "실패", "ошибка", "fehler", "erreur"),
)
# A line reports trouble only if a word contains one of these: the longest word of each sign.
TROUBLE_WORDS = tuple(max(sign.split(), key=len) for sign in _TROUBLE)
_CALM = re.compile(
    r"(?i)\bno (?:errors?|fail\w*|conflicts?|warnings or errors)\b|\b0 (?:errors?|fail\w*)|\bwithout errors?\b"
    r"|\b(?:errors?|fail\w*|error_count|is_error)\"?\s*[:=]\s*(?:null|\"\"|false|\[\]|\{\}|0\b)|\btimeout\"?\s*[:=]\s*\d"
    r"|^[\w./-]+\.\w{1,5}(?::\d+)*$"  # the name of a file
    r"|^\[?[0-9a-f]{7,40}\b |^\[[\w./ ()-]{1,60} [0-9a-f]{7,40}\] "  # a commit and its message
    r"|^(?:hint|note|help|tip|info):|^npm (?:warn|notice)\b"
    r"|^(?:requirement already satisfied|collecting|downloading|successfully installed)\b"  # pip
    r"|^(?:feat|fix|docs|test|chore|refactor|perf|style|build|ci)(?:\([\w./-]+\))?!?: "
)
_CODE = re.compile(
    r"\d+\s*(?:[|:]\s|→)|(?:def|class|raise|except|import|from|if|elif|else|return|throw|catch|try|func|fn|let|const|var"
    r"|log\w*\.|//|#|\*|--|@|[+-] )(?:\W|$)|- [A-Z]\w+ |\d+\.\s+[*`]*[A-Z]"  # a list in a text somebody wrote
)
_MESSAGE = re.compile(
    r"(?m)^[ \t]*(?:[\w.]*(?:Error|Exception)|(?i:error|fatal|panic|traceback)\b[^:\n]{0,40}): ?\S.*$"
)
_NEAR = 80  # an error line says so near its start; further in, the word belongs to prose or data
_BEGINNING = 400  # characters of a line in which it may say that there is no trouble
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\.\.)\s+|(?<=[。！？])|\n+")
_DECIDING = set_of(
    """decide decided decision agreed chose chosen settled approve approved entschieden entscheidung
    beschlossen stattdessen einverstanden décidé choisi decidido elegido acordado deciso scelto escolhido
    решил решила решили решено выбрали договорились"""
)
_DECIDING_PHRASES = (
    *("going with", "'ll go with", "will go with", "let's go with", "let's use", "we'll use", "we will use"),
    *("i choose", "opted for", "let's switch to", "switched to", "i'll take", "we'll take", "d'accord"),
    *("决定", "決定", "采用", "採用", "改用", "选择", "選択", "にします", "결정", "선택"),
)
_WORDS = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ASKING = re.compile(
    r"(?i)(?:if|please|once|when|wenn|falls|bitte|si|s['’]il|por favor|you (?:may|can|could))\b|.*let me know\b"
)

DECIDING_SIGNS = (*_DECIDING, *_DECIDING_PHRASES)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, word for word; a line break ends one."""
    return (s for piece in _SENTENCE.split(text) if piece and (s := piece.strip()))


def holding(texts: Sequence[str], signs: Iterable[str]) -> list[bool]:
    """For each text whether one of the signs occurs in it, even inside a word: a cheap first check.

    No sentence decides without one of `DECIDING_SIGNS`.
    """
    everything = "\n".join(texts).lower().replace("’", "'")
    met = [sign for sign in signs if sign in everything]
    lowered = (text.lower().replace("’", "'") for text in texts)
    return [any(sign in text for sign in met) for text in lowered] if met else [False] * len(texts)


def is_decision(sentence: str) -> bool:
    """Whether a sentence settles something; False for one that asks for a decision."""
    asks = sentence.endswith(("?", "？")) or _ASKING.match(sentence)
    return _holds(sentence, _DECIDING, _DECIDING_PHRASES) and not asks


def _holds(sentence: str, words: frozenset[str], phrases: Sequence[str] = ()) -> bool:
    lowered = sentence.lower().replace("’", "'")
    return not words.isdisjoint(_WORDS.findall(lowered)) or any(phrase in lowered for phrase in phrases)


def signs_in(word: str) -> tuple[str, ...]:
    """The signs of trouble that a text with this word may have; `error_line` need not search for others."""
    word = word.lower()
    return tuple(sign for sign, part in zip(_TROUBLE, TROUBLE_WORDS, strict=True) if part in word)


def error_line(text: str, signs: Iterable[str] = _TROUBLE) -> str:
    """The first line of a tool's output that reports trouble, or ""; program code and "0 errors" do not count."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few capitals become two characters; positions must stay
        lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    first, first_line = len(text), ""
    for sign in signs:
        at = lowered.find(sign, 0, first)
        while at >= 0:
            start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            line = text[start : end if end >= 0 else len(text)].strip()
            if sign in line[:_NEAR].lower() and not _CODE.match(line) and not _CALM.search(line, 0, _BEGINNING):
                first, first_line = start, line
                break
            at = lowered.find(sign, end, first) if end >= 0 else -1
    return first_line


def pasted_error(text: str) -> str:
    """An error line in a person's words: only a line in the form of a program's message counts."""
    match = _MESSAGE.search(text)
    return match[0].strip() if match else ""
