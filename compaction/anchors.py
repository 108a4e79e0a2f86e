"""Anchors: the exact things a text names that cannot be guessed again once they are gone.

Theory: paths, URLs, ids and plain numbers stand inside words, so a text is taken apart into words and each distinct
word is looked at once. Numbers with a unit behind a space, error lines, commands and constraints are longer and are
found in the text itself. An anchor survives where it stands as a whole in what is left, not as a part of a longer word.
Survival of text is an upper bound on what a model makes of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from . import messages as m
from .messages import Message
from .secrets import redact, redact_all

Kind = Literal["path", "url", "id", "number", "error", "command", "constraint"]
LONGEST_NAME, LONGEST_LINE = 120, 600  # characters of an anchor inside a word, and of one that is a line or a sentence
COMMAND_KEYS = ("command", "cmd", "script")  # arguments under which tools take a command line


@dataclass(frozen=True, slots=True)
class Anchor:
    """One exact thing. `message` is the index of the message it stands in, `start` its offset in the text there.

    The text is without credentials: anchors that are lost are shown to people and kept.
    """

    kind: Kind
    text: str
    message: int = field(default=0, compare=False)
    start: int = field(default=0, compare=False)


# --- inside words ----------------------------------------------------------------------------------------------------
WORD_BREAKS = "\"'`;()[]{}<>|，。、；：！？（）「」『』“”《》【】"  # noqa: RUF001  (what parts words in Chinese and Japanese)
_PIECE = re.compile(
    r"[=,](?!\d{3}\b)|:(?!//|\d+(?::\d+)?$|\\)|(?<=-\d\d)T(?=\d\d:)"
)  # "path=a/b.py", "id:X1", a date before its time; but neither "$7,222" nor a URL
_LEAD, _TRAIL = ",:!?*#\\…", ".,:!?*#\\…"  # marks around a name that are not part of it
_SUFFIXES = (
    "py|pyi|js|mjs|cjs|ts|tsx|jsx|vue|rs|go|java|kt|c|h|cc|cpp|hpp|cs|rb|php|swift|scala|lua|r|jl|sh|bash|zsh|ps1|sql"
    "|md|rst|txt|log|csv|tsv|json|jsonl|yaml|yml|toml|ini|cfg|conf|env|lock|xml|html|css|scss|svg|png|jpg|jpeg|gif|webp"
    "|pdf|docx|xlsx|pptx|zip|tar|gz|tgz|whl|db|sqlite|ipynb|tex|proto|diff|patch|out|exe|so|dll"
)
_UNITS = (
    "ns|us|µs|ms|s|sec|seconds?|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?|years?|%|percent|B|kB|KB|MB|GB|TB|KiB"
    "|MiB|GiB|bytes?|tokens?|lines?|rows?|px|mm|cm|m|km|mi|miles?|g|kg|lbs?|°C|°F|Hz|MHz|GHz|W|kW|V|USD|EUR|GBP|JPY"
    "|dollars?|euros?|pounds?|people|persons?|passengers?|bags?|items?|files?|tests?|Tage?|Stunden?|Minuten|Wochen?"
    "|jours?|heures?|días?|horas?"
)
_NAME = re.compile(
    r"(?P<url>https?://\S{4,})"
    r"|(?P<path>(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?(?::\d+)*"  # /srv/app, ~/a/b, ./a/b.py:12
    r"|[A-Za-z]:(?:\\+[\w.@+ -]+)+"
    r"|[\w.@+-]+(?:/[\w.@+-]+)+\.\w{1,8}(?::\d+)*|[\w@+-]+(?:/[\w.@+-]+){2,}/?"
    rf"|(?!\w\.\w$)[\w@+-][\w.@+-]*\.(?:{_SUFFIXES})(?::\d+)*)"
    r"|(?P<id>[\w.+-]+@[\w-]+\.[\w.]+"  # a mail address
    r"|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|(?=.*[A-Z])(?=.*\d)[A-Z0-9]{5,16}|[A-Z]{2,10}-\d+"  # XEHM4B, ABC-123
    r"|[A-Za-z]+(?:_[A-Za-z]+)*_\d{2,}|(?=.*\d)(?=.*[a-f])[0-9a-f]{7,64}|0x[0-9a-fA-F]{3,}"  # card_4421486, a hash
    r"|\d{6,}|v?\d+\.\d+\.\d+[\w.+-]*|[a-z][\w.-]*:\d{2,5})"  # 123456, 1.2.3, localhost:8080
    r"|(?P<number>[$€£¥]\d[\d,]*(?:\.\d+)?[kKM]?|-?\d[\d,]*(?:\.\d+)?(?:ns|us|µs|ms|s|min|h|d|%|k|M|kB|KB|MB|GB|TB|USD|EUR)"
    r"|\d{4}-\d{2}-\d{2})"
)
_MEASURE = re.compile(rf"(?<![\w.,$€£¥-])\d[\d,]*(?:\.\d+)?\s(?:{_UNITS})(?!\w)")


def words_of(text: str) -> dict[str, None]:
    """The distinct words of a text, in order, parted at white space, quotes and brackets."""
    for mark in WORD_BREAKS:
        text = text.replace(mark, " ")
    return dict.fromkeys(text.split())


def names_of(word: str) -> tuple[tuple[Kind, str], ...]:
    """Kind and text of what a word without white space names: paths, URLs, ids, numbers with units, dates."""
    return () if word.isalpha() or len(word) > 4 * LONGEST_NAME else _names_of(word)


@lru_cache(maxsize=1 << 16)
def _names_of(word: str) -> tuple[tuple[Kind, str], ...]:
    word = _bare(word)
    url = word.find("http") if "://" in word else -1
    parts = _PIECE.split(word) if url < 0 else [*_PIECE.split(word[:url]), word[url:]]
    found = (_NAME.fullmatch(piece) for piece in map(_bare, parts) if 1 < len(piece) <= LONGEST_NAME)
    return tuple((match.lastgroup, match[0]) for match in found if match)  # type: ignore[misc]  # a group is a Kind


def _bare(word: str) -> str:
    """The word without the marks around it."""
    return word.lstrip(_LEAD).rstrip(_TRAIL)


def measures(text: str) -> list[str]:
    """Numbers with a unit behind a space, as in "30 minutes"."""
    return _MEASURE.findall(text)


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


# --- lines and sentences ---------------------------------------------------------------------------------------------
# Signs of trouble in a tool's output, looked for as they stand: a regular expression would cost ten times as much.
_TROUBLE = (
    *("error", "exception", "traceback", "fail", "fatal", "denied", "refused", "not found", "no such", "timed out"),
    *("timeout", "panic", "cannot", "could not", "unable", "invalid", "abort", "conflict", "not allowed", "forbidden"),
    *("错误", "失败", "エラー", "失敗", "오류", "실패", "ошибка", "fehler", "erreur"),
)
_CALM = re.compile(
    r"(?i)\bno (?:errors?|fail\w*|conflicts?)\b|\b0 (?:errors?|fail\w*)"
    r"|\b(?:errors?|fail\w*|error_count|is_error)\"?\s*[:=]\s*(?:null|\"\"|false|\[\]|\{\}|0\b)|\btimeout\"?\s*[:=]\s*\d"
    r"|^[\w./-]+\.\w{1,5}(?::\d+)*$"  # the name of a file
)
_CODE = re.compile(
    r"\d+\s*[|:]\s|(?:def|class|raise|except|import|from|if|elif|else|return|throw|catch|try|func|fn|let|const|var"
    r"|log\w*\.|//|#|\*|--|@|[+-] )(?:\W|$)"
)
_MESSAGE = re.compile(
    r"(?m)^[ \t]*(?:[\w.]*(?:Error|Exception)|(?i:error|fatal|panic|traceback)\b[^:\n]{0,40}): ?\S.*$"
)
_NEAR = 80  # an error line says so near its start; further in, the word belongs to prose or data
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
# Words that bind, in the languages agents are used in most; phrases, and scripts that set no spaces, in any place.
_BINDING = _set_of(
    """must mustn't never only always don't doesn't cannot shall shouldn't forbidden prohibited required mandatory
    ensure muss müssen musst darf dürfen darfst nie niemals nur immer keinesfalls höchstens mindestens unbedingt stets
    jamais toujours seulement uniquement doit doivent dois interdit obligatoire impérativement
    nunca jamás siempre solo sólo solamente únicamente debe deben debes prohibido obligatorio
    mai sempre soltanto deve devono vietato obbligatorio apenas somente devem proibido
    nooit altijd alleen moet moeten verboden nigdy zawsze tylko musi aldrig alltid bara måste asla daima sadece
    никогда всегда только нельзя должен должна должны должно обязательно запрещено ніколи завжди тільки
    हमेशा केवल دائما فقط يجب ممنوع"""
)
_BINDING_PHRASES = (
    *("do not", "does not", "should not", "may not", "at most", "at least", "no more than", "no later than"),
    *("make sure", "be sure", "ne pas", "не надо", "कभी नहीं", "必须", "必須", "不要", "不得", "不能", "不可", "不准"),
    *(
        "不许",
        "只能",
        "只要",
        "只用",
        "仅",
        "禁止",
        "务必",
        "務必",
        "永远",
        "总是",
        "切勿",
        "请勿",
        "必ず",
        "絶対",
        "ないで",
    ),
    *(
        "てはいけ",
        "てはなら",
        "のみ",
        "だけ",
        "しないこと",
        "반드시",
        "절대",
        "하지 마",
        "하지마",
        "항상",
        "오직",
        "금지",
    ),
)
_MILD = _set_of("can't without avoid prefer ohne sans sin senza sem kein keine keinen nicht")
_DECIDING = _set_of(
    """decide decided decision agreed chose chosen choose settled approve approved confirmed entschieden entscheidung
    beschlossen stattdessen einverstanden décidé choisi decidido elegido acordado deciso scelto escolhido
    решил решила решили решено выбрали договорились"""
)
_DECIDING_PHRASES = (
    *("going with", "go with", "instead of", "let's use", "we'll use", "we will use", "opted for", "switch to"),
    *("switched to", "d'accord", "决定", "決定", "采用", "採用", "改用", "选择", "選択", "にします", "결정", "선택"),
)
_WORDS = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ASKING = re.compile(r"(?i)(?:if|please|wenn|falls|bitte|si|s['’]il|por favor)\b|.*let me know\b")
_REMARK = re.compile(
    r"(?i)\bI (?:do not|don[’']t|cannot|only) (?:have|know|remember|see|think|understand|recall|mind)\b"
)


# A numbered line of code, an assignment, a quoted piece, a program's own message ("cat: x: cannot open").
_PASTED = re.compile(
    r"\d{2,}[:|]\s{4}|[\w.\[\]]+\s*[-+*/|&]?=[^=]|[\"'].*[\"'][,:]?$|(?:[\w./*-]+: ){1,2}(?:cannot|only)\b"
)


BINDING_SIGNS = (*_BINDING, *_BINDING_PHRASES, *_MILD)
DECIDING_SIGNS = (*_DECIDING, *_DECIDING_PHRASES)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, word for word; a line break ends one."""
    return (s for piece in _SENTENCE.split(text) if piece and (s := piece.strip()))


def is_binding(sentence: str) -> bool:
    """Whether a sentence has words that bind: must, never, only, do not, always and their like in other languages.

    Lines of programs and logs that people paste have none.
    """
    return _holds(sentence, _BINDING, _BINDING_PHRASES) and not (_REMARK.search(sentence) or _PASTED.match(sentence))


def holding(texts: Sequence[str], signs: Iterable[str]) -> list[bool]:
    """For each text whether one of the signs stands in it, be it inside a word: a first look that costs little.

    `BINDING_SIGNS` and `DECIDING_SIGNS` are those without which no sentence binds or decides.
    """
    everything = "\n".join(texts).lower().replace("’", "'")
    met = [sign for sign in signs if sign in everything]
    lowered = (text.lower().replace("’", "'") for text in texts)
    return [any(sign in text for sign in met) for text in lowered] if met else [False] * len(texts)


def is_wish(sentence: str) -> bool:
    """Whether a sentence is a milder wish, as in "without sugar", or a remark; a question is neither."""
    return (_holds(sentence, _MILD) or bool(_REMARK.search(sentence))) and not sentence.endswith(("?", "？"))


def is_decision(sentence: str) -> bool:
    """Whether a sentence has words that settle something; one that asks for a decision does not."""
    asks = sentence.endswith(("?", "？")) or _ASKING.match(sentence)
    return _holds(sentence, _DECIDING, _DECIDING_PHRASES) and not asks


def _holds(sentence: str, words: frozenset[str], phrases: Sequence[str] = ()) -> bool:
    lowered = sentence.lower().replace("’", "'")
    return not words.isdisjoint(_WORDS.findall(lowered)) or any(phrase in lowered for phrase in phrases)


def error_line(text: str) -> str:
    """The first line of a tool's output that reports trouble, or ""; program code and "0 errors" do not."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few capitals become two characters; positions must stay
        lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    first, found = len(text), ""
    for sign in _TROUBLE:
        at = lowered.find(sign, 0, first)
        while at >= 0:
            start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            line = text[start : end if end >= 0 else len(text)].strip()
            if sign in line[:_NEAR].lower() and not _CODE.match(line) and not _CALM.search(line):
                first, found = start, line
                break
            at = lowered.find(sign, end, first) if end >= 0 else -1
    return found


def _pasted_error(text: str) -> str:
    """An error line in what somebody says: only one that has the form of a program's message."""
    match = _MESSAGE.search(text)
    return match[0].strip() if match else ""


def commands_of(arguments: str) -> list[str]:
    """The command lines in a call's arguments (JSON text)."""
    if not any(key in arguments for key in COMMAND_KEYS):
        return []
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return []
    found = [value.get(key) for key in COMMAND_KEYS] if isinstance(value, dict) else []
    return [line.strip() for line in found if isinstance(line, str) and line.strip()]


# --- anchors of texts and messages -----------------------------------------------------------------------------------
def anchors_of(text: str, message: int = 0, *, printed: bool = False) -> Iterator[Anchor]:
    """The anchors any text holds, in order within each kind: names in words, measures, an error line.

    In output that a tool `printed` a line need only speak of trouble; elsewhere it must look like a program's message.
    """
    for word in words_of(text):
        for kind, name in names_of(word):
            yield Anchor(kind, name, message, text.find(name))
    for match in _MEASURE.finditer(text):
        yield Anchor("number", match[0], message, match.start())
    line = error_line(text) if printed else _pasted_error(text)
    if line:
        yield Anchor("error", line[:LONGEST_LINE], message, text.find(line))


def anchors_in(
    messages: Iterable[Message], which: Container[int] | None = None, *, spoken: bool = False
) -> dict[Anchor, None]:
    """The distinct anchors of messages (all, or those at the indices in `which`), each where it stands first.

    Those of their text, the arguments of their calls and the constraints in what people typed; with `spoken` only those
    in the words of people and replies.
    """
    found: dict[Anchor, None] = {}
    for at, message in enumerate(messages):
        if which is None or at in which:
            for anchor in _of_message(message, at, spoken):
                found.setdefault(anchor)
    return found


def _of_message(message: Message, at: int, spoken: bool) -> Iterator[Anchor]:
    content = m.live_content(message)
    if m.is_system(message) or (spoken and m.role(message) in m.RESULT_ROLES):
        return
    text = redact(m.said(content) if spoken else m.text(content))
    yield from anchors_of(text, at, printed=bool(m.answers(message)))
    if m.is_typed(message):
        for sentence in sentences(text):
            if is_binding(sentence):
                yield Anchor("constraint", sentence[:LONGEST_LINE], at, text.find(sentence))
    if spoken:
        return
    for call in m.calls(message):
        yield from _of_arguments(redact(call.arguments), at)


def _of_arguments(arguments: str, at: int = 0) -> Iterator[Anchor]:
    yield from anchors_of(arguments, at)
    for line in commands_of(arguments):
        yield Anchor("command", redact(line)[:LONGEST_LINE], at)  # again: JSON may have written it with escapes


# --- what became of them ---------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Survival:
    """What became of a set of anchors: by kind (survived, all), and those that are lost, oldest first."""

    by_kind: dict[Kind, tuple[int, int]]
    lost: tuple[Anchor, ...]

    @property
    def total(self) -> int:
        """How many anchors there were."""
        return sum(total for _, total in self.by_kind.values())

    @property
    def share(self) -> float:
        """The share that survived, 0.0 to 1.0; 1.0 where there were none."""
        return 1 - len(self.lost) / self.total if self.total else 1.0


def survival(anchors: Iterable[Anchor], left: str) -> Survival:
    """Which anchors stand in the text that is left."""
    words = {name for word in words_of(left) for _, name in names_of(word)}
    flat = " ".join(left.split())
    by_kind: dict[Kind, tuple[int, int]] = {}
    lost = []
    for anchor in anchors:
        kept, total = by_kind.get(anchor.kind, (0, 0))
        stands = anchor.text in words or _stands(" ".join(anchor.text.split()), flat)
        by_kind[anchor.kind] = (kept + stands, total + 1)
        if not stands:
            lost.append(anchor)
    return Survival(by_kind, tuple(lost))


def _stands(text: str, flat: str) -> bool:
    """Whether the text occurs with no letter or digit directly before or behind it."""
    at = flat.find(text)
    while at >= 0:
        end = at + len(text)
        before = at and text[0].isalnum() and flat[at - 1].isalnum()
        behind = end < len(flat) and text[-1].isalnum() and flat[end].isalnum()
        if not before and not behind:
            return True
        at = flat.find(text, at + 1)
    return False


def visible_text(messages: Iterable[Message]) -> str:
    """All that a model reads of messages but credentials: text, results and the arguments of calls, a line each."""
    pieces = ((m.text(m.body(row)), *(call.arguments for call in m.calls(row))) for row in messages)
    return "\n".join(redact_all([piece for row in pieces for piece in row if piece]))


def hindsight(summarised: Sequence[Message], left: str, later: Sequence[Message]) -> Survival:
    """Of the anchors of summarised messages that later messages use again, which stand in what was left.

    A use is a mention by a person, in a reply or in a call's arguments; output that merely shows it again is none.
    """
    used = dict.fromkeys(anchor for row in later for anchor in _uses(row))
    return survival((anchor for anchor in anchors_in(summarised) if anchor in used), left)


def _uses(message: Message) -> Iterator[Anchor]:
    yield from _of_message(message, 0, spoken=True)
    for call in m.calls(message):
        yield from _of_arguments(redact(call.arguments))
