"""Branches on copies of real databases: what the new session holds, that the source stays as it is, what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.factories.session_lists import tips
from tests.factories.stores import add_row, add_session, reader_of, small_talk, store_at
from tests.store.tables import SESSIONS, columns, path, query, rows, session, stored, version
from viewer.stores.errors import NotBranchable, NotFound, StoreError, StoreReadOnly
from viewer.stores.hermes import branch as hermes_branch
from viewer.stores.hermes import paths

__all__ = ["path", "version"]  # fixtures

NOW = 1_800_000_000.5


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A store of our own with one session of four messages."""
    return small_talk(tmp_path / "small.db", 4, model="gpt-5")


def branch(path: Path, session_id: str = "s1", ids: list[int] | None = None) -> str:
    """A branch with these rows, or those that are live."""
    ids = ids if ids is not None else [row_id for (row_id,) in rows(path, session_id, "id")]
    return hermes_branch.branch(store_at(path), session_id, ids, now=NOW)


# -- what a branch is --------------------------------------------------------------------------------------------------


def test_it_holds_the_live_context_and_nothing_else_changes(path: Path, version: int) -> None:
    source = SESSIONS[version]
    before, context = stored(path), rows(path, source)
    made = branch(path, source)
    assert stored(path, but=made) == before
    assert rows(path, made) == context == rows(path, source)
    assert rows(path, made, where="1") == context, "no row of any other state"
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    assert query(path, "PRAGMA foreign_key_check") == []


def test_its_session_is_one_the_owner_might_have_written(path: Path, version: int) -> None:
    source = SESSIONS[version]
    parent = session(path, source)
    made = branch(path, source)
    found = session(path, made)
    assert re.fullmatch(r"\d{8}_\d{6}_[0-9a-f]{6}", made)
    assert json.loads(found["model_config"]) == {"_branched_from": source}
    assert (found["parent_session_id"], found["started_at"]) == (source, NOW)
    assert (found["ended_at"], found["end_reason"], found["archived"]) == (None, None, 0)
    assert found["title"] == re.sub(r" #\d$", "", parent["title"]) + " (branch)"
    same = ("source", "model", "cwd", "system_prompt", "system_prompt_hash", "tool_names", "git_branch", "user_id")
    assert {name: found[name] for name in same if name in found} == {n: parent[n] for n in same if n in parent}
    assert found["message_count"] == len(rows(path, made)) == parent["message_count"]
    assert found["tool_call_count"] == sum(len(json.loads(row[2] or "[]")) for row in rows(path, made))
    if version == 31:
        assert found["title_source"] == "branch"


def test_its_rows_may_be_those_of_any_earlier_moment(path: Path, version: int) -> None:
    """Rows that lie under a boundary, or in a part before this one, are live in the branch."""
    source = SESSIONS[version]
    with reader_of(path) as reader:
        parts = paths.chain(reader, source)
    ids = [row[0] for row in query(path, "SELECT id FROM messages WHERE session_id = ? ORDER BY id", parts[0])][:80]
    made = branch(path, source, ids[::-1])
    assert rows(path, made) == rows(path, parts[0], where=f"id <= {ids[-1]}")


def test_every_column_travels_unknown_ones_too(small: Path) -> None:
    query(small, "ALTER TABLE messages ADD COLUMN mood TEXT")
    query(
        small,
        "UPDATE messages SET mood = 'calm ' || id, display_order = 70 + id, observed = 1, effect_disposition = 'x'",
    )
    query(small, "UPDATE messages SET content = CAST(x'00ff6a' AS TEXT) WHERE id = 2")
    own = {"id", "session_id", "active", "compacted", "display_order"}
    wanted = ", ".join(f"typeof({name}), {name}" for name in columns(small, "messages") if name not in own)
    made = branch(small)
    blobs = wanted.replace(", content,", ", CAST(content AS BLOB),")
    assert rows(small, made, blobs) == rows(small, "s1", blobs)
    assert rows(small, made, "active, compacted, display_order") == [(1, 0, None)] * 4


def test_copies_keep_the_owners_name_for_the_message(small: Path) -> None:
    """As the agent's own branches do: a copy is the same message, and results are paired with calls by such names."""
    uids = rows(small, "s1", "message_uid")
    assert all(uid for (uid,) in uids)
    assert rows(small, branch(small), "message_uid") == uids


def test_copies_are_found_by_the_owners_search(path: Path, version: int) -> None:
    made = branch(path, SESSIONS[version])
    counted = "SELECT COUNT(*) FROM messages_fts f JOIN messages m ON m.id = f.rowid WHERE m.session_id = ? AND "
    hits = {
        id_: query(path, f"{counted} messages_fts MATCH 'reservation'", id_)[0][0] for id_ in (made, SESSIONS[version])
    }
    live = query(
        path,
        f"{counted} messages_fts MATCH 'reservation' AND m.active = 1",
        SESSIONS[version],
    )[0][0]
    assert hits[made] == live > 0


def test_what_ties_the_parent_to_a_chat_or_measures_its_context_stays_behind(small: Path) -> None:
    config = {
        "max_iterations": 90, "yolo_mode": True, "codex_thread_id": "t-1", "_branched_from": "other",
        "_delegate_from": "other", "_reset_from": "other", "_proactive_prune_rearm_tokens": 9, "_usage_anchor": {},
    }  # fmt: skip
    query(
        small,
        "UPDATE sessions SET model_config = ?, session_key = 'agent:main:telegram:1', chat_id = '1', chat_type = 'dm', "
        "thread_id = '2', origin_json = '{}', display_name = 'Ana', user_id = 'ana', input_tokens = 7, pinned = 1, "
        "compression_ineffective_count = 2, handoff_state = 'completed', last_activity_at = 3, profile_name = 'work'",
        json.dumps(config),
    )
    found = session(small, branch(small))
    assert json.loads(found["model_config"]) == {"max_iterations": 90, "yolo_mode": True, "_branched_from": "s1"}
    tied = ("session_key", "chat_id", "chat_type", "thread_id", "origin_json", "display_name", "handoff_state")
    assert {found[name] for name in tied} == {None}
    assert (found["input_tokens"], found["pinned"], found["compression_ineffective_count"]) == (0, 0, 0)
    assert (found["user_id"], found["profile_name"]) == ("ana", "work")


@pytest.mark.parametrize("config", [None, "", "{broken", "[1]", "7"])
def test_a_configuration_that_cannot_be_read_does_not_hinder(small: Path, config: str | None) -> None:
    query(small, "UPDATE sessions SET model_config = ?", config)
    assert json.loads(session(small, branch(small))["model_config"]) == {"_branched_from": "s1"}


# -- whose continuation it is ------------------------------------------------------------------------------------------


def test_it_continues_nobody(path: Path, version: int) -> None:
    source = SESSIONS[version]
    with reader_of(path) as reader:
        chain, leased = paths.chain(reader, source), paths.lease_key(reader, source)
        listed = set(tips(reader))
    made = branch(path, source)
    with reader_of(path) as reader:
        assert paths.chain(reader, source) == chain and paths.tip(reader, chain[0]) == source
        assert paths.lease_key(reader, source) == leased
        assert (paths.chain(reader, made), paths.tip(reader, made), paths.lease_key(reader, made)) == (
            [made],
            made,
            made,
        )
        assert set(tips(reader)) == listed | {made}


def test_a_branch_of_a_branch_is_one_of_its_own_parent(small: Path) -> None:
    first = branch(small)
    second = branch(small, first)
    assert json.loads(session(small, second)["model_config"]) == {"_branched_from": first}
    query(small, "UPDATE sessions SET end_reason = 'compression', ended_at = 5 WHERE id IN ('s1', ?)", first)
    with reader_of(small) as reader:
        assert paths.chain(reader, second) == [second]
        assert paths.tip(reader, "s1") == "s1"


# -- titles ------------------------------------------------------------------------------------------------------------


def test_titles_are_unique_and_short_enough(small: Path) -> None:
    made = [session(small, branch(small))["title"] for _ in range(3)]
    assert made == ["Small talk (branch)", "Small talk (branch 2)", "Small talk (branch 3)"]
    query(small, "UPDATE sessions SET title = ? WHERE id = 's1'", "w" * 100)
    long = [session(small, branch(small))["title"] for _ in range(2)]
    assert long == ["w" * 91 + " (branch)", "w" * 89 + " (branch 2)"]
    assert [len(title) for title in long] == [100, 100]


def test_an_untitled_session_lends_its_first_words(small: Path) -> None:
    query(small, "UPDATE sessions SET title = NULL")
    query(small, "UPDATE messages SET content = ? WHERE id = 1", "Book\u200b a\n\n  table")
    assert session(small, branch(small))["title"] == "Book a table (branch)"


def test_a_summary_lends_no_name_and_a_later_part_has_that_of_the_first(small: Path) -> None:
    query(small, "UPDATE sessions SET title = NULL, end_reason = 'compression'")
    add_session(small, "s2", parent_session_id="s1")
    add_row(small, "s2", content="[CONTEXT SUMMARY]: what was said")
    add_row(small, "s2", content="and now")
    with reader_of(small) as reader:
        assert paths.get_session(reader, "s2").name == "message 0"
    assert session(small, branch(small, "s2"))["title"] == "message 0 (branch)"
    query(small, "UPDATE sessions SET end_reason = NULL")
    assert session(small, branch(small, "s2"))["title"] == "and now (branch)"


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_refusals_write_nothing(small: Path) -> None:
    before = stored(small)
    with pytest.raises(NotFound):
        branch(small, "nobody")
    with pytest.raises(NotBranchable, match="2 of the 3 messages no longer exist"):
        branch(small, ids=[1, 98, 99])
    assert stored(small) == before


def test_a_store_that_cannot_tell_branches_is_refused(small: Path, tmp_path: Path) -> None:
    query(small, "ALTER TABLE sessions DROP COLUMN model_config")
    with pytest.raises(StoreReadOnly, match="branch of another"):
        branch(small)
    other = tmp_path / "other.db"
    query(other, "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, started_at REAL)")
    query(other, "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content, timestamp)")
    query(other, "INSERT INTO sessions VALUES ('s1', 'cli', 1)")
    with pytest.raises(StoreReadOnly, match="“active” flag"):
        branch(other, ids=[1])


def test_a_write_that_fails_on_the_way_leaves_no_session(small: Path) -> None:
    query(
        small,
        "CREATE TRIGGER stop BEFORE INSERT ON messages WHEN new.content = 'message 3' "
        "BEGIN SELECT RAISE(ABORT, 'the trigger refuses'); END",
    )
    before = stored(small)
    with pytest.raises(StoreError, match="the trigger refuses"):
        branch(small)
    assert stored(small) == before
