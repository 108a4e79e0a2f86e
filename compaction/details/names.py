"""Names inside words: paths, URLs, ids, versions, amounts and dates, recognised by their form alone.

Theory: these names are parts of words, so a text is split into words and each distinct word is looked at once. Details
longer than a word, or recognised only by the words around them, are found in the text itself (`recognise`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

Kind = Literal[
    "path",
    "url",
    "id",
    "number",
    "date",
    "name",
    "version",
    "phone",
    "account",
    "error",
    "command",
    "statement",
]
LONGEST_NAME = 120  # characters


WORD_BREAKS = "\"'`;()[]{}<>|，。、；：！？（）「」『』“”《》【】"  # noqa: RUF001  (what parts words in Chinese and Japanese)
_PIECE = re.compile(
    r"[=,](?!\d{3}\b)|\.\.(?=\w)|:(?!//|\d+(?::\d+)?$|\\)|(?<=-\d\d)T(?=\d\d:)"
)  # "path=a/b.py", "id:X1", a date before its time; but neither "$7,222" nor a URL
_LEAD, _TRAIL = ",:!?*\\…=✓", ".,:!?*#~\\…"  # marks around a name that are not part of it
_WORD, _LONG = re.compile(r"\S+"), 1_000_000  # a list of all words takes ten times the memory of a long text
_HEADING = re.compile(r"#+(?!\d)")  # "## Title", but not "#4711"
# "#8f8f99"; of digits alone where a colour is spoken of, or set. "#B17420" and "#282832" elsewhere number something.
_HEX = re.compile(r"(?<![\w&/#])#(?![A-Fa-f]\d+\b)(?:[0-9a-fA-F]{8}|[0-9a-fA-F]{6}|[0-9a-fA-F]{3,4})(?!\w)")
_OF_COLOURS = re.compile(r"(?i)colou?r|gradient|(?:back|fore)ground|farbe|couleur|#(?=\d{0,7}[a-f])[0-9a-f]{3,8}\b")
_SET_TO = re.compile(r"(?i)(?:colou?r|ground|fill|stroke|border)[\w-]{0,20}[\"']?\s?[:=]\s?[\"']?$")
_NEAR = 60  # characters around a colour, on its line
_SUFFIXES = (
    "py|pyi|pl|ex|exs|dart|hs|tf|less|mp3|mp4|bak|pem|js|mjs|cjs|ts|tsx|jsx|vue|rs|go|java|kt|c|h|cc|cpp|hpp|cs|rb|php|swift|scala|lua|r|jl|sh|bash|zsh|ps1|sql"
    "|md|rst|txt|log|csv|tsv|json|jsonl|yaml|yml|toml|ini|cfg|conf|env|lock|xml|html|css|scss|svg|png|jpg|jpeg|gif|webp"
    "|pdf|docx|xlsx|pptx|zip|tar|gz|tgz|whl|db|sqlite|ipynb|tex|proto|diff|patch|out|exe|so|dll"
)
_HOSTS = "com|org|net|io|dev|app|ai|co|eu|de|fr|nl|be|uk|us|ru|cn|jp|kr|internal|local|lan|example|test|cloud"
# Names with a slash, a backslash or a dot; tried first.
_PLACE = re.compile(
    r"(?P<url>https?://\S{4,})"
    r"|(?P<path>(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?(?::\d+)*"  # /srv/app, ~/a/b, ./a/b.py:12
    r"|/(?=\w*[a-z])[\w-][\w.-]+/?"  # /tmp
    r"|[A-Za-z]:(?:\\+[\w.@+ -]+)+"
    r"|[\w.@+-]+(?:/[\w.@+-]+)+\.\w{1,8}(?::\d+)*|[\w@+-]+(?:/[\w.@+-]+){2,}/?"
    r"|[\w-]+(?:\.[\w-]+)+(?:/[\w.@+-]+)+(?::[\w.-]+)?"  # registry.example.com/shop/web:1.8.0
    rf"|(?!\w\.\w$)[\w@+-][\w.@+-]*\.(?:{_SUFFIXES})(?::\d+)*)"
)
_NAME = re.compile(
    r"(?P<number>[$€£¥₽₩]\d[\d,]*(?:\.\d+)?[kKM]?"
    r"|[-+]?\d[\d,]*(?:\.\d+)?(?:ns|us|µs|ms|s|min|h|d|%|k|K|M|G|T|kB|KB|MB|GB|TB|USD|EUR))"
    r"|(?P<date>\d{4}-\d{2}-\d{2}|\d{1,2}\.\d{1,2}\.(?:19|20)\d\d|\d{1,2}/\d{1,2}/(?:19|20)\d\d)"
    r"|(?P<id>[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w+"  # a mail address
    r"|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?"  # 10.0.3.17:5432
    r"|(?=.*[A-Z])(?=.*\d)[A-Z0-9]{5,24}|#\d+"  # XEHM4B, #4711
    r"|[^\W\d_a-z]{1,2}\d{1,4}|\d{1,4}[^\W\d_a-zKMGT]|\d{1,2}-\d\d"  # S1, B17; 12A; bin 4-02
    r"|(?=.*\d)[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+"  # B-20918, ABC-123, INV-2024-001, K-17
    r"|(?=(?:\D*\d){3})(?!24/7$|50/50$)[0-9A-ZА-ЯЁ]+(?:[-/][0-9A-ZА-ЯЁ]+)+|\d{2,4}[a-z]"  # 100-4458-91, C-311/18; 573c
    r"|[A-Za-z]+(?:_[A-Za-z]+)*_\d{2,}|(?=.*\d)(?=.*[a-f])[0-9a-f]{7,64}|0x[0-9a-fA-F]{3,}"  # card_4421486, a hash
    r"|(?=.*\d)(?=.*[-_])[A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+)+"  # db-primary-2.internal, ata-WDC_WD80, task-7.2
    rf"|\d{{6,}}|[a-z][\w.-]*:\d{{2,5}}|\d{{3,5}}:\d{{3,5}}|[a-z0-9][\w-]*(?:\.[\w-]+)*\.(?:{_HOSTS}))"
    r"|(?P<version>(?:[\w-]+@)?v?\d+\.\d+\.\d+[\w.+-]*|v\d+(?:\.\d+)*[\w-]*)"  # 1.2.3, v1.2
    r"|(?P<name>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"  # DATABASE_URL
    r"|[a-z][a-z0-9]+(?:-[a-z0-9]{2,}){2,})"  # acme-prod-logs
)
_ASCII = re.compile(r"[!-~]{3,}")  # a name between letters of a script that sets no spaces
# Hyphenated words that are language: one of these parts tells them from the name of a bucket or host.
_PHRASE = re.compile(
    r"(?:^|-)(?:an?|the|of|to|in|on|off|at|by|for|from|and|or|not|no|as|up|out|down|over|with|without|be|is|it|this|so|all"
    r"|any|one|two|three|four|five|six|seven|eight|nine|ten|well|ever|old|new|year|day|way|use|side|end|back|free)(?:-|$)"
)


def words_of(text: str) -> dict[str, None]:
    """The distinct words of a text, in order, split at white space, quotes and brackets. Colours and the ends of tags
    are left out.
    """
    text = without_colours(text).replace("</", " ")
    for mark in WORD_BREAKS:
        text = text.replace(mark, " ")
    if len(text) > _LONG:
        return dict.fromkeys(word[0] for word in _WORD.finditer(text))
    return dict.fromkeys(text.split())


def names_of(word: str) -> tuple[tuple[Kind, str], ...]:
    """Kind and text of each name in a word without white space: paths, URLs, ids, numbers with units, dates."""
    return () if word.isalpha() or len(word) > 4 * LONGEST_NAME else _names_of(word)


@lru_cache(maxsize=1 << 16)
def _names_of(word: str) -> tuple[tuple[Kind, str], ...]:
    names = _whole(word)
    if names or word.isascii() or word.isalpha():
        return names
    return tuple(each for piece in _ASCII.findall(word) for each in _whole(piece))


def _whole(word: str) -> tuple[tuple[Kind, str], ...]:
    names: list[tuple[Kind, str]] = []
    for piece in _pieces(_bare(word)):
        match = _match(piece) if 1 < len(piece) <= LONGEST_NAME else None
        if match and not _is_phrase(match):
            names.append((match.lastgroup, piece))  # type: ignore[arg-type]  # a group is a Kind
    return tuple(names)


def _match(piece: str) -> re.Match[str] | None:
    match = _PLACE.fullmatch(piece) if "/" in piece or "." in piece or "\\" in piece else None
    return match or _NAME.fullmatch(piece)


def _pieces(word: str) -> list[str]:
    """The parts of a word that can be names on their own, such as "path" and "a/b.py" in "path=a/b.py". A URL is one
    piece.
    """
    url = word.find("http") if "://" in word else -1
    parts = _PIECE.split(word) if url < 0 else [*_PIECE.split(word[:url]), word[url:]]
    return [_bare(part) for part in parts] if len(parts) > 1 else parts


def _is_phrase(match: re.Match[str]) -> bool:
    """Whether a hyphenated word is ordinary language, such as "up-to-date"."""
    return match.lastgroup == "name" and bool(_PHRASE.search(match[0]))


def _bare(word: str) -> str:
    """The word without punctuation around it."""
    word = word.strip(_LEAD)
    return (_HEADING.sub("", word, count=1) if word[:1] == "#" else word).rstrip(_TRAIL)


def without_colours(text: str) -> str:
    """The text with each colour replaced by a space."""
    return _HEX.sub(lambda match: " " if _is_colour(match) else match[0], text) if "#" in text else text


def colours_in(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each colour: "#8f8f99", and "#282832" if it is near a word for colour or another colour."""
    return (match.span() for match in _HEX.finditer(text) if _is_colour(match))


def _is_colour(match: re.Match[str]) -> bool:
    if not match[0][1:].isdigit():
        return True
    before = match.string[max(match.start() - _NEAR, 0) : match.start()].rpartition("\n")[2]
    if len(match[0]) < len("#123456"):
        return bool(_SET_TO.search(before))
    behind = match.string[match.end() : match.end() + _NEAR].partition("\n")[0]
    return bool(_OF_COLOURS.search(before) or _OF_COLOURS.search(behind))


# Ids that programs give to their own messages and calls; nobody else refers to them.
_PREFIX = "(?:toolu|srvtoolu|req|msg|call|chatcmpl|resp|fc|rs|evt)[_-]"
_UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_OF_PROGRAMS = re.compile(rf"{_PREFIX}[\w-]+|{_UUID}|\d+[a-z]|session[_-]\w+")
_GENERATED = re.compile(  # with a key before it, but not as a part of a path
    rf" ?(?<![\w./-])(?:\w{{1,40}}=)?[\"'(\[]?(?:{_PREFIX}(?=[\w-]{{0,80}}\d)[\w-]{{6,80}}|{_UUID})"
    r"(?![\w/-]|\.\w)[\"')\]]?"
)
# The line breaks of JSON inside JSON: "\nThe".
_ESCAPED = re.compile(r"(?:(?<!\\)\\{1,4}[nr]){1,8}(?=[\s\-*#>|\d(]|\[?[^\W\d_a-z])")
_DURATION = re.compile(r"(?<!\d)\d{1,9}(?:\.\d{1,9})?(?:ns|us|µs|ms|s|min|m|h)")
_AROUND = "()[]{}<>,;|\"'`"


def is_of_program(name: str) -> bool:
    """Whether a name is one that programs give to calls and requests, to which nobody else refers."""
    return bool(_OF_PROGRAMS.fullmatch(name))


def without_noise(printed: str) -> str:
    """A tool's output without details that nobody refers to: ids of requests, UUIDs, colours, line breaks that JSON
    wrote as two letters, and durations without a word before them ("in 18ms" stays).
    """
    text = _ESCAPED.sub(" ", printed) if "\\" in printed else printed
    text = _GENERATED.sub("", without_colours(text))
    if text == printed and not _DURATION.search(text):
        return printed
    kept: list[str] = []
    for word in text.split():
        bare = word[0] in _AROUND or not kept or not kept[-1][-1].isalpha()
        if not (bare and _DURATION.fullmatch(word.strip(_AROUND))):
            kept.append(word)
    return " ".join(kept)
