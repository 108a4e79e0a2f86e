"""The tools' answers in words, with what goes wrong as a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from tests.factories.recalled import KEY, QUESTION, fill
from tests.factories.stores import EmptyStore, HermesStore
from viewer.inside.models import Door
from viewer.mcp import compacting
from viewer.mcp.answers import UNEXPECTED, answer
from viewer.mcp.tools import Caller, tools_for
from viewer.recall import search, texts

pytestmark = pytest.mark.django_db
READ = Caller(frozenset({"read"}))
ALL = Caller(frozenset({"read", "compact"}))


@pytest.fixture(autouse=True)
def nothing_cached() -> None:
    texts.forget()


def ask(name: str, caller: Caller = READ, **arguments: Any) -> str:
    given = answer(caller, name, arguments)
    assert not given.is_error, given.text
    return given.text


def refusal(name: str, caller: Caller = READ, **arguments: Any) -> str:
    given = answer(caller, name, arguments)
    assert given.is_error
    return given.text


def test_scopes_say_which_tools_there_are() -> None:
    assert [each.name for each in tools_for(READ)] == [
        "search_history", "read_history", "what_was_lost", "what_the_model_sees", "list_sessions",
    ]  # fmt: skip
    assert {each.name for each in tools_for(ALL)} - {each.name for each in tools_for(READ)} == {
        "compact_session",
        "undo_compaction",
    }
    assert {each.name for each in tools_for(ALL)} == set(texts.TOOLS)  # whose calls are never found
    assert "scope compact" in refusal("compact_session")
    assert "scope compact" in refusal("undo_compaction")


def test_a_search_says_how_to_go_on(empty_store: EmptyStore) -> None:
    ids = fill(empty_store)
    text = ask("search_history", session="s", query=QUESTION)
    assert text.startswith('Session "The move to the new host"\n')
    assert f"[message {ids['settled']} (19 of 26) · agent · " in text
    assert "port 5433" in text
    assert f"read_history(around={ids['settled']})" in text
    read = ask("read_history", session="s", around=ids["settled"])
    assert KEY not in read and "[redacted: " in read
    assert "· calls terminal(cat /srv/relay/config.toml)]" in read
    assert "It goes on: read_history(cursor=" in read


def test_an_agent_that_uses_a_tool_by_what_is_installed_in_it_is_seen(empty_store: EmptyStore) -> None:
    fill(empty_store)
    door = Door.objects.create(agent="hermes", store="own")
    ask("search_history", session="s", query=QUESTION)
    door.refresh_from_db()
    assert door.recalled_at is None, "by a token it is somebody else"
    ask("search_history", Caller(frozenset({"read"}), "own"), session="s", query=QUESTION)
    door.refresh_from_db()
    assert door.recalled_at is not None


def test_a_cursor_leads_to_more(empty_store: EmptyStore) -> None:
    fill(empty_store)
    first = ask("search_history", session="s", query="queue_depth of the listener")
    cursor = first.rpartition('cursor="')[2].partition('"')[0]
    second = ask("search_history", session="s", query="queue_depth of the listener", cursor=cursor)
    assert "queue_depth" in second and second != first
    assert "another question" in refusal("search_history", session="s", query="else", cursor=cursor)


def test_a_guess_is_said(empty_store: EmptyStore) -> None:
    fill(empty_store, "first", "One")
    fill(empty_store, "second", "Two")
    there = Caller(frozenset({"read"}), directory="/work/first")
    assert ask("what_the_model_sees", there).startswith(
        'Session "One" (guessed: the newest in this directory; first)\n'
    )
    named = Caller(frozenset({"read"}), environment={"CODEX_THREAD_ID": "second"}, directory="/work/first")
    assert ask("what_the_model_sees", named).startswith('Session "Two"\n')
    assert "no session" in refusal("search_history", session="third", query="x")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search_history", {}),
        ("search_history", {"query": 7}),
        ("search_history", {"query": "x", "only": "some"}),
        ("search_history", {"query": "x", "color": "red"}),
        ("search_history", {"query": "..."}),
        ("search_history", {"query": "x", "session": "\0\ud800"}),
        ("read_history", {"around": "x"}),
        ("read_history", {"around": 2**80}),
        ("read_history", {"offset": -1}),
        ("read_history", {"ids": [-1, 2**80]}),
        ("list_sessions", {"limit": 10**9}),
        ("no_such_tool", {}),
        ("\ud800", {"\ud800": "\ud800"}),
    ],
)
def test_broken_input_is_refused_with_a_sentence(empty_store: EmptyStore, name: str, arguments: dict[str, Any]) -> None:
    fill(empty_store)
    text = refusal(name, **arguments)
    assert text and text != UNEXPECTED
    text.encode()


def test_texts_that_no_protocol_can_carry_are_readable(empty_store: EmptyStore) -> None:
    empty_store.session("odd", title="odd")
    empty_store.say("odd", "user", [{"type": "text", "text": "a \ud800 lone one and a \0 nul"}])
    text = ask("read_history", session="odd")
    text.encode()
    assert "\0" not in text and "lone one" in text


def test_an_unexpected_failure_is_a_sentence(
    empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fill(empty_store)

    def broken(*_: Any) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(search, "search_history", broken)
    assert refusal("search_history", session="s", query="x") == UNEXPECTED
    assert "search_history failed" in caplog.text


def test_another_store_is_not_looked_in(empty_store: EmptyStore) -> None:
    fill(empty_store)
    assert "no store named 'none'" in refusal("list_sessions", Caller(frozenset({"read"}), "none"))
    assert '- s "The move to the new host" (own; ' in ask("list_sessions", Caller(frozenset({"read"}), "own"))


def test_plan_apply_lost_and_undo(hermes_store: HermesStore, at_once: None) -> None:
    session = hermes_store.session_id
    before = hermes_store.live()
    plan = ask("compact_session", ALL, session=session)
    assert "Nothing is written yet" in plan and hermes_store.live() == before
    assert "Compacted: " in ask("compact_session", ALL, session=session, action="apply")
    assert hermes_store.live() != before
    lost = ask("what_was_lost", session=session)
    assert "you, here" in lost and "The last request" in lost
    assert "Undone: " in ask("undo_compaction", ALL, session=session)
    assert hermes_store.live() == before


def test_a_run_that_waits_for_the_turn_is_said(hermes_store: HermesStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacting, "WAIT", 0.0)
    text = ask("compact_session", ALL, session=hermes_store.session_id, action="apply")
    assert "queued" in text and "once the session's turn has ended" in text
    assert "already compacting" in refusal("compact_session", ALL, session=hermes_store.session_id, action="apply")
