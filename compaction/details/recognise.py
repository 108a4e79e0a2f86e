"""Details that are longer than a word, or recognised by the words around them: dates, phones, accounts, numbers, names.

Theory: every expression begins with something rare (a digit, a capital, a label) and its repetitions are bounded, so
that the cost is proportional to the length of the text. What one expression finds is not looked at by the following
ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter

from ..sentences import set_of
from . import cjk
from .cjk import CJK
from .lexicon import (
    ACRONYMS,
    BUILT_IN,
    CODES_OF_CURRENCIES,
    COMMON,
    CURRENCIES,
    MONTHS,
    NAMED,
    TITLES,
    UNITS,
)
from .names import Kind, colours_in, names_of

DetailSpan = tuple[Kind, int, int]  # kind, start and end in the text

_YEAR = r"(?:(?:,| de| del)? (?:19|20)\d\d)?"
_DATES = (
    re.compile(
        rf"(?<!\d)(?=\d)(?:(?<![\w.,])\d{{1,2}}(?:st|nd|rd|th|er|º|\.)?(?: of| de)? (?=[^\W\d_])(?:{MONTHS})\b{_YEAR}"
        r"|(?:19|20)\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?"
        r"|(?<![\w./,])\d{1,2}([./])\d{1,2}\1(?:19|20)\d\d(?!\w)"
        r"|(?:\d{4}年)?\d{1,2}月\d{1,2}日|(?:\d{4}년 ?)?\d{1,2}월 ?\d{1,2}일"
        rf"|\d{{1,2}}/(?:{MONTHS})/(?:19|20)\d\d(?::\d\d){{3}}"  # Common Log Format
        r"|\d{1,2}(?:点|點|時)(?:\d{1,2}分|半)?|\d{1,2}시(?: ?\d{1,2}분)?"
        r"|(?<![\w:.])\d{1,2}:\d\d(?::\d\d)?(?![\w:])(?: ?[ap]\.?m\b)?|(?<![\w.])\d{1,2} ?[ap]m\b"
        r"|(?<!\w)\d{1,2} Uhr\b|(?<!\w)\d{1,2}h\d\d\b)"
    ),
    re.compile(
        rf"\b(?=[A-Z][a-zé]{{2,9}}\.? \d)(?:{MONTHS})\.? (?:\d{{1,2}}(?:st|nd|rd|th)?\b(?!:)"
        r"(?:,? (?:19|20)\d\d| \d\d:\d\d(?::\d\d)?(?: (?:19|20)\d\d)?)?|(?:19|20)\d\d\b)"
    ),
    re.compile(rf"(?<=\b(?:by|in) )(?=[A-Z])(?:{MONTHS})\b"),
)
_ACCOUNT = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_PHONE = re.compile(
    r"(?<![\w.,$€£#-])(?:\+\d{1,3}[ -]?\(?\d{1,4}\)?(?:[ -]?\d{2,8}){1,4}"
    r"|0\d{1,4}(?:[ /-]\d{2,4}){2,4}|0\d{2,4}[ /-]\d{5,9}|1\d\d \d{4} \d{4})(?![\w-])"
)
_AMOUNT = re.compile(
    rf"(?<![\w.,])\d{{1,3}}(?:[\d.,]|[ \u00a0\u202f](?=\d{{3}}\b)){{0,12}} ?(?:{CURRENCIES})(?![A-Za-z])"
)
_AMOUNT_BEHIND = re.compile(
    rf"(?<![A-Za-z])(?:[A-Z]{{0,3}}[$€£¥₽₩₹₴₺]|(?:{CODES_OF_CURRENCIES})) ?(?=\d)"
    r"\d{1,3}(?:[\d.,'’]|[ \u00a0\u202f](?=\d{3}\b)){0,12}(?<=\d)(?!\w)"
)  # R$ 350,00; CHF 1'250.00
# "3.10" is neither "3.1" nor "3.100" where it counts releases.
_VERSION = re.compile(
    r"\b(?:Python|Node(?:\.js)?|Java|Ruby|PHP|Perl|Go|Rust|Swift|Kotlin|Django|Rails|Ubuntu|Debian|Postgre(?:s|SQL)|MySQL"
    rf"|SQLite|Redis|Kubernetes|[Vv]ersions?|[Rr]eleases?) (\d{{1,4}}\.\d{{1,4}})(?![\w.]*\w|\s(?:{UNITS})\b)"
)
_MEASURE = re.compile(rf"(?<![\w.,$€£¥-])\d[\d,]*(?:\.\d+)?\s(?:{UNITS})(?!\w)")
# A bare number: not one that counts the items of a list or the lines of a listing.
_NUMBER = re.compile(
    r"(?:(?<=\d\.\.)|(?<![\w.,/#@$€£¥+-]))(?<!\w[-+])(?<!\d:)[-+−]?[$€£¥₽₩]?\d{1,15}(?:,\d{3})*(?:\.\d{1,12})?(?!\w|[.:,/-]\w|[)\]]\()"
)
_ORDINAL = re.compile(r"(?m)^[ \t>*_-]*\d{1,6}(?:[.)](?=[ \t*])|[:|→](?!\d))|(?<=[.!?:] )\d{1,2}\. (?=[A-Z*`])")
_CJK_NUMBER = re.compile(r"\d{1,15}(?:,\d{3})*(?:\.\d+)? ?(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])")

_CAP = r"(?:[A-ZÀ-ÖØ-ÞĀ-ŽА-ЯЁ][a-zß-öø-ÿā-žа-яё]+(?:['’-][A-ZÀ-ÞА-Я]?[a-zß-ÿа-я]+)*)"
_CAPS = re.compile(rf"(?<![\w@#./\\'’`-]){_CAP}(?:(?: | & |-){_CAP}){{0,4}}(?![\w(]|\.\w|/\w|_)")
_ONE = re.compile(_CAP)
_LABEL = re.compile(r"(?<!\w)[\"']?([^\W\d]\w{1,15})[\"']?\s?[:=]\s?[\"']?")
_NAMED = frozenset(NAMED.split("|"))
_VALUE = re.compile(r"[^\"'\\\n,;(){}\[\]|<>]{2,60}")
_CODES = re.compile(r"(?<![\w'’&$%./-])[A-Z]{3,4}(?![\w'’&-]|\.\w|/\w)")
_OPTION = re.compile(r"(?<=\s)-\d{1,4}(?=\s|\"|$)")
_OPTION_VALUE = re.compile(r"(?<=\s)-{1,2}[a-z-]+[ =]([a-z][a-z0-9]+(?:-[a-z0-9]+)+)(?![\w/.])")
_REFERENCE = re.compile(
    r"\b(?:ID|[Cc]ode|[Rr]eservation|[Bb]ooking|[Oo]rder|[Rr]ef|[Rr]eference)\b(?: ID)?(?: is)?:? {0,2}\**"
    r"([A-Z]{5,8})\b"
)
_TITLE_BEFORE = re.compile(rf"\b(?:{TITLES})\.?,? $")
_SHOUTED = re.compile(r"\b[A-Z]{2,} [A-Z]{2,}\b")
_TICKED = re.compile(r"`([^`\n]{2,80})`")
_SYMBOL = re.compile(r"[A-Za-z_$@][\w$-]*(?:\.[\w$-]+)*")
_DEFINED = re.compile(
    r"(?<![\w.])(?:def|defp|defmodule|defmacro|defstruct|class|function|func|fn|fun|interface|type|struct|enum|trait"
    r"|(?<![^\n])(?:export\s)?(?:const|let|var|val)|CREATE TABLE"  # indented, they are local
    r"|create table)\s+(?:async\s+)?(?:\([^)\n]{0,60}\)\s*)?\*?([A-Za-z_][\w.]{2,60}[!?]?)"
    r"(?=\s*[(=:{<,;]|\s+do\b|\s+(?:extends|implements)\b|\s*\n|\s*$)"
)
_CALLED = re.compile(r"(?<![\w./\\-])([A-Za-z_]\w{1,40}(?:\.[A-Za-z_]\w{1,40}){1,3}[!?]?)\(")
_PLAIN = set_of(
    """None True False null undefined result value index item items data self this test main init setup name
    error response request props state args options params config key"""
)
_CAMEL = re.compile(
    r"(?<![\w./@\"'-])(?:[a-z][a-z0-9]{0,40}(?:[A-Z][a-z0-9]{1,40}){1,8}|[A-Z][a-z0-9]{1,40}(?:[A-Z][a-z0-9]{1,40}){1,8}"
    r"|[a-z][a-z0-9]{0,40}(?:_[a-z0-9]{1,40}){1,8})(?![\w/@-]|\.\w|[\"']?:)"
)
_TWO_PARTS = re.compile(r"(?<=\")[a-z][a-z0-9]+-[a-z0-9-]{2,40}(?=\")|(?<![^\s])[a-z][a-z0-9]+-[a-z0-9]+(?=:? )")
_QUOTED = re.compile(rf"(?<=\")(?:{_CAP}(?: {_CAP}){{0,3}}|[A-Z]{{3,4}})(?=\")")
_AFTER = re.compile(
    r"\b(?:[Bb]ranch|[Bb]ucket|[Hh]ost|[Ss]ervice|[Qq]ueue|[Tt]able|[Rr]epo|[Cc]ontainer|[Cc]luster|[Vv]olume|[Ww]orker|[Ii]ndex"
    r"|[Ff]unction|[Vv]ariable|[Rr]ole|[Tt]ask|[Jj]ob|[Kk]ey|[Cc]olumn|[Rr]elation|[Cc]onstraint|[Dd]atabase"
    r"|[Ss]chema|[Nn]amespace|[Dd]eployment|[Pp]od|[Nn]ode) [\"'`]?"
    r"([A-Za-z]\w*(?:[-_.]\w+)+)"
)
# Without these nothing is found by what is costly to look for.
_DIGIT, _PARTED, _COMPOUND = re.compile(r"\d"), re.compile(r"\w[-_.]\w"), re.compile(r"[a-z0-9][A-Z]|_|\w\.\w")
_FOLLOWED = re.compile(
    r"(?:['’]s)? (?:is|was|has|had|said|says|asks|asked|wants|wanted|will|would|can|could|lives|works|wrote|sent|paid"
    r"|called|sounds|seems|looks|needs|[a-z]{3,12}ed|and [A-Z])\b"
)
_TITLE_WORDS = frozenset(TITLES.split("|"))
_LABELS = re.compile(r"\W{0,4}:(?!//)|\*{0,2}:\*{0,2}")
_NUMBERED = re.compile(r"\. \d")  # "Art. 46", "Fig. 3"
_BREAK = re.compile(r"(?:^|[.!?:…。\]]|\n)[\s>*_#|\"'“‘`(\[\d.)-]*$")
_GERMAN = re.compile(
    r"\b(?:[Dd]er|die|Die|[Dd]as|ist|sind|wird|[Uu]nd|nicht|[Ii]ch|[Ee]in|[Ee]ine|einen|für|mit|[Ww]ir|Sie|auf|[Mm]ein"
    r"|dem|den|zum|zur|wie|bitte|Bitte|dass|auch|noch|habe|haben|sich)\b"
)
_STREET = re.compile(r"(?<!\w)(?:\w{0,30}(?:stra(?:ß|ss)e|weg|platz|allee|gasse)|Str\.) (?=\d)")
_IN_GERMAN = re.compile(r"\b(?:in|nach|aus|bei|von|Herr|Frau)\.? $")
_LOWER_AFTER_LABEL = re.compile(r"[\w][\w.-]{1,40}$")
_LOOK_BACK = 24  # characters before a capital that tell whether a sentence begins there


class Phrases:
    """The details of one text. `taken` marks the characters that already belong to a detail."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.taken = bytearray(len(text))
        self.has_digits = bool(_DIGIT.search(text))
        self.spans: list[DetailSpan] = []

    def take(self, kind: Kind, start: int, end: int) -> None:
        """Add a detail, unless another one already has some of its characters."""
        if start < end and self.taken.find(1, start, end) < 0:
            self.taken[start:end] = b"\1" * (end - start)
            self.spans.append((kind, start, end))

    def all(self, kind: Kind, pattern: re.Pattern[str], group: int = 0) -> None:
        """Add every match of the pattern, or of a group in it."""
        for match in pattern.finditer(self.text):
            self.take(kind, *match.span(group))

    def skip_colours(self) -> None:
        """Exclude colours: no part of a colour is a detail."""
        for start, end in colours_in(self.text):
            self.taken[start:end] = b"\1" * (end - start)

    def skip(self, pattern: re.Pattern[str]) -> None:
        """Exclude every match of the pattern: no part of it is a detail."""
        for match in pattern.finditer(self.text):
            self.taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())

    # --- numbers -----------------------------------------------------------------------------------------------------
    def exact(self) -> None:
        """Account and phone numbers; their parts would otherwise be taken for smaller numbers."""
        if not self.has_digits:
            return
        self.all("account", _ACCOUNT)
        for match in _PHONE.finditer(self.text):
            if sum(map(str.isdigit, match[0])) >= 8:
                self.take("phone", *match.span())

    def words(self, dates: Sequence[tuple[int, int]]) -> None:
        """Names inside words; those that are part of a date or time found before are left out."""
        text = self.text
        reach = {at: end for start, end in sorted(dates, key=itemgetter(1)) for at in range(start, end)}
        for match in _WORD.finditer(text):
            at = match.start()
            for kind, name in names_of(match[0]):
                at = text.find(name, at, match.end())
                small = kind in ("id", "number", "date")
                inside = at in reach and (small or at + len(name) <= reach[at])
                tag = text.startswith("<", at - 1) and kind != "url" and "@" not in name
                if at >= 0 and not inside and not tag:
                    self.take(kind, at, at + len(name))

    def numbers(self, dates: Sequence[tuple[int, int]]) -> None:
        """Dates and times, amounts, numbers with a unit, and bare numbers."""
        if self.has_digits:
            self.skip(_ORDINAL)
        for start, end in dates:
            self.take("date", start, end)
        if not self.has_digits:
            return
        self.all("version", _VERSION, 1)
        self.all("number", _AMOUNT)
        self.all("number", _AMOUNT_BEHIND)
        self.all("number", _MEASURE)
        self.all("number", _NUMBER)
        if CJK.search(self.text):
            self.all("number", _CJK_NUMBER)

    # --- names -------------------------------------------------------------------------------------------------------
    def labelled(self) -> None:
        """Values of labels such as "name", "city", "origin", in tool output and in arguments of calls."""
        for label in _LABEL.finditer(self.text):
            value = _VALUE.match(self.text, label.end()) if label[1].casefold() in _NAMED else None
            if value and _names_something(value[0].strip()):
                start = value.start() + len(value[0]) - len(value[0].lstrip())
                self.take("name", start, start + len(value[0].strip()))

    def people_and_places(self) -> None:
        """Capitalised words that do not begin a sentence, follow a title, or are two or more in a row."""
        german = len(_GERMAN.findall(self.text[:2_000])) >= 2
        for match in _CAPS.finditer(self.text):
            words = [(w[0], match.start() + w.start(), match.start() + w.end()) for w in _ONE.finditer(match[0])]
            while words and (_is_common(words[0][0]) or words[0][0] in _TITLE_WORDS):
                words.pop(0)
            while words and _is_common(words[-1][0]):
                words.pop()
            if words and not _LABELS.match(self.text, match.end()) and self._is_name(words, german):
                self.take("name", words[0][1], words[-1][2])
        if CJK.search(self.text):
            for start, end in cjk.names_in(self.text):
                self.take("name", start, end)

    def _is_name(self, words: list[tuple[str, int, int]], german: bool) -> bool:
        start, end = words[0][1], words[-1][2]
        before = self.text[max(start - _LOOK_BACK, 0) : start]
        if len(words) > 1:
            return not any(_is_common(word) for word, _, _ in words)
        if _TITLE_BEFORE.search(before):
            return True
        if _NUMBERED.match(self.text, end):
            return False
        if german:
            return bool(_IN_GERMAN.search(before) or _STREET.match(self.text, start))
        if self.text.startswith(",", end) and not words[0][0].endswith("ly"):
            return True  # "Aalst, aisle 6": who or what is spoken of
        begins = _BREAK.search(before) if start >= _LOOK_BACK else _BREAK.search(before) or not before.strip(" *_#>-")
        return not begins or bool(_FOLLOWED.match(self.text, end))

    def codes(self) -> None:
        """Three or four capitals that are not a common abbreviation, such as codes of airports."""
        loud = bytearray(len(self.text))
        for match in _SHOUTED.finditer(self.text):
            loud[match.start() : match.end()] = b"\1" * (match.end() - match.start())
        for match in _CODES.finditer(self.text):
            if match[0] not in ACRONYMS and not loud[match.start()]:
                self.take("name", *match.span())
        self.all("id", _REFERENCE, 1)

    # --- names in code -----------------------------------------------------------------------------------------------
    def ticked(self) -> None:
        """Names between backticks that are not plain words."""
        for ticks in _TICKED.finditer(self.text):
            for match in _SYMBOL.finditer(self.text, ticks.start(1), ticks.end(1)):
                if _is_own(match[0]) and re.search(r"[._\d-]|[a-z][A-Z]", match[0]):
                    self.take("name", *match.span())

    def symbols(self) -> None:
        """Names that code defines or calls, except those of its language."""
        if _PARTED.search(self.text):
            self.all("name", _AFTER, 1)
        for pattern in (_CALLED, _CAMEL) if _COMPOUND.search(self.text) else ():
            for match in pattern.finditer(self.text):
                group = 1 if pattern is _CALLED else 0
                if _is_own(match[group]):
                    self.take("name", *match.span(group))


def _names_something(value: str) -> bool:
    """Whether a label's value is a name: capitalised words, a code, a word with a dash, letters without capitals."""
    if len(value) < 2 or value.casefold() in COMMON or value in ACRONYMS or value.isdigit():
        return False
    first = value[0]
    if first.isupper() or not first.isascii():
        return value.count(" ") <= 4
    return bool(_LOWER_AFTER_LABEL.fullmatch(value)) and "_" not in value


@lru_cache(maxsize=1 << 14)
def _is_common(word: str) -> bool:
    return re.split(r"['’]", word.casefold())[0] in COMMON or bool(re.fullmatch(MONTHS, word))


def _is_own(symbol: str) -> bool:
    """Whether a name in code is not one of the language's own."""
    return symbol.split(".")[0] not in BUILT_IN


_WORD = re.compile(
    r"[^\s\"'`;()\[\]{}<>|,，。、；：！？（）「」『』“”《》【】]{2,240}(?:,\d{3}\b[^\s\"'`;()\[\]{}<>|]*)?"
)  # noqa: RUF001
_ESCAPES = (("\\n", " \n"), ("\\t", " \t"), ('\\"', ' "'))


def details_of(text: str, origin: str) -> list[tuple[Kind, str, int]]:
    """Kind, text and start of each detail in a text, in the order of the text. `origin` is "user" or "assistant" for
    what was said, "args" for the arguments of a call, "tool" for a tool's output.
    """
    if origin == "args" and "\\" in text:
        for escape, plain in _ESCAPES:
            text = text.replace(escape, plain)
    phrases = Phrases(text)
    phrases.skip_colours()
    phrases.exact()
    patterns = _DATES if phrases.has_digits else _DATES[-1:]
    dates = sorted(match.span() for pattern in patterns for match in pattern.finditer(text))
    phrases.words(dates)
    if origin == "args":
        phrases.skip(_OPTION)
    phrases.numbers(dates)
    if origin in ("args", "tool"):
        phrases.labelled()
        phrases.all("name", _QUOTED)
    if origin == "tool":
        phrases.all("name", _AFTER, 1)
        phrases.all("name", _TWO_PARTS)
        phrases.all("name", _DEFINED, 1)
    else:
        phrases.ticked()
        if origin == "args":
            phrases.all("name", _DEFINED, 1)
            phrases.all("name", _OPTION_VALUE, 1)
        phrases.symbols()
    phrases.people_and_places()
    phrases.codes()
    return sorted(((kind, text[a:b], a) for kind, a, b in phrases.spans), key=lambda each: each[2])


def defined_in(code: str) -> list[str]:
    """The names a piece of code defines, in order."""
    return [name for name in dict.fromkeys(_DEFINED.findall(code)) if name not in _PLAIN and len(name) > 3]


def called_in(code: str) -> list[str]:
    """The dotted names that the code calls, in order, except those of the language."""
    return [name for name in dict.fromkeys(_CALLED.findall(code)) if _is_own(name)] if "." in code else []
