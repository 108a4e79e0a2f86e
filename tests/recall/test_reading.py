"""Reading on at a hit, and what a session's context is now."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.factories.recalled import KEY, TALK, fill
from tests.factories.stores import EmptyStore, HermesStore
from viewer.recall import sessions
from viewer.recall.reading import read_history
from viewer.recall.search import search_history
from viewer.recall.state import what_the_model_sees, what_was_lost
from viewer.stores.errors import NotFound
from viewer.stores.registry import Reader, all_stores, get_store, open_store
from viewer.web.cursors import BadCursor

pytestmark = pytest.mark.django_db


@pytest.fixture
def ids(empty_store: EmptyStore) -> dict[str, int]:
    return fill(empty_store)


@pytest.fixture
def reader(ids: dict[str, int]) -> Iterator[Reader]:
    with open_store(get_store("own")) as opened:
        yield opened


def test_a_second_call_reads_on_at_a_hit(reader: Reader, ids: dict[str, int]) -> None:
    hit = search_history(reader, "s", "burst window").hits[0]
    read = read_history(reader, "s", around=hit.id, offset=hit.start)
    assert read.messages[0].id == ids["config"]
    assert read.messages[0].start == hit.start
    assert "burstWindow = 90" in read.messages[0].text


def test_whole_messages_in_order_with_the_one_before(reader: Reader, ids: dict[str, int]) -> None:
    read = read_history(reader, "s", around=ids["talk 1"])
    assert [each.text for each in read.messages[:3]] == list(TALK[:3])
    assert [each.place for each in read.messages[:3]] == [1, 2, 3]


def test_cursors_lead_through_a_long_message_to_the_end(reader: Reader, ids: dict[str, int]) -> None:
    texts: dict[int, str] = {}
    cursor, pages = "", 0
    while True:
        read = read_history(reader, "s", cursor=cursor)
        for each in read.messages:
            assert each.start == len(texts.get(each.id, ""))
            texts[each.id] = texts.get(each.id, "") + each.text
        cursor, pages = read.next, pages + 1
        if not cursor:
            break
    assert pages > 2
    assert texts[ids["config"]].count("queue_depth") == 399
    assert ids["question"] in texts and not {ids["asked"], ids["answered"]} & set(texts)
    assert KEY not in "".join(texts.values()) and "[redacted: " in texts[ids["key"]]


def test_by_their_numbers(reader: Reader, ids: dict[str, int]) -> None:
    read = read_history(reader, "s", ids=[ids["settled"], ids["talk 0"], 999_999])
    assert [each.id for each in read.messages] == [ids["talk 0"], ids["settled"]]
    assert not read.next
    with pytest.raises(NotFound):
        read_history(reader, "s", ids=[999_999])


@pytest.mark.parametrize("around", [-1, 0, 999_999, 2**70])
def test_a_message_that_is_not_there(reader: Reader, around: int) -> None:
    with pytest.raises(NotFound):
        read_history(reader, "s", around=around)
    with pytest.raises(BadCursor):
        read_history(reader, "s", cursor="x")


def test_an_offset_behind_the_end(reader: Reader, ids: dict[str, int]) -> None:
    read = read_history(reader, "s", around=ids["settled"], offset=10**9)
    assert read.messages[0].text == ""
    assert read.messages[1].id == ids["key"]


def test_what_was_lost_and_what_is_seen(hermes_store: HermesStore) -> None:
    with open_store(hermes_store.store) as reader:
        report = what_was_lost(reader, hermes_store.session_id)
        seen = what_the_model_sees(reader, hermes_store.session_id)
    assert report.summarised and report.lost >= len(report.needed) + len(report.others) > 0
    assert seen.in_context < seen.messages
    assert seen.tokens and seen.window and seen.handoff
    assert seen.compactions == 2


def test_a_session_that_was_never_compacted(empty_store: EmptyStore) -> None:
    empty_store.session("new")
    empty_store.chat("new", 4)
    with open_store(get_store("own")) as reader:
        assert what_was_lost(reader, "new").summarised == 0
        seen = what_the_model_sees(reader, "new")
    assert (seen.in_context, seen.messages, seen.handoff, seen.compactions) == (4, 4, "", 0)


# -- which session -----------------------------------------------------------------------------------------------------


def test_a_session_by_its_id_or_its_only_beginning(empty_store: EmptyStore) -> None:
    fill(empty_store, "20261128_a1", "One")
    fill(empty_store, "20261128_b2", "Two")
    fill(empty_store, "20261128_b2/agent-1", "A sub-agent of the second")
    stores = all_stores()
    assert sessions.named(stores, "20261128_a1").id == "20261128_a1"
    assert sessions.named(stores, "20261128_b").id == "20261128_b2"
    assert sessions.named(stores, "20261128_b2/agent").id == "20261128_b2/agent-1"
    with pytest.raises(sessions.UnknownSession, match="20261128_b2"):
        sessions.named(stores, "20261128_")


@pytest.mark.parametrize("asked", ["20261128_x1", "nothing like it", "a\0b", "\ud800", "x" * 5_000, "%%%%%"])
def test_an_unknown_session_offers_others(empty_store: EmptyStore, asked: str) -> None:
    fill(empty_store, "20261128_a1", "One")
    with pytest.raises(sessions.UnknownSession, match=r"There is no session .*20261128_a1 \(\"One\"\)"):
        sessions.named(all_stores(), asked)


def test_the_session_in_hand(empty_store: EmptyStore) -> None:
    fill(empty_store, "first", "One")
    fill(empty_store, "second", "Two")
    empty_store.say("second", "user", "later", timestamp=1_795_000_000.0)
    stores = all_stores()
    named = sessions.in_hand(stores, {"CLAUDE_CODE_SESSION_ID": "first"}, "/work/second")
    assert (named.id, named.guessed) == ("first", "")
    there = sessions.in_hand(stores, {"CLAUDE_CODE_SESSION_ID": "none"}, "/work/first/")
    assert (there.id, there.guessed) == ("first", "the newest in this directory")
    client = sessions.in_hand(stores, {"CLAUDE_PROJECT_DIR": "/work/first"}, "/work/second")
    assert client.id == "first"
    newest = sessions.in_hand(stores, {}, "/elsewhere")
    assert (newest.id, newest.guessed) == ("second", "the newest of all")


def test_lists_by_words_and_directory(empty_store: EmptyStore) -> None:
    fill(empty_store, "first", "One")
    fill(empty_store, "second", "Two")
    stores = all_stores()
    assert {each.id for each in sessions.list_sessions(stores)} == {"first", "second"}
    assert [each.id for each in sessions.list_sessions(stores, "two")] == ["second"]
    assert [each.id for each in sessions.list_sessions(stores, project="/work/first/")] == ["first"]
    assert len(sessions.list_sessions(stores, limit=1)) == 1
