"""Names inside words: paths, URLs, ids, plain numbers and dates, told by their form alone.

Theory: they stand inside words, so a text is taken apart into words and each distinct word is looked at once. Numbers
with a unit behind a space are longer and are found in the text itself.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

Kind = Literal["path", "url", "id", "number", "error", "command", "constraint"]
LONGEST_NAME = 120  # characters

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
MEASURE = re.compile(rf"(?<![\w.,$€£¥-])\d[\d,]*(?:\.\d+)?\s(?:{_UNITS})(?!\w)")


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
    return MEASURE.findall(text)
