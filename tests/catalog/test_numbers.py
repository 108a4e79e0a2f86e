"""The numbers of lines are those of each session's own pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import Settings

from tests.factories.session_lists import ids, line_of, listed, owner, settle
from tests.factories.stores import EmptyStore, HermesStore
from viewer.catalog import numbers, sync_worker
from viewer.catalog.models import SessionIndex
from viewer.demo import ensure_demo
from viewer.history import index_cache
from viewer.history.models import PackedHistory
from viewer.stores.hermes.paths import get_session
from viewer.stores.hermes.reader import open_store
from viewer.stores.registry import get_store
from viewer.stores.transcript import NONE

pytestmark = pytest.mark.django_db


def check(store: str) -> int:
    """Every line of this store against its session's History; how many there are."""
    found = SessionIndex.objects.filter(state__name=store, tip=True)
    with open_store(get_store(store)) as reader:
        for line in found:
            session = get_session(reader, line.session_id)
            index = index_cache.count_some(reader, session, 60)
            assert NONE not in index.tokens
            assert (line.messages, line.in_context, line.live, line.compactions, line.tokens) == (
                index.messages,
                index.in_context,
                len(index.live),
                len(index.compactions),
                index.tokens_live,
            ), line.session_id
            assert line.last_active == session.last_active
            assert (line.parts, line.branched_from, line.started_at) == (
                session.parts,
                session.branched_from,
                session.started_at,
            )
            assert not line.due
    return len(found)


@pytest.mark.parametrize("version", [16, 21, 31])
def test_numbers_of_compacted_and_of_short_sessions(
    open_hermes_store: Callable[[int], HermesStore], settings: Settings, tmp_path: Path, version: int
) -> None:
    settings.DEMO_STORE = tmp_path / "nowhere.db"
    open_hermes_store(version)
    sync_worker.sync_all()
    assert check("hermes") > 7


@pytest.mark.slow
def test_numbers_of_the_demo_store(settings: Settings, tmp_path: Path) -> None:
    settings.DEMO_STORE, settings.STORES = tmp_path / "demo.db", {}
    ensure_demo(settings.DEMO_STORE)
    sync_worker.sync_all()
    assert check("demo") > 20


def test_short_sessions_need_no_history_of_their_own(empty_store: EmptyStore) -> None:
    """Of 100,000 sessions most are short."""
    empty_store.session("a")
    empty_store.chat("a", 40)
    sync_worker.sync_all()
    assert line_of("a").tokens
    assert not PackedHistory.objects.filter(store="own").exists()


def test_a_long_session_is_counted_bit_by_bit(empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    empty_store.session("a")
    empty_store.chat("a", 1_000)
    monkeypatch.setattr(sync_worker, "STEP_SECONDS", 0.0)
    looks = 0
    while line_of("a").tokens is None if SessionIndex.objects.exists() else True:
        sync_worker.look("me")
        looks += 1
        assert looks < 50
    assert looks > 2
    assert line_of("a").messages == 1_000


def test_only_what_changed_is_counted_again(empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        empty_store.session(name)
        empty_store.say(name, "user", f"words of {name}")
    settle()
    sync_worker.sync_all()
    counted: list[str] = []
    plain = numbers.count_line

    def seen(reader: object, line: SessionIndex, seconds: float) -> bool:
        counted.append(line.session_id)
        return plain(reader, line, seconds)  # type: ignore[arg-type]

    monkeypatch.setattr(numbers, "count_line", seen)
    empty_store.say("b", "assistant", "and an answer")
    sync_worker.sync_all()
    assert counted == ["b"]
    assert line_of("b").messages == 2


def test_what_is_said_is_added_until_it_is_counted(empty_store: EmptyStore) -> None:
    """Of an active session each page would otherwise lack its numbers, or say "12 of 10 messages"."""
    empty_store.session("a")
    empty_store.chat("a", 10)
    sync_worker.sync_all()
    tokens = line_of("a").tokens
    empty_store.say("a", "user", "And then?")
    empty_store.say("a", "assistant", "Then that.")
    listed()
    line = line_of("a")
    assert (line.messages, line.in_context, line.live, line.tokens, line.due) == (12, 12, 12, tokens, True)
    sync_worker.sync_all()
    assert line_of("a").tokens != tokens
    check("own")


CHANGES = {
    "taken back": "UPDATE messages SET active = 0 WHERE session_id = 'a' AND id > 8",
    "compacted away": "UPDATE messages SET active = 0, compacted = 1 WHERE session_id = 'a' AND id < 8",
    "rewritten": "UPDATE messages SET id = id + 100 WHERE session_id = 'a'",
    "rewritten, longer": "UPDATE messages SET id = id + 100, session_id = 'a' WHERE session_id IN ('a', 'b')",
}


@pytest.mark.parametrize("change", CHANGES)
def test_numbers_that_are_no_longer_true_are_not_shown(empty_store: EmptyStore, change: str) -> None:
    empty_store.session("a")
    empty_store.chat("a", 10)
    empty_store.chat("b", 5)  # of no session
    sync_worker.sync_all()
    owner(empty_store.path, CHANGES[change])
    listed()
    line = line_of("a")
    assert (line.messages, line.compactions, line.tokens, line.due) == (None, None, None, True)
    sync_worker.sync_all()
    assert line_of("a").messages
    check("own")


def test_tokens_are_those_of_the_model_it_has_now(empty_store: EmptyStore) -> None:
    empty_store.session("a", model="gpt-4o")
    empty_store.say("a", "user", "Grüße, 東京 und Ελλάδα " * 20)
    sync_worker.sync_all()
    before = line_of("a").tokens
    owner(empty_store.path, "UPDATE sessions SET model = 'gpt-4'")
    listed()
    assert line_of("a").tokens is None
    sync_worker.sync_all()
    assert line_of("a").tokens != before
    check("own")


def in_parts(empty_store: EmptyStore) -> None:
    empty_store.session("one", ended_at=1.0, end_reason="compression")
    empty_store.say("one", "user", "sourdough for beginners")
    empty_store.session("two", parent_session_id="one", ended_at=1.0, end_reason="compression")
    empty_store.say("two", "user", "more of it")
    empty_store.session("three", parent_session_id="two")
    empty_store.say("three", "user", "and more")
    sync_worker.sync_all()
    assert line_of("three").messages == 3


def test_what_comes_into_an_earlier_part_is_counted(empty_store: EmptyStore) -> None:
    in_parts(empty_store)
    empty_store.say("one", "assistant", "late")
    sync_worker.sync_all()
    assert line_of("three").messages == 4
    check("own")


def test_a_part_that_is_the_newest_again_is_counted(empty_store: EmptyStore) -> None:
    in_parts(empty_store)
    empty_store.say("one", "assistant", "late")
    sync_worker.sync_all()
    owner(empty_store.path, "DELETE FROM messages WHERE session_id = 'three'")
    owner(empty_store.path, "DELETE FROM sessions WHERE id = 'three'")
    sync_worker.sync_all()
    assert line_of("two").messages == 3
    check("own")


def test_a_conversation_is_found_by_the_first_words_that_its_line_shows(empty_store: EmptyStore) -> None:
    in_parts(empty_store)
    assert ids(q="sourdough") == ["three"]
