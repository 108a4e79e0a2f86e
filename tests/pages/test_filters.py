"""The template filters for numbers, sizes and times, as templates call them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.template import Context, Template
from django.test import override_settings
from django.utils import timezone

AT = datetime(2026, 7, 14, 6, 12, 5, tzinfo=UTC)


def rendered(source: str, value: object) -> str:
    return Template(source).render(Context({"value": value}))


@pytest.mark.parametrize(
    ("source", "value", "text"),
    [
        ("{{ value|thin }}", 31_204, "31.2k"),
        ("{{ value|exact }}", 1_246, "1,246"),
        ('{{ value|number:"tokens" }}', 31_204, '<span title="31,204 tokens">31.2k</span>'),
        ('{{ value|number:"tokens" }}', 999, "999"),
        ('{{ value|counted:"message" }}', 1, "1 message"),
        ('{{ value|counted:"message" }}', 1_246, "1,246 messages"),
        ('{{ value|counted:"entry,entries" }}', 2, "2 entries"),
        ("{{ value|size }}", 8_933_376, "8.9 MB"),
        ("{{ value|dollars }}", 0.02, "about $0.02"),
        ("{{ value|dollars:True }}", 0.02, "at least $0.02"),
        ("{{ value|short_dollars }}", 0.002, "&lt;$0.01"),
        ("{{ value|seconds }}", 12.4, "12 s"),
        ("{{ value|moment }}", None, '<span title="no time is stored for this">time unknown</span>'),
        (
            "{% of_window value 128000 about=True %}",
            31_204,
            '<span title="about 31,204 of 128,000 tokens"><span class="hidden">about </span>'
            '<span aria-hidden="true">~</span>31.2k of 128k<span class="unit"> tokens</span></span>',
        ),
    ],
)
def test_values_are_formatted(source: str, value: object, text: str) -> None:
    assert rendered(source, value) == text


@override_settings(TIME_ZONE="UTC")
@pytest.mark.parametrize("value", [AT, AT.timestamp()])
@pytest.mark.parametrize(("name", "text"), [("moment", ">14 Jul 06:12<"), ("ago", ">2 h ago<"), ("hour", ">06:12<")])
def test_times_are_seconds_or_datetimes(monkeypatch: pytest.MonkeyPatch, value: object, name: str, text: str) -> None:
    monkeypatch.setattr(timezone, "now", lambda: datetime(2026, 7, 14, 8, 30, tzinfo=UTC))
    shown = rendered(f"{{{{ value|{name} }}}}", value)
    assert text in shown and "2026-07-14 06:12:05 UTC" in shown
