"""The template tag `part`: rendered once for equal values, and never for values that only look alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.template import Context, Template
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from viewer.pages.filters import Group, Link
from viewer.rendering.templatetags import palimpsest

GROUPS = "{% part '_filters.html' groups=groups %}"


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    palimpsest._CACHE.clear()
    yield
    palimpsest._CACHE.clear()


def rendered(source: str, **values: object) -> str:
    return Template(source).render(Context(values))


def groups(label: str) -> tuple[Group, ...]:
    return (Group("Order", (Link(label, "/?order=recent", True),)),)


def test_equal_values_are_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(name: str, values: dict[str, Any]) -> str:
        calls.append(name)
        return render_to_string(name, values)

    monkeypatch.setattr("viewer.rendering.templatetags.palimpsest.render_to_string", counted)
    first = rendered(GROUPS, groups=groups("Newest"))
    assert "Newest" in first and rendered(GROUPS, groups=groups("Newest")) == first
    assert len(calls) == 1
    assert "Oldest" in rendered(GROUPS, groups=groups("Oldest"))
    assert len(calls) == 2


def test_what_is_safe_is_not_what_only_reads_the_same() -> None:
    markup = "<b>x</b>"
    safe, unsafe = groups(mark_safe(markup)), groups(markup)
    assert safe == unsafe, "to Python they are equal"
    assert markup in rendered(GROUPS, groups=safe)
    assert markup not in rendered(GROUPS, groups=unsafe)
    assert "&lt;b&gt;" in rendered(GROUPS, groups=unsafe)


def test_a_part_knows_its_own_values_alone() -> None:
    assert "Newest" not in rendered("{% part '_filters.html' others=groups %}", groups=groups("Newest"))
