"""What is rendered is kept under all that it depends on, and within its bounds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import comrak
import pytest
from django.test import Client

from tests.factories.stores import EmptyStore
from viewer.rendering import cache, lru
from viewer.stores.message import StoredMessage
from viewer.web.session_urls import SessionUrls

PLACE = SessionUrls("own", "s")
ROW = StoredMessage(1, "s", "user", "# a\n\n```python\nprint(1)\n```\n" + "x" * 600, "live", 0.0)


@pytest.fixture(autouse=True)
def fresh() -> None:
    cache.clear()


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that the Markdown renderer is given."""
    seen: list[str] = []
    plain: Callable[..., str] = comrak.render_markdown

    def noted(text: str, *args: Any, **kwargs: Any) -> str:
        seen.append(text)
        return plain(text, *args, **kwargs)

    monkeypatch.setattr(comrak, "render_markdown", noted)
    return seen


def test_a_second_look_at_a_window_renders_nothing(
    signed_in: Client, empty_store: EmptyStore, rendered: list[str]
) -> None:
    href = empty_store.session("s")
    empty_store.chat("s", 100)
    first = signed_in.get(href).content
    assert len(rendered) == 60
    assert signed_in.get(href).content.count(b'class="md"') == first.count(b'class="md"') == 60
    assert len(rendered) == 60


def test_the_same_text_in_another_place_is_another_piece() -> None:
    secret, redacted = replace(ROW, content="sk-123 is a key"), replace(ROW, content="[key] is a key")
    different = [
        cache.said(ROW, PLACE).html,
        cache.said(replace(ROW, role="system"), PLACE).html,  # as it is, not as Markdown
        cache.said(secret, PLACE).html,
        cache.said(redacted, PLACE).html,
        cache.said(replace(ROW, reasoning="first"), PLACE).html,
        cache.said(replace(ROW, content='{"a": 1}'), PLACE).html,
        cache.answered(replace(ROW, content='{"a": 1}'), PLACE).html,
    ]
    assert len(set(different)) == len(different)
    assert cache.said(ROW, PLACE).html is cache.said(replace(ROW, timestamp=5.0), PLACE).html
    long = replace(ROW, content="x " * 20_000)
    assert "/sessions/s/" in cache.said(long, PLACE).html
    assert "/sessions/t/" in cache.said(long, SessionUrls("own", "t")).html


def test_code_is_coloured_only_when_asked_for() -> None:
    row = replace(ROW, content="```python\n" + "print(1)\n" * 100 + "```")
    assert cache.said(row, PLACE).waits
    assert '<span class="nb">' not in cache.said(row, PLACE).html
    coloured = cache.said(row, PLACE, colours=True)
    assert '<span class="nb">' in coloured.html
    assert not coloured.waits


def test_a_cache_forgets_what_was_used_longest_ago() -> None:
    limit = 10 * (100 + lru.ENTRY)
    held: lru.SizedCache[str] = lru.SizedCache(len, limit)
    for at in range(10):
        held.get(at, lambda: "x" * 100)
    held.get(0, lambda: "made again")
    held.get("new", lambda: "y" * 100)
    assert held.size <= limit
    assert held.get(0, lambda: "lost") == "x" * 100
    assert held.get(1, lambda: "lost") == "lost"
    assert held.get("huge", lambda: "z" * limit) != held.get("huge", lambda: "not kept")


def test_long_texts_are_told_apart_by_their_length_and_start() -> None:
    long = "x" * lru.LOOKED_AT
    names = [
        lru.digest(value) for value in ("", "a", "a\ud800", long, long + "y", ["a"], {"a": 1}, None, 1, "1", "null")
    ]
    assert len(set(names)) == len(names)
    assert lru.digest(long + "y", in_full=True) != lru.digest(long + "z", in_full=True)
    deep: list[Any] = []
    for _ in range(20_000):
        deep = [deep]
    assert lru.digest(deep) != lru.digest(deep)  # never found again, never mistaken


def test_threads_share_a_cache() -> None:
    held: lru.SizedCache[str] = lru.SizedCache(len, limit=50_000)
    wrong: list[str] = []

    def work(start: int) -> None:
        for at in range(2_000):
            key = (start + at) % 300
            if held.get(key, lambda key=key: f"{key} " * 20) != f"{key} " * 20:  # type: ignore[misc]
                wrong.append(str(key))

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 70, 150)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert 40_000 < held.size <= 50_000


def test_tokens_come_from_the_reading_and_are_not_counted_again() -> None:
    from viewer.pages.session.messages import MessageContext, MessageToShow, shown_messages

    def count(text: str) -> int:
        raise AssertionError("counted")

    result = replace(ROW, id=2, role="tool", content="x" * 1_500)
    said = [MessageToShow(1, ROW, "live"), MessageToShow(2, result, "live")]
    message, answer = shown_messages(said, MessageContext(PLACE, count, tokens={1: 7}.get))
    assert message.tokens == 7
    assert "1.5k</span> characters" in answer.calls[0].fold
