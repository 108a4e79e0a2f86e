"""Numbers, sizes and times as pages write them: short, with the exact value on hover.

Templates have these functions as filters (`templatetags/palimpsest.py`). A time is in seconds since 1970, or a datetime
of our own database.
"""

from __future__ import annotations

from datetime import date, datetime

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

NO_TIME = mark_safe('<span title="no time is stored for this">time unknown</span>')
# Before a number that is not counted yet: it has its own room, so that nothing moves when the number comes.
ABOUT = mark_safe('<span class="hidden">about </span><span aria-hidden="true">~</span>')
_UNITS = ((1_000_000, "M"), (1_000, "k"))
_AGES = ((86_400 * 365, "y"), (86_400 * 30, "mo"), (86_400, "d"), (3_600, "h"), (60, "min"))


def thin(number: int) -> str:
    """31204 -> "31.2k"; below a thousand the number itself; below zero with a minus."""
    if number < 0:
        return f"−{thin(-number)}"
    for unit, letter in _UNITS:
        if number >= unit:
            return f"{number / unit:.1f}".removesuffix(".0") + letter
    return str(number)


def exact(value: int) -> str:
    """1246 -> "1,246"."""
    return f"{value:,}"


def number(value: int, unit: str = "") -> SafeString:
    """A thin number with the exact one on hover where the two differ: `<span title="31,204 tokens">31.2k</span>`."""
    if abs(value) < 1_000:
        return format_html("{}", thin(value))
    exactly = f"{value:,} {unit}".strip().replace("-", "−")
    return format_html('<span title="{}">{}</span>', exactly, thin(value))


def of_window(tokens: int, window: int, *, about: bool = False, title: str = "") -> SafeString:
    """ "31.2k of 128k tokens", exact on hover; "~31.2k", in the same width, of a number that is not counted yet."""
    exact = f"{'about ' if about else ''}{tokens:,} of {window:,} tokens"
    return format_html(
        '<span title="{}">{}{} of {}<span class="unit"> tokens</span></span>',
        title or exact,
        ABOUT if about else "",
        thin(tokens),
        thin(window),
    )


def counted(value: int, noun: str, plural: str = "") -> str:
    """ "1 message", "1,246 messages"."""
    return f"{value:,} {noun if value == 1 else plural or noun + 's'}"


def size(count: int) -> str:
    """8933376 -> "8.9 MB"."""
    for unit, letters in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")):
        if count >= unit:
            return f"{count / unit:.1f}".removesuffix(".0") + f" {letters}"
    return f"{count} bytes"


def dollars(value: float, is_least: bool = False) -> str:
    """A price: "about $0.02"; a smaller one as "less than $0.01"; "at least $0.02" if some of it is unknown."""
    if is_least:
        return f"at least ${value:,.2f}"
    if value and value < 0.01:
        return "less than $0.01"
    return f"about ${value:,.2f}" if value else "free of charge"


def short_dollars(value: float, is_least: bool = False) -> str:
    """A price for a narrow column: "$0.02", "<$0.01", "≥ $0.02"."""
    if is_least:
        return f"≥ ${value:,.2f}"
    return "<$0.01" if value < 0.01 else f"${value:,.2f}"


def seconds(value: float) -> str:
    """A duration: "0.8 s", "12 s", "3 min"."""
    if value < 10:
        return f"{value:.1f} s"
    return f"{value:.0f} s" if value < 120 else f"{value / 60:.0f} min"


def moment(at: float | datetime | None) -> SafeString:
    """A time in this site's zone, "14 Jul 06:12", with the exact and the relative one on hover."""
    here = _local(at)
    if here is None:
        return NO_TIME
    now = timezone.localtime()
    text = f"{here.day} {here:%b %H:%M}" if here.year == now.year else f"{here.day} {here:%b %Y %H:%M}"
    return _time(here, text, f", {ago_text(here, now)}", shape="moment")


def known_moment(at: float | datetime | None) -> SafeString:
    """The same; nothing where none is stored."""
    return SafeString() if at is None else moment(at)


def day(at: float | datetime | None) -> date | None:
    """The day of a time in this site's zone; None if it is unknown."""
    here = _local(at)
    return here.date() if here is not None else None


def ago(at: float | datetime | None) -> SafeString:
    """A relative time, "2 h ago", with the exact one on hover."""
    here = _local(at)
    return NO_TIME if here is None else _time(here, ago_text(here, timezone.localtime()))


def hour(at: float | datetime | None) -> SafeString:
    """The hour of a time of today, "06:12", with the exact time on hover."""
    here = _local(at)
    return NO_TIME if here is None else _time(here, f"{here:%H:%M}", shape="hour")


def ago_text(at: datetime, now: datetime) -> str:
    passed = (now - at).total_seconds()
    for unit, letters in _AGES:
        if passed >= unit:
            return f"{int(passed // unit)} {letters} ago"
    if passed >= 0:
        return "just now"
    return "in the future"


def _time(at: datetime, text: str, more: str = "", *, shape: str = "") -> SafeString:
    """The text with the exact time, and `more`, on hover. With a `shape`, the page's script shows it in the browser's
    zone, in the same words (static/js/times.js).
    """
    attribute = format_html(' data-at="{}"', shape) if shape else ""
    exact = at.isoformat(timespec="seconds")
    title = f"{exact[:10]} {exact[11:19]} {at.tzname()}{more}"
    return format_html('<time datetime="{}"{} title="{}">{}</time>', exact, attribute, title, text)


def _local(at: float | datetime | None) -> datetime | None:
    """The time in this site's zone; None if it is unknown, 0 (which means unknown), or outside of the calendar."""
    if isinstance(at, datetime):
        return timezone.localtime(at)
    try:
        return datetime.fromtimestamp(at, timezone.get_current_timezone()) if at is not None and at > 0 else None
    except (ValueError, OverflowError, OSError):
        return None
