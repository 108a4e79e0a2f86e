"""Reading real databases: known boundaries, windows, the live context, and rows that are no good."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.factories.session_lists import tips
from tests.factories.stores import WEEK_29, WEEK_30_TIP, add_row, add_session, create_empty, reader_of
from tests.slow import slow
from viewer.stores import packing
from viewer.stores.base import Store
from viewer.stores.errors import NotFound, StoreUnavailable
from viewer.stores.hermes import messages, paths, presence
from viewer.stores.hermes.change_tokens import read_marks
from viewer.stores.hermes.codec import JSON_MARK
from viewer.stores.hermes.reader import open_store
from viewer.stores.message import Handoff, HistoryMessage
from viewer.stores.transcript import HistoryEntry, Item, TranscriptIndex

CARRIER_92, CARRIER_98 = "20260806_083000_00005c", "20260806_070640_000062"
Copies = Callable[[int], Path]


def history_of(path: Path, session_id: str) -> TranscriptIndex:
    with reader_of(path) as reader:
        return messages.read_history(reader, session_id)


def index_of(path: Path, session_id: str) -> TranscriptIndex:
    with reader_of(path) as reader:
        return messages.read_history(reader, session_id)


def said(items: Iterable[Item]) -> list[int]:
    """The ids of messages and handoffs, in order."""
    return [item.id if isinstance(item, HistoryEntry) else item.handoff_id for item in items]


@pytest.fixture(params=["small", *slow("real")])
def copies(request: pytest.FixtureRequest, small_hermes_copy: Copies, hermes_copy: Copies) -> Copies:
    """Of small databases of ours; of real ones, where those are."""
    return small_hermes_copy if request.param == "small" else hermes_copy


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    path = tmp_path / "empty.db"
    create_empty(path)
    return path


# -- whole databases -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "session_id", "messages", "blocks"),
    [
        *slow((21, WEEK_29, 1246, [(1002, 195), (393, 194)]), (31, WEEK_29, 1246, [(1002, 161), (359, 151)])),
        (21, CARRIER_92, 28, [(28, 20)]),
        (21, CARRIER_98, 20, [(20, 18)]),
        (31, CARRIER_92, 27, [(27, 19)]),
        (31, CARRIER_98, 21, [(21, 11)]),
        (16, WEEK_30_TIP, 758, [(416, 126), (234, 122), (246, 79)]),
    ],
)
def test_boundaries_and_messages_of_real_sessions(
    hermes_copy: Copies, version: int, session_id: str, messages: int, blocks: list[tuple[int, int]]
) -> None:
    history = history_of(hermes_copy(version), session_id)
    assert [(b.messages_before, b.messages_after) for b in history.boundaries] == blocks
    assert len(history.entries) == messages


@pytest.mark.parametrize("version", [16, 21, 31])
def test_every_session_shows_each_stored_text_once(copies: Copies, version: int) -> None:
    path = copies(version)
    with reader_of(path) as reader:
        for session_id in tips(reader):
            history = messages.read_history(reader, session_id)
            ids = [entry.id for entry in history.entries]
            assert len(ids) == len(set(ids))
            if not history.boundaries:
                assert len(ids) == read_marks(reader, [session_id])[session_id].rows


@pytest.mark.parametrize("version", [21, 31])
def test_the_live_messages_of_history_are_the_live_context(copies: Copies, version: int) -> None:
    with reader_of(copies(version)) as reader:
        history = messages.read_history(reader, WEEK_29)
        live = [row.id for row in messages.live_context(reader, WEEK_29)]
    standalone = {b.handoff_id for b in history.boundaries} - {
        row for row in history.ids if history.message_of(row) is not None
    }
    assert {e.newest_id for e in history.entries if e.state == "live"} == set(live) - standalone


@pytest.mark.parametrize("version", [21, 31])
@pytest.mark.parametrize(("session_id", "role", "calls"), [(CARRIER_92, "user", 0), (CARRIER_98, "assistant", 1)])
def test_a_merged_carrier_is_shown_as_a_handoff_and_as_its_message(
    copies: Copies, version: int, session_id: str, role: str, calls: int
) -> None:
    with reader_of(copies(version)) as reader:
        history = messages.read_history(reader, session_id)
        place = history.items.index(history.boundaries[0])
        handoff, message = messages.history_messages(reader, history.items[place : place + 2])
    assert isinstance(handoff, Handoff)
    assert isinstance(message, HistoryMessage)
    assert handoff.row.id == handoff.boundary.handoff_id != message.row.id
    assert "##" in handoff.summary
    assert "REFERENCE ONLY" in handoff.directive
    assert message.row.role == role
    assert len(message.row.tool_calls) == calls
    assert "CONTEXT" not in str(message.content)


@pytest.mark.parametrize("version", [16, 21, 31])
def test_no_handoff_text_is_part_of_any_message(copies: Copies, version: int) -> None:
    with reader_of(copies(version)) as reader:
        for session_id in tips(reader):
            history = messages.read_history(reader, session_id)
            for shown in messages.history_messages(reader, history.entries):
                assert isinstance(shown, HistoryMessage)
                assert "[CONTEXT COMPACTION" not in str(shown.content)
                assert "END OF CONTEXT SUMMARY" not in str(shown.content)


def test_a_chain_of_split_sessions_is_one_line_and_one_history(small_hermes_copy: Copies) -> None:
    with reader_of(small_hermes_copy(16)) as reader:
        session = paths.get_session(reader, WEEK_30_TIP)
        assert (session.parts, session.name) == (4, "Airline desk, week 30")
        assert not set(paths.chain(reader, WEEK_30_TIP)[:-1]) & set(tips(reader))
        first = paths.chain(reader, WEEK_30_TIP)[0]
        assert paths.tip(reader, first) == WEEK_30_TIP
        assert paths.lease_key(reader, WEEK_30_TIP) == first
        states = [entry.state for entry in messages.read_history(reader, WEEK_30_TIP).entries]
        assert (states.count("live"), states.count("under")) == (186, 572)


def test_what_the_databases_can_do_is_read_from_their_columns(small_hermes_copy: Copies) -> None:
    found, reasons = {}, {}
    for version in (16, 21, 31):
        with reader_of(small_hermes_copy(version)) as reader:
            found[version] = presence.capabilities(reader)
            reasons[version] = presence.compact_reason(reader)
    assert [not reasons[version] for version in (16, 21, 31)] == [False, True, True]
    assert "compacted" in reasons[16]
    assert [found[version].schema for version in (16, 21, 31)] == [16, 21, 31]
    assert [found[version].turn_leases for version in (16, 21, 31)] == [False, False, True]


# -- windows ---------------------------------------------------------------------------------------------------------


def test_windows_in_either_direction_give_every_message_once(small_hermes_copy: Copies) -> None:
    path = small_hermes_copy(21)
    index, whole = index_of(path, WEEK_29), said(history_of(path, WEEK_29).items)
    window = index.window(limit=100)
    backwards = list(window.items)
    while window.earlier:
        window = index.window(before=window.first, limit=100)
        backwards = [*window.items, *backwards]
    assert said(backwards) == whole
    window = index.window(around=index.entry(0).id, limit=100)
    forwards = list(window.items)
    while window.later:
        window = index.window(after=window.last, limit=100)
        forwards += window.items
    assert said(forwards) == whole


def test_a_window_around_any_row_of_a_message_holds_it_in_the_middle(small_hermes_copy: Copies) -> None:
    index = index_of(small_hermes_copy(21), WEEK_29)
    copied = next(entry for entry in index.entries if len(entry.rows) == 2)
    window = index.window(around=copied.rows[1], limit=40)
    ids = [item.id for item in window.items if isinstance(item, HistoryEntry)]
    assert ids[20] == copied.id
    assert window.earlier + len(ids) + window.later == len(index.entries)


def test_a_window_around_an_unknown_row_is_refused(small_hermes_copy: Copies) -> None:
    with pytest.raises(NotFound):
        index_of(small_hermes_copy(21), CARRIER_92).window(around=999_999)


def test_the_window_of_an_empty_history_is_empty() -> None:
    window = packing.pack(packing.HistoryParts((), (), {}, settled=False), []).window()
    assert (window.items, window.earlier, window.later, window.first) == ((), 0, 0, None)


# -- rows that are no good -------------------------------------------------------------------------------------------


def test_odd_rows_are_read_and_nothing_is_lost(empty: Path) -> None:
    add_session(empty)
    odd: list[dict[str, Any]] = [
        {"content": JSON_MARK + "{broken"},
        {"content": "a\x00b"},
        {"content": None},
        {"content": b"\xff\xfe bytes"},
        {"content": 42, "timestamp": "no number"},
        {"content": JSON_MARK + "[" * 20_000},
        {"content": "x", "tool_calls": "{not json"},
        {"content": "x", "tool_calls": '[1, "a", null]'},
        {"content": "x", "role": "oracle"},
        {"content": "", "role": "assistant", "tool_calls": '[{"id": 7}]'},
    ]
    ids = [add_row(empty, **values) for values in odd]
    with reader_of(empty) as reader:
        history = messages.read_history(reader, "s1")
        rows = messages.read_rows(reader, ids)
        shown = messages.history_messages(reader, history.items)
    assert [entry.id for entry in history.entries] == ids
    assert rows[ids[0]].content == JSON_MARK + "{broken"
    assert rows[ids[1]].content == "a\x00b"
    assert rows[ids[6]].tool_calls == []
    assert rows[ids[9]].tool_calls == [{"id": 7}]
    assert len(shown) == len(ids)


def test_unknown_columns_travel_and_missing_ones_have_defaults(tmp_path: Path) -> None:
    path = tmp_path / "foreign.db"
    with sqlite3.connect(path) as con:
        con.execute("CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, started_at REAL)")
        con.execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, timestamp REAL, "
            '"odd ""name" TEXT)'
        )
    con.close()
    add_session(path)
    row_id = add_row(path, content="hello", **{'odd ""name': "kept"})
    with reader_of(path) as reader:
        session = paths.get_session(reader, "s1")
        assert (session.parts, session.title) == (1, "")
        assert messages.live_context(reader, "s1")[0].extra == {'odd "name': "kept", "timestamp": 2.0}
        assert messages.read_history(reader, "s1").entries[0].id == row_id
        assert presence.compact_reason(reader)


def test_text_that_quotes_a_marker_is_no_handoff(empty: Path) -> None:
    add_session(empty)
    add_row(empty, content="The block starts with [CONTEXT SUMMARY]: and then goes on.")
    add_row(empty, role="assistant", content="[CONTEXT SUMMARY]: a real one\n\n## Goal\nx")
    with reader_of(empty) as reader:
        history = messages.read_history(reader, "s1")
    assert len(history.entries) == 1
    assert len(history.boundaries) == 1


def test_a_continuation_of_a_branch_is_a_chain_although_it_inherits_the_mark(empty: Path) -> None:
    mark = '{"_branched_from": "a"}'
    add_session(empty, "a")
    add_session(empty, "b", parent_session_id="a", model_config=mark, ended_at=2.0, end_reason="compression")
    add_session(empty, "c", parent_session_id="b", model_config=mark)
    with reader_of(empty) as reader:
        assert paths.chain(reader, "c") == ["b", "c"]
        assert paths.tip(reader, "b") == "c"
        assert set(tips(reader)) == {"a", "c"}


def test_a_handoff_of_ours_is_no_activity(empty: Path) -> None:
    add_session(empty)
    add_row(empty, content="hello", timestamp=1.79e9)
    add_row(empty, content="[CONTEXT SUMMARY]: and so on", timestamp=1.791e9)
    with reader_of(empty) as reader:
        assert paths.get_session(reader, "s1").last_active == 1.79e9


def test_lone_surrogates_in_json_are_replaced_and_pairs_kept(empty: Path) -> None:
    add_session(empty)
    calls = '[{"id": "c", "function": {"name": "x\\ud800", "arguments": "{}"}}]'
    row_id = add_row(
        empty,
        role="assistant",
        content=JSON_MARK + '[{"type": "text", "text": "a\\ud800 \\ud83d\\ude00"}]',
        tool_calls=calls,
    )
    with reader_of(empty) as reader:
        row = messages.read_rows(reader, [row_id, 10**30])[row_id]
    assert row.content == [{"type": "text", "text": "a? \U0001f600"}]
    assert row.tool_calls[0]["function"]["name"] == "x?"


def test_rows_without_an_active_flag_are_shown_and_keep_the_store_from_being_compacted(
    small_hermes_copy: Copies,
) -> None:
    path = small_hermes_copy(21)
    with sqlite3.connect(path) as con:
        con.execute("ALTER TABLE messages RENAME COLUMN active TO old")
        con.execute("ALTER TABLE messages ADD COLUMN active INTEGER")
        con.execute("UPDATE messages SET active = old WHERE id > 100")
    con.close()
    with reader_of(path) as reader:
        assert "no “active” flag" in presence.compact_reason(reader)
        assert len(messages.read_history(reader, WEEK_29).entries) >= 124


# -- files that are no good ------------------------------------------------------------------------------------------


def test_a_missing_file_and_a_file_that_is_no_store_are_named(tmp_path: Path) -> None:
    text, other, folder = tmp_path / "text.db", tmp_path / "other.db", tmp_path / "folder.db"
    text.write_text("not a database " * 100)
    folder.mkdir()
    sqlite3.connect(other).execute("CREATE TABLE t (x)").connection.close()
    for path, word in [
        (tmp_path / "none.db", "none.db"),
        (text, "not a readable SQLite"),
        (other, "not of agent sessions"),
        (folder, "folder.db is not a file"),
    ]:
        with pytest.raises(StoreUnavailable, match=word), reader_of(path):
            pass


def test_a_store_that_is_no_file_is_refused_without_its_password() -> None:
    store = Store("far", "postgres://ana:secret@127.0.0.1:1/hermes?sslpassword=secret", "configured")
    assert store.place == "127.0.0.1:1/hermes"
    with pytest.raises(StoreUnavailable, match="cannot be reached") as refused, open_store(store):
        pass
    assert "secret" not in str(refused.value)


def test_reading_a_store_goes_on_while_another_writes_and_never_holds_it_up(small_hermes_copy: Copies) -> None:
    path = small_hermes_copy(21)
    writer = sqlite3.connect(path, isolation_level=None, timeout=0.1)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE sessions SET title = 'held' WHERE id = ?", [WEEK_29])
    with reader_of(path) as reader:
        assert paths.get_session(reader, WEEK_29).title == "Airline desk, week 29"
        writer.execute("COMMIT")
        assert paths.get_session(reader, WEEK_29).title == "held"
    writer.close()


def test_a_file_replaced_while_it_is_read_is_noticed(small_hermes_copy: Copies, tmp_path: Path) -> None:
    path = small_hermes_copy(21)
    with pytest.raises(StoreUnavailable, match="replaced"), reader_of(path):
        (tmp_path / "new.db").write_bytes(b"")
        (tmp_path / "new.db").rename(path)


def test_nothing_is_written_by_reading(small_hermes_copy: Copies) -> None:
    path = small_hermes_copy(31)
    before = path.read_bytes()
    with reader_of(path) as reader:
        messages.read_history(reader, WEEK_29)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.con.execute("DELETE FROM messages")
    assert path.read_bytes() == before
