"""Compaction by splitting: what the new session holds, that the old one stays as it is, what is refused."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agents.hermes.at_work import HermesAtWork
from tests.factories.locks import turn_lease
from tests.factories.messages import HANDOFF
from tests.factories.session_lists import tips
from tests.factories.stores import add_row, add_session, reader_of, small_talk, store_at
from tests.slow import slow
from tests.store.commits import planned, steps_for
from tests.store.tables import COPIED, SESSIONS, path, query, rows, session, stored, version
from viewer.stores import lock_owners
from viewer.stores.errors import CompactionConflict, SessionBusy, StoreError, StoreReadOnly
from viewer.stores.hermes import branch, commit, encode, paths, plan, presence
from viewer.stores.hermes.messages import history_messages, read_history
from viewer.stores.hermes.reader import HermesReader as Reader
from viewer.stores.message import HistoryMessage

__all__ = ["path", "version"]  # fixtures

NOW = 1_800_000_000.5


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A store of our own with one session of eight messages."""
    return small_talk(tmp_path / "small.db", 8)


def split(path: Path, snapshot: plan.Snapshot, steps: list[encode.Step], lease: bool = True) -> commit.BlockCommit:
    store, holder = store_at(path), lock_owners.new_holder()
    presence.take_lock(store, snapshot.session_id, holder)
    try:
        if not lease:
            return branch.split(store, snapshot, steps, lock_holder=holder, lease_holder=holder, now=NOW)
        with turn_lease(store, snapshot.session_id) as held:
            return branch.split(store, snapshot, steps, lock_holder=holder, lease_holder=held, now=NOW)
    finally:
        presence.release_lock(store, snapshot.session_id, holder)


def small_split(path: Path) -> commit.BlockCommit:
    snapshot = planned(path, "s1")
    return split(path, snapshot, steps_for(snapshot, head=2, tail=2))


def test_the_new_session_holds_the_compacted_context(path: Path, version: int) -> None:
    source = SESSIONS[version]
    before, snapshot = rows(path, source), planned(path, source)
    done = split(path, snapshot, steps_for(snapshot))
    after = rows(path, done.new_session_id)
    assert (after[:2], after[2][:2], after[3:]) == (before[:2], ("user", HANDOFF["content"]), before[-30:])
    assert [row[0] for row in rows(path, done.new_session_id, "id", "1")] == list(done.block_ids)
    assert done.handoff_id == done.block_ids[2]
    assert done.copies == dict(
        zip(
            [row[0] for row in snapshot.rows[:2] + snapshot.rows[-30:]],
            (*done.block_ids[:2], *done.block_ids[3:]),
            strict=True,
        )
    )
    assert query(path, "PRAGMA integrity_check") == [("ok",)]


def test_the_old_session_is_ended_and_nothing_else_changes(path: Path, version: int) -> None:
    source = SESSIONS[version]
    before, old = stored(path), session(path, source)
    done = split(path, planned(path, source), steps_for(planned(path, source)))
    after = stored(path, but=done.new_session_id)
    locks = ("compression_locks", "session_turn_leases", "sessions")
    assert {name: found for name, found in after.items() if name not in locks} == {
        name: found for name, found in before.items() if name not in locks
    }
    assert session(path, source) == old | {"ended_at": NOW, "end_reason": "compression"}
    assert [row for row in after["sessions"] if row[0] != source] == [r for r in before["sessions"] if r[0] != source]


def test_its_session_goes_on_as_the_owner_would_go_on(path: Path, version: int) -> None:
    source = SESSIONS[version]
    old = session(path, source)
    found = session(path, split(path, planned(path, source), steps_for(planned(path, source))).new_session_id)
    number = int(old["title"].rpartition(" #")[2]) if " #" in old["title"] else 1
    assert found["title"] == f"{old['title'].split(' #')[0]} #{number + 1}"
    assert (found["parent_session_id"], found["started_at"], found["ended_at"]) == (source, NOW, None)
    assert found["model_config"] == old["model_config"]
    same = ("source", "model", "cwd", "system_prompt", "system_prompt_hash", "session_key", "chat_id", "chat_type")
    assert {name: found[name] for name in same if name in found} == {n: old[n] for n in same if n in old}
    assert found["message_count"] == 33
    calls = sum(len(json.loads(row[2] or "[]")) for row in rows(path, found["id"]))
    assert found["tool_call_count"] == calls


def test_all_that_ties_it_to_its_chat_goes_along_but_no_mark_and_no_measure(small: Path) -> None:
    config = {
        "max_iterations": 90, "onboarding_run": {"step": 2}, "codex_thread_id": "t-1", "_branched_from": "other",
        "_delegate_from": "other", "_proactive_prune_rearm_tokens": 9,
    }  # fmt: skip
    query(
        small,
        "UPDATE sessions SET model_config = ?, session_key = 'agent:main:telegram:1', chat_id = '1', chat_type = 'dm', "
        "thread_id = '2', origin_json = '{}', display_name = 'Ana', user_id = 'ana', pinned = 1, archived = 1, "
        "title_source = 'llm', input_tokens = 7, compression_ineffective_count = 2, last_activity_at = 3",
        json.dumps(config),
    )
    found = session(small, small_split(small).new_session_id)
    assert json.loads(found["model_config"]) == {"max_iterations": 90, "onboarding_run": {"step": 2}}
    tied = (
        "session_key",
        "chat_id",
        "chat_type",
        "thread_id",
        "origin_json",
        "display_name",
        "user_id",
        "title_source",
    )
    assert [found[name] for name in tied] == ["agent:main:telegram:1", "1", "dm", "2", "{}", "Ana", "ana", "llm"]
    assert (found["pinned"], found["archived"]) == (1, 1)
    assert (found["input_tokens"], found["compression_ineffective_count"], found["last_activity_at"]) == (0, 0, None)


def test_the_next_part_of_a_chain_is_numbered_on(small: Path) -> None:
    titles = []
    last = "s1"
    for _ in range(3):
        snapshot = planned(small, last)
        last = split(small, snapshot, steps_for(snapshot, head=1, tail=1)).new_session_id
        titles.append(session(small, last)["title"])
    assert titles == ["Small talk #2", "Small talk #3", "Small talk #4"]
    with reader_of(small) as reader:
        assert paths.tip(reader, "s1") == last and len(paths.chain(reader, last)) == 4
        assert paths.lease_key(reader, last) == "s1"
        assert tips(reader) == [last]


def test_titles_that_are_taken_long_or_missing(small: Path) -> None:
    add_session(small, "other", title="Small talk #2")
    assert session(small, small_split(small).new_session_id)["title"] == "Small talk #3"
    for title, expected in (("w" * 100, "w" * 97 + " #2"), (None, None)):
        add_session(small, f"titled {expected}", title=title)
        add_row(small, f"titled {expected}", content="a", timestamp=3.0)
        snapshot = planned(small, f"titled {expected}")
        done = split(small, snapshot, [encode.New(HANDOFF)])
        assert session(small, done.new_session_id)["title"] == expected


def test_rows_that_arrived_meanwhile_go_along_behind(small: Path) -> None:
    snapshot = planned(small, "s1")
    late = [add_row(small, content=f"late {number}", timestamp=30.0) for number in range(2)]
    done = split(small, snapshot, steps_for(snapshot, head=1, tail=2))
    assert [row[1] for row in rows(small, done.new_session_id)][-2:] == ["late 0", "late 1"]
    assert list(done.copies)[-2:] == late
    assert [row[1] for row in rows(small, "s1")][-2:] == ["late 0", "late 1"], "they stay where they were, too"
    with reader_of(small) as reader:
        texts = [entry.id for entry in read_history(reader, done.new_session_id).entries]
    assert len(texts) == 10, "each message once, over both parts"


# -- refusals ----------------------------------------------------------------------------------------------------------


def unchanged(path: Path, snapshot: plan.Snapshot, kind: type[StoreError], match: str, **options: Any) -> None:
    before = stored(path)
    with pytest.raises(kind, match=match):
        split(path, snapshot, steps_for(snapshot, head=1, tail=1), **options)
    assert stored(path) == before


def test_a_planned_row_that_changed_is_a_conflict(small: Path) -> None:
    snapshot = planned(small, "s1")
    query(small, "UPDATE messages SET content = 'longer than it was' WHERE id = 3")
    unchanged(small, snapshot, CompactionConflict, "1 of the 8 planned messages")


def test_it_needs_lock_and_lease(small: Path) -> None:
    snapshot = planned(small, "s1")
    unchanged(small, snapshot, SessionBusy, "hold on this session was lost", lease=False)
    before = stored(small)
    with turn_lease(store_at(small), "s1") as lease, pytest.raises(SessionBusy, match="hold on this session was lost"):
        branch.split(store_at(small), snapshot, [], lock_holder="me", lease_holder=lease, now=time.time())
    assert stored(small) == before


def test_a_session_that_was_split_already_is_a_conflict(small: Path) -> None:
    snapshot = planned(small, "s1")
    small_split(small)
    unchanged(small, snapshot, CompactionConflict, "gone on in another session")


@pytest.mark.parametrize(
    ("columns", "child", "refused"),
    [
        ({"end_reason": "cli_close"}, None, False),
        ({"end_reason": "session_reset", "session_key": "agent:main:telegram:1"}, None, True),
        ({"end_reason": "branched"}, "{}", True),
        ({"end_reason": "branched"}, '{"_branched_from": "s1"}', False),
        ({"end_reason": None}, "{}", True),
    ],
)
def test_an_end_that_others_follow_is_not_overwritten(
    small: Path, columns: dict[str, Any], child: str | None, refused: bool
) -> None:
    for name, value in ({"ended_at": 5.0} | columns).items():
        query(small, f"UPDATE sessions SET {name} = ? WHERE id = 's1'", value)
    if child is not None:
        add_session(small, "next", parent_session_id="s1", model_config=child)
    if refused:
        unchanged(small, planned(small, "s1"), CompactionConflict, "join it to what came after")
    else:
        assert small_split(small).new_session_id


def test_a_store_without_locks_is_refused(small: Path) -> None:
    snapshot = planned(small, "s1")
    query(small, "ALTER TABLE sessions RENAME COLUMN model_config TO config")
    unchanged(small, snapshot, StoreReadOnly, "branch of another")


def test_a_write_that_fails_on_the_way_leaves_no_session(small: Path) -> None:
    query(
        small,
        "CREATE TRIGGER stop BEFORE UPDATE OF end_reason ON sessions BEGIN SELECT RAISE(ABORT, 'not today'); END",
    )
    unchanged(small, planned(small, "s1"), StoreError, "not today")


def test_columns_that_changed_go_into_the_new_session_alone(small: Path) -> None:
    snapshot = planned(small, "s1")
    changed = encode.CloneChanged(snapshot.rows[1][0], {"content": "shorter"}, "under")
    done = split(small, snapshot, [encode.Clone(snapshot.rows[0][0]), changed, encode.New(HANDOFF)])
    assert [row[1] for row in rows(small, done.new_session_id)] == ["message 0", "shorter", HANDOFF["content"]]
    assert [row[1] for row in rows(small, "s1", COPIED)] == [f"message {number}" for number in range(8)]


@pytest.mark.parametrize("kept", [7, *slow(0, 30)])
def test_history_shows_each_message_once_when_the_agent_rewrites_a_shortened_part(
    path: Path, version: int, kept: int
) -> None:
    """Rewound to `kept` of the copies, gone on, written anew: head and handoff of the block are deleted then."""
    done = split(path, planned(path, SESSIONS[version]), steps_for(planned(path, SESSIONS[version])))
    agent = HermesAtWork(path, done.new_session_id)
    if kept < 30:
        agent.rewind(done.block_ids[3 + kept])
    agent.say("Something else, then.", "Fine.")
    with reader_of(path) as reader:
        before = told(reader, done.new_session_id)
    agent.replace([row[1:] for row in agent.rows()], active_only=True)
    with reader_of(path) as reader:
        assert told(reader, done.new_session_id) == before


def told(reader: Reader, session_id: str) -> list[tuple[str, Any]]:
    """State and text of each message of History."""
    shown = history_messages(reader, read_history(reader, session_id).entries)
    return [(item.entry.state, item.content) for item in shown if isinstance(item, HistoryMessage)]
