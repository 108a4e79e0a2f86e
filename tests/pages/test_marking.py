"""Words that were looked for, marked in HTML that is rendered already."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client
from django.utils.safestring import SafeString, mark_safe
from hypothesis import given
from hypothesis import strategies as st

from tests.factories.stores import EmptyStore
from tests.html import read
from viewer.rendering import markdown
from viewer.rendering.marking import WordMarks

FRAGMENT = {"HX-Request": "true"}


@pytest.mark.parametrize(
    ("typed", "html", "marked"),
    [
        ("cat", "<p>A cat, a Cat</p>", "<p>A <mark>cat</mark>, a <mark>Cat</mark></p>"),
        ("b", '<p class="b"><b>b</b></p>', '<p class="b"><b><mark>b</mark></b></p>'),
        ("haystack", "<b>hay</b>stack", "<b><mark>hay</mark></b><mark>stack</mark>"),
        ("a<b", "<p>a&lt;b &amp; c</p>", "<p><mark>a&lt;b</mark> &amp; c</p>"),
        ("lt", "<p>a &lt; b</p>", "<p>a &lt; b</p>"),
        ("cafe", "<p>Caf\u00e9</p>", "<p><mark>Caf\u00e9</mark></p>"),
        ("ystac", "<p>haystacks</p>", "<p>ha<mark>ystac</mark>ks</p>"),
        ("copy", "<button>Copy</button><summary><i>Copy</i></summary>copy", None),
        ("x", '<a title="x > x">y</a>', '<a title="x > x">y</a>'),
        ("one two", "<p>one</p><p>two</p>", "<p><mark>one</mark></p><p><mark>two</mark></p>"),
        ("nothing", "<p>A cat</p>", "<p>A cat</p>"),
        ("", "<p>A cat</p>", "<p>A cat</p>"),
    ],
)
def test_marks_stand_in_text_alone(typed: str, html: str, marked: str | None) -> None:
    expected = "<button>Copy</button><summary><i>Copy</i></summary><mark>copy</mark>" if marked is None else marked
    found = WordMarks(typed).marked(mark_safe(html))  # noqa: S308
    assert isinstance(found, SafeString)
    assert found == expected


@given(st.text(st.sampled_from("ab<>&\"' \n`*[]()é"), max_size=60), st.text(st.sampled_from("ab<&\"'é "), max_size=5))
def test_without_the_marks_it_is_what_it_was(text: str, typed: str) -> None:
    """Whatever a message says and somebody looks for: marks are all that is added, and what was text stays text."""
    html = markdown.markdown(text)
    marked = WordMarks(typed).marked(html)
    assert unescape(marked.replace("<mark>", "").replace("</mark>", "")) == unescape(html)
    assert re.findall(r"<(?!/?mark>)[^>]*>", marked) == re.findall(r"<[^>]*>", html)


def test_a_window_marks_the_words_in_messages_calls_results_and_neighbours(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    href = empty_store.session("s")
    early = empty_store.say("s", "user", "an early needle")
    ids = empty_store.chat("s", 80)
    call = empty_store.call("terminal", "c1", command="grep needle")
    asked = empty_store.say("s", "assistant", "A `needle` <script>", tool_calls=[call])
    empty_store.say("s", "tool", "needle.txt", tool_call_id="c1", tool_name="terminal")
    page = read(signed_in.get(f"{href}?q=needle&around={asked}"))
    message = page.one("article", id=f"m{asked}")
    assert [mark.text for mark in message.all("mark")] == ["needle"] * 3
    assert message.all("script") == []
    assert [link.attributes.get("aria-current") for link in page.one(id="found").all("a", "to")] == [None, "true", None]
    assert page.one(id="found").one("p", "note").text == "2 of 3"
    assert page.one(id="find").attributes["value"] == "needle"
    earlier = page.one("a", "earlier").attributes["href"]
    assert earlier.endswith("&q=needle")
    further = read(signed_in.get(earlier, headers=FRAGMENT))
    assert [mark.text for mark in further.one("article", id=f"m{early}").all("mark")] == ["needle"]
    assert read(signed_in.get(f"{href}?around={ids[-1]}")).all("mark") == []


def test_steps_go_round_and_are_links(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    first, second, third = (empty_store.say("s", "user", f"needle {number}") for number in range(3))

    def steps(around: int) -> list[str]:
        found = read(signed_in.get(f"{href}?q=needle&around={around}")).one(id="found")
        return [link.attributes["href"].split("#m")[1] for link in found.all("a", "small")]

    assert steps(first) == [str(third), str(second)]
    assert steps(second) == [str(first), str(third)]
    assert steps(third) == [str(second), str(first)]
    unread = read(signed_in.get(f"{href}/find?q=needle")).one(id="found")
    assert unread.one("p", "note").text == "3 found"
    assert [link.attributes["href"] for link in unread.all("a", "small")] == [
        f"{href}?q=needle&around={third}#m{third}",
        f"{href}?q=needle&around={first}#m{first}",
    ]
