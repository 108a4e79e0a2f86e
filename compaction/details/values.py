"""Values: the normal form in which one exact detail is compared with another, whatever its spelling.

Theory: "$1,200.50" and "1200.5 USD" are the same amount, "1. Dezember" and "2026-12-01" the same date. A value is a
text. For a number it is the digits, then `UNIT` and the unit; for a date it is month and day, the time, then `UNIT` and
the year. A value without unit or year matches any unit or year: `without_unit`. For a date written as 01/12/2026 it is
unknown which part is the month: it equals only dates with the same spelling.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .lexicon import CURRENCY_UNITS, MONTH_OF, UNIT_OF
from .names import Kind

UNIT = "|"  # between a number and its unit, a day and its year
_DATE = "\0"  # begins the value of a date: no text has it, and bin 12-01 is no day
_DIGITS = re.compile(r"[-−]?\d(?:[\d.,'’ \u00a0\u202f]*\d)?")
_GROUPED = re.compile(r"[ '’\u00a0\u202f]|,(?=\d{3}(?!\d))")  # "12 500", "1'250", "1,250"
_COMMA_LAST = re.compile(r"(-?[\d.]*\d),(\d{1,2}|\d{4,})")  # "1.249,00"
_DOTTED = re.compile(r"-?\d{1,3}(?:\.\d{3}){2,}")  # "1.249.000"
_DOTTED_MONEY = re.compile(r"-?\d{1,3}(?:\.\d{3})+")  # "1.249 €": nobody counts thousandths of it
_TIMES = ("k", "K", "M", "G", "T")

_CLOCK = r"(?P<time>\d\d:\d\d(?::\d\d)?)"
_DATES = (
    re.compile(rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d)(?:[T ]{_CLOCK})?"),
    re.compile(
        r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|º|\.)?(?: of| de)? (?P<name>[^\W\d_]+)(?:(?:,| de| del)? (?P<year>\d{4}))?"
    ),
    re.compile(
        r"(?P<name>[^\W\d_]+)\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?"
        rf"(?:,? (?P<year>\d{{4}})| {_CLOCK}(?: (?P<later>\d{{4}}))?)?"
    ),
    re.compile(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})"),
    re.compile(r"(?P<day>1[3-9]|2\d|3[01])/(?P<month>\d{1,2})/(?P<year>\d{4})"),
    re.compile(r"(?P<month>\d{1,2})/(?P<day>1[3-9]|2\d|3[01])/(?P<year>\d{4})"),
    re.compile(r"(?:(?P<year>\d{4})[年년] ?)?(?P<month>\d{1,2})[月월] ?(?P<day>\d{1,2})[日일]"),
    re.compile(r"(?P<day>\d{1,2})/(?P<name>[^\W\d_]+)/(?P<year>\d{4}):(?P<time>\d\d:\d\d:\d\d)"),  # Common Log Format
)


@lru_cache(maxsize=1 << 14)
def value_of(kind: Kind, text: str) -> str:
    """The text by which a detail is compared: sign, digits and unit of a number, the day of a date, else the text in
    lower case.
    """
    if kind == "number" and (match := _DIGITS.search(text)):
        return _number(text, match)
    return kind == "date" and _date(text) or " ".join(text.casefold().split())


def without_unit(value: str) -> str:
    """The value without its unit or year; the value itself if it has none."""
    return value.partition(UNIT)[0]


def day_of(value: str) -> str:
    """The value of a date without its time; the value itself if it has no time, "" if it is not a date."""
    if not value.startswith(_DATE):
        return ""
    moment, mark, year = value.partition(UNIT)
    return moment.partition(" ")[0] + mark + year


def is_spelled(value: str) -> bool:
    """Whether the value is the text itself, that is, neither a number nor a date."""
    return value[:1] not in f"-0123456789{_DATE}"


def _number(text: str, match: re.Match[str]) -> str:
    around = re.sub(r"[-−+\s]", "", text[: match.start()] + text[match.end() :])
    times = around[-1] if around[-1:] in _TIMES and text[-2:-1].isdigit() else ""  # "5k", "$5M"
    unit = UNIT_OF.get(around.removesuffix(times).casefold(), "")
    return _plain(match[0], unit in CURRENCY_UNITS) + times.lower() + (UNIT + unit if unit else "")


def _plain(number: str, money: bool) -> str:
    """A number as programs write it, whatever separates its thousands. "1.249" is a fraction, except for money."""
    number = _GROUPED.sub("", number.replace("−", "-"))
    if match := _COMMA_LAST.fullmatch(number):
        number = f"{match[1].replace('.', '')}.{match[2]}"
    elif _DOTTED.fullmatch(number) or (money and _DOTTED_MONEY.fullmatch(number)):
        number = number.replace(".", "")
    whole, point, parts = number.partition(".")
    return whole + (point + parts).rstrip("0").rstrip(".") if parts.isdigit() else number


def _date(text: str) -> str:
    for pattern in _DATES:
        if match := pattern.fullmatch(text):
            return _day(match.groupdict())
    return ""


def _day(groups: dict[str, str | None]) -> str:
    month = groups.get("month") or MONTH_OF.get((groups.get("name") or "").casefold())
    if not month:
        return ""
    time, year = groups.get("time"), groups.get("year") or groups.get("later")
    moment = f"{int(month):02}-{int(groups['day'] or 0):02}" + (f" {time}" if time else "")
    return _DATE + moment + (UNIT + year if year else "")
