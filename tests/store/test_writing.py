"""Commit and undo on copies of real databases: what changes, what does not, what is refused."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.factories.locks import turn_lease
from tests.factories.messages import HANDOFF
from tests.factories.stores import WEEK_29, add_row, add_session, reader_of, store_at
from tests.store.commits import (
    committed,
    everything_else,
    live,
    map_of,
    path,
    planned,
    query,
    said,
    small,
    steps_for,
    undone,
)
from viewer.stores import lock_owners
from viewer.stores.base import Store
from viewer.stores.errors import (
    CompactionConflict,
    NotUndoable,
    SessionBusy,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
    TitleTaken,
)
from viewer.stores.hermes import commit, encode, messages, paths, presence, transaction, undo, writer

__all__ = ["path", "small"]  # fixtures

# -- commit ----------------------------------------------------------------------------------------------------------


def test_a_commit_makes_head_handoff_and_tail_the_live_context(path: Path) -> None:
    before, snapshot = said(path), planned(path)
    commit = committed(path, snapshot, steps_for(snapshot))
    after = said(path)
    assert after[:2] == before[:2]
    assert after[2][:2] == ("user", HANDOFF["content"])
    assert after[3:] == before[-30:]
    assert [row[0] for row in live(path)] == list(commit.block_ids)
    assert list(commit.block_ids) == list(range(commit.block_ids[0], commit.block_ids[0] + 33))
    assert commit.handoff_id == commit.block_ids[2]


def test_only_the_session_changes_and_its_counters_are_right(path: Path) -> None:
    others, snapshot = everything_else(path), planned(path)
    rows = query(path, "SELECT COUNT(*) FROM messages WHERE session_id = ?", WEEK_29)[0][0]
    commit = committed(path, snapshot, steps_for(snapshot))
    assert everything_else(path) == others
    assert query(path, "SELECT COUNT(*) FROM messages WHERE session_id = ?", WEEK_29) == [(rows + 33,)]
    count, calls, ended = query(
        path, "SELECT message_count, tool_call_count, ended_at FROM sessions WHERE id = ?", WEEK_29
    )[0]
    assert (count, ended) == (33, None) == (commit.live, None)
    with reader_of(path) as reader:
        assert calls == sum(len(row.tool_calls) for row in messages.live_context(reader, WEEK_29))
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    for table in ("compression_locks", "session_turn_leases"):
        if query(path, "SELECT 1 FROM sqlite_master WHERE name = ?", table):
            assert query(path, f"SELECT * FROM {table}") == []


def test_archived_and_new_rows_are_found_by_full_text_search(path: Path) -> None:
    snapshot = planned(path)
    summarised = snapshot.rows[8][0]
    word = "zebrafinch"
    commit = committed(path, snapshot, steps_for(snapshot))
    found = {row[0] for row in query(path, "SELECT rowid FROM messages_fts WHERE messages_fts MATCH ?", word)}
    assert found == {commit.handoff_id}
    content = query(path, "SELECT content, active, compacted FROM messages WHERE id = ?", summarised)[0]
    assert content[1:] == (0, 1)
    ids = {row[0] for row in query(path, "SELECT rowid FROM messages_fts")}
    assert summarised in ids and set(commit.block_ids) <= ids


def test_every_column_travels_with_a_clone_known_or_not(small: Path) -> None:
    query(small, "ALTER TABLE messages ADD COLUMN novelty TEXT")
    query(small, "UPDATE messages SET novelty = 'n' || id, api_content = 'sent', platform_message_id = 'p' || id")
    before, snapshot = live(small, "s1"), planned(small, "s1")
    committed(small, snapshot, steps_for(snapshot, head=1, tail=3))
    after = live(small, "s1")
    names = [row[1] for row in query(small, "PRAGMA table_info(messages)")]
    own = {names.index(name) for name in ("id", "active", "compacted", "display_order")}

    def rest(row: tuple[Any, ...]) -> list[Any]:
        return [value for index, value in enumerate(row) if index not in own]

    assert [rest(row) for row in after[2:]] == [rest(row) for row in before[-3:]]


def test_a_changed_clone_drops_what_was_derived_from_its_text(small: Path) -> None:
    query(small, "UPDATE messages SET api_content = 'sent', display_identity = x'00'")
    snapshot = planned(small, "s1")
    ids = [row[0] for row in snapshot.rows]
    changes = {"content": [{"type": "text", "text": "stub"}], "_compressed_summary": True, "no_such_column": 1}
    steps: list[encode.Step] = [
        encode.New(HANDOFF),
        encode.CloneChanged(ids[6], changes, "under"),
        encode.CloneChanged(ids[7], {"content": "merged"}, "out", is_handoff=True),
    ]
    commit = committed(small, snapshot, steps)
    clone = commit.copies[ids[6]]
    stored = query(small, "SELECT content, api_content, _compressed_summary FROM messages WHERE id = ?", clone)
    assert stored == [('\x00json:[{"type": "text", "text": "stub"}]', None, 1)]
    assert commit.handoff_id == commit.copies[ids[7]]
    states = query(small, "SELECT active, compacted FROM messages WHERE id IN (?, ?) ORDER BY id", ids[6], ids[7])
    assert states == [(0, 1), (0, 0)]


def test_a_row_that_arrived_after_the_plan_stays_live_and_in_place(path: Path) -> None:
    snapshot = planned(path)
    late = add_row(path, WEEK_29, role="user", content="and one more thing", timestamp=1.9e9)
    commit = committed(path, snapshot, steps_for(snapshot))
    assert said(path)[-1][:2] == ("user", "and one more thing")
    assert commit.copies[late] == commit.block_ids[-1]
    assert query(path, "SELECT active, compacted FROM messages WHERE id = ?", late) == [(0, 0)]


@pytest.mark.parametrize(
    ("appended", "written"), [(-1.4e-6, 1e-3), (5e-4, 1.5e-3), (0.4, 0.401), (-0.5, 0.0), (1e6, 0.0), ("", 0.0)]
)
def test_a_handoff_never_has_the_moment_at_which_a_row_was_appended(
    small: Path, appended: float | str, written: float
) -> None:
    snapshot, now = planned(small, "s1"), 1.9e9
    add_row(small, "s1", role="user", content="meanwhile", timestamp=0)
    moment = now + appended if isinstance(appended, float) else appended
    query(small, "UPDATE messages SET timestamp = ? WHERE content = 'meanwhile'", moment)
    commit = committed(small, snapshot, steps_for(snapshot, 1, 2), now=now)
    ((stored,),) = query(small, "SELECT timestamp FROM messages WHERE id = ?", commit.handoff_id)
    assert stored - now == pytest.approx(written, abs=2e-6)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE messages SET content = content || ' edited' WHERE id = {id}",
        "UPDATE messages SET active = 0 WHERE id = {id}",
        "UPDATE messages SET tool_calls = '[]' WHERE id = {id}",
        "DELETE FROM messages WHERE id = {id}",
    ],
)
def test_a_changed_prefix_is_a_conflict_and_nothing_is_written(small: Path, change: str) -> None:
    snapshot = planned(small, "s1")
    query(small, change.format(id=snapshot.rows[3][0]))
    before = query(small, "SELECT * FROM messages")
    with pytest.raises(CompactionConflict, match="1 of the 8 planned messages"):
        committed(small, snapshot, steps_for(snapshot, 1, 2))
    assert query(small, "SELECT * FROM messages") == before


def test_a_row_that_came_back_below_the_watermark_is_a_conflict(small: Path) -> None:
    query(small, "UPDATE messages SET active = 0 WHERE id = 2")
    snapshot = planned(small, "s1")
    query(small, "UPDATE messages SET active = 1 WHERE id = 2")
    with pytest.raises(CompactionConflict):
        committed(small, snapshot, steps_for(snapshot, 1, 2))


def test_a_session_that_the_agent_split_meanwhile_is_a_conflict(small: Path) -> None:
    snapshot = planned(small, "s1")
    query(small, "UPDATE sessions SET ended_at = 3, end_reason = 'compression'")
    with pytest.raises(CompactionConflict, match="another session"):
        committed(small, snapshot, steps_for(snapshot, 1, 2))


@pytest.mark.parametrize("missing", ["compression_locks", "session_turn_leases"])
def test_no_write_without_lock_and_lease(small: Path, missing: str) -> None:
    store, snapshot, holder = store_at(small), planned(small, "s1"), lock_owners.new_holder()
    presence.take_lock(store, "s1", holder)
    presence.take_lease(store, "s1", holder)
    query(small, f"DELETE FROM {missing}")
    before = query(small, "SELECT * FROM messages")
    with pytest.raises(SessionBusy):
        commit.commit(store, snapshot, steps_for(snapshot, 1, 2), lock_holder=holder, lease_holder=holder, now=1.0)
    assert query(small, "SELECT * FROM messages") == before


def test_a_write_that_fails_half_way_leaves_nothing(small: Path) -> None:
    query(small, "CREATE TRIGGER breaks AFTER INSERT ON messages WHEN new.content LIKE '%zebrafinch%' "
                 "BEGIN SELECT RAISE(ABORT, 'no such tokenizer: cjk_unicode61'); END")  # fmt: skip
    before, snapshot = query(small, "SELECT * FROM messages"), planned(small, "s1")
    with pytest.raises(StoreReadOnly, match="tokenizer"):
        committed(small, snapshot, steps_for(snapshot, 1, 2))
    assert query(small, "SELECT * FROM messages") == before


def test_a_replaced_file_is_not_written(small: Path, tmp_path: Path) -> None:
    snapshot = planned(small, "s1")
    copy = tmp_path / "copy.db"
    query(small, "VACUUM INTO ?", str(copy))
    copy.rename(small)
    with pytest.raises(StoreUnavailable, match="replaced"):
        committed(small, snapshot, steps_for(snapshot, 1, 2))
    assert len(live(small, "s1")) == 8


def test_a_store_locked_beyond_patience_says_so(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction, "PATIENCE", 0.3)
    with closing(sqlite3.connect(small, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="stayed locked"):
            presence.take_lock(store_at(small), "s1", lock_owners.new_holder())


def test_an_old_schema_is_refused(small_hermes_copy: Callable[[int], Path]) -> None:
    path = small_hermes_copy(16)
    session_id = query(path, "SELECT id FROM sessions WHERE title = 'Airline desk, week 29'")[0][0]
    snapshot = planned(path, session_id)
    with pytest.raises(StoreReadOnly, match="compacted"):
        committed(path, snapshot, steps_for(snapshot))


def test_the_rearm_mark_leaves_the_configuration_and_nothing_else_does(small: Path) -> None:
    query(small, """UPDATE sessions SET model_config = '{"_proactive_prune_rearm_tokens": 5, "keep": 1}'""")
    snapshot = planned(small, "s1")
    committed(small, snapshot, steps_for(snapshot, 1, 2))
    assert query(small, "SELECT model_config FROM sessions") == [('{"keep": 1}',)]


# -- undo ------------------------------------------------------------------------------------------------------------


def test_undo_restores_the_live_context_and_keeps_what_came_since(path: Path) -> None:
    before, others = said(path), everything_else(path)
    ids_before = [row[0] for row in live(path)]
    snapshot = planned(path)
    commit = committed(path, snapshot, steps_for(snapshot))
    add_row(path, WEEK_29, role="user", content="later", timestamp=1.95e9)
    outlook = undone(path, map_of(snapshot, commit))
    assert said(path)[:-1] == before
    assert said(path)[-1][1] == "later"
    assert [row[0] for row in live(path)][:-1] == ids_before
    assert (len(outlook.restored), len(outlook.hidden), len(outlook.later)) == (len(before), 33, 1)
    assert query(path, "SELECT message_count FROM sessions WHERE id = ?", WEEK_29) == [(len(before) + 1,)]
    assert everything_else(path) == others
    with reader_of(path) as reader:
        assert len(messages.read_history(reader, WEEK_29).entries) == 125


def test_a_copy_the_agent_took_back_since_stays_down(path: Path) -> None:
    before, snapshot = said(path), planned(path)
    commit = committed(path, snapshot, steps_for(snapshot))
    query(path, "UPDATE messages SET active = 0 WHERE id IN (?, ?)", *commit.block_ids[-2:])
    undone(path, map_of(snapshot, commit))
    assert said(path) == before[:-2]


def test_the_agents_own_newest_compaction_can_be_undone(path: Path) -> None:
    with reader_of(path) as reader:
        history = messages.read_history(reader, WEEK_29)
        newest = history.boundaries[-1]
        what = undo.undoing_of_boundary(WEEK_29, newest)
        outlook = undo.check_undo(reader, what)
    assert outlook.refusal == ""
    assert len(outlook.restored) == newest.messages_before
    later = len(live(path)) - newest.messages_after
    undone(path, what)
    assert len(live(path)) == newest.messages_before + later
    with reader_of(path) as reader:
        again = messages.read_history(reader, WEEK_29)
    assert len(again.boundaries) == 1
    assert len(again.entries) == 124
    assert [entry.id for entry in again.entries] == [entry.id for entry in history.entries]


@pytest.mark.parametrize(
    ("agent_does", "reason"),
    [
        ("DELETE FROM messages WHERE session_id = 's1' AND id = 3", "no longer exist"),
        ("DELETE FROM messages WHERE session_id = 's1' AND active = 1", "rewrote its transcript"),
        ("UPDATE messages SET active = 0 WHERE session_id = 's1'", "not in effect"),
        (
            "INSERT INTO messages (session_id, role, content, timestamp) SELECT session_id, role, content, timestamp "
            "FROM messages WHERE session_id = 's1' AND id = 7; UPDATE messages SET active = 0 "
            "WHERE content = 'message 6' AND active = 1 AND id < (SELECT MAX(id) FROM messages)",
            "shows messages twice|show messages twice",
        ),
    ],
)
def test_a_transcript_the_agent_rewrote_is_not_undone(small: Path, agent_does: str, reason: str) -> None:
    snapshot = planned(small, "s1")
    commit = committed(small, snapshot, steps_for(snapshot, 1, 2))
    for statement in agent_does.split("; "):
        query(small, statement)
    before = query(small, "SELECT * FROM messages")
    with pytest.raises(NotUndoable, match=reason):
        undone(small, map_of(snapshot, commit))
    assert query(small, "SELECT * FROM messages") == before


def test_an_undo_whose_copies_are_not_known_is_refused(small: Path) -> None:
    """An agent that rewrote every kept message while it compacted: nothing tells which were kept."""
    query(small, "UPDATE messages SET active = 0, compacted = 1")
    add_row(small, role="assistant", content=HANDOFF["content"], timestamp=30.0)
    add_row(small, role="user", content="something else altogether", timestamp=17.5)
    with reader_of(small) as reader:
        history = messages.read_history(reader, "s1")
        what = undo.undoing_of_boundary("s1", history.boundaries[0])
        assert "is not known" in undo.check_undo(reader, what).refusal


def test_a_boundary_where_the_agent_split_the_session_says_so(small_hermes_copy: Callable[[int], Path]) -> None:
    with reader_of(small_hermes_copy(16)) as reader:
        tip = "20260715_063924_8490d0"
        history = messages.read_history(reader, tip)
        assert len(history.boundaries) == 3
        what = undo.undoing_of_boundary(tip, history.boundaries[-1])
        assert undo._exist_elsewhere(reader.con, reader.columns.dialect, what)


# -- guards ----------------------------------------------------------------------------------------------------------


def test_somebody_elses_lock_is_named_and_never_taken(small: Path) -> None:
    store = store_at(small)
    now = time.time()
    query(small, "INSERT INTO compression_locks VALUES ('s1', 'pid=1:agent=hermes', ?, ?)", now, now + 60)
    with pytest.raises(SessionBusy, match="pid=1:agent=hermes"):
        presence.take_lock(store, "s1", lock_owners.new_holder())
    assert query(small, "SELECT holder FROM compression_locks") == [("pid=1:agent=hermes",)]
    with reader_of(small) as reader:
        held = presence.lock_of(reader, "s1")
    assert held is not None and not held.is_palimpsest


def test_a_stale_lock_is_replaced(small: Path) -> None:
    store = store_at(small)
    namespace = lock_owners.own_namespace()
    now = time.time()
    for stale, expires in [("pid=1:agent=old", now - 1), (f"pid=4194304:pidns={namespace}:x", now + 60)]:
        query(small, "DELETE FROM compression_locks")
        query(small, "INSERT INTO compression_locks VALUES ('s1', ?, 1, ?)", stale, expires)
        holder = lock_owners.new_holder()
        presence.take_lock(store, "s1", holder)
        assert query(small, "SELECT holder FROM compression_locks") == [(holder,)]


def test_a_foreign_namespace_waits_out_its_time(small: Path) -> None:
    query(small, "INSERT INTO compression_locks VALUES ('s1', 'pid=4194304:pidns=1:x', 1, ?)", time.time() + 60)
    with pytest.raises(SessionBusy):
        presence.take_lock(store_at(small), "s1", lock_owners.new_holder())


def test_only_the_holder_refreshes_and_releases(small: Path) -> None:
    store, holder = store_at(small), lock_owners.new_holder()
    presence.take_lock(store, "s1", holder)
    presence.release_lock(store, "s1", "somebody else")
    assert not presence.refresh_lock(store, "s1", "somebody else")
    assert presence.refresh_lock(store, "s1", holder)
    presence.release_lock(store, "s1", holder)
    assert query(small, "SELECT * FROM compression_locks") == []


def test_the_turn_lease_of_a_chain_is_held_under_its_first_part(small: Path) -> None:
    add_session(small, "s2", parent_session_id="s1")
    query(small, "UPDATE sessions SET ended_at = 2, end_reason = 'compression' WHERE id = 's1'")
    with turn_lease(store_at(small), "s2") as holder:
        assert query(small, "SELECT conversation_id, holder FROM session_turn_leases") == [("s1", holder)]
        with reader_of(small) as reader:
            assert presence.lease_of(reader, "s2") == presence.lease_of(reader, "s1")
            assert presence.lease_of(reader, "s1")
    assert query(small, "SELECT * FROM session_turn_leases") == []


def test_a_store_without_leases_needs_none(small_hermes_copy: Callable[[int], Path]) -> None:
    path = small_hermes_copy(21)
    with turn_lease(store_at(path), WEEK_29), reader_of(path) as reader:
        assert presence.lease_of(reader, WEEK_29) is None


# -- titles ----------------------------------------------------------------------------------------------------------


def test_rename_and_archive(small: Path) -> None:
    add_session(small, "s2", title="taken")
    store: Store = store_at(small)
    writer.rename(store, "s1", "  a\x00 new\n\u202ename ")
    writer.set_archived(store, "s1", True)
    with reader_of(small) as reader:
        session = paths.get_session(reader, "s1")
    assert (session.title, session.archived) == ("a new name", True)
    assert query(small, "SELECT title_source FROM sessions WHERE id = 's1'") == [("user",)]
    with pytest.raises(TitleTaken, match="already named"):
        writer.rename(store, "s1", "taken")
    with pytest.raises(StoreError, match="no session"):
        writer.rename(store, "s3", "x")
