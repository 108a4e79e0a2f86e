"""What is written to OpenClaw's tables, row by row, and what speaks against writing."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agents.openclaw.by_hand import SECRET, OpenClawByHand, OpenClawFilesByHand, tables
from tests.agents.pi.by_hand import said
from tests.agents.reading import opened, sent, store_of
from tests.agents.talk import heard, talk
from tests.agents.writing import compacted, undo
from viewer.stores.changes import Commit
from viewer.stores.errors import (
    CompactionConflict,
    NotRedoable,
    NotUndoable,
    SessionBusy,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
)
from viewer.stores.lock_owners import new_holder
from viewer.stores.openclaw import database
from viewer.stores.registry import writer_of
from viewer.stores.sqlite import writing
from viewer.stores.trees import commit as commits

ASKED = {"role": "user", "content": "And now?"}


@pytest.fixture
def agent(tmp_path: Path) -> OpenClawByHand:
    made = OpenClawByHand(tmp_path / ".openclaw")
    made.write("s", talk(8))
    return made


def redo(agent: OpenClawByHand, commit: Commit) -> None:
    writer_of(store_of(agent)).redo(agent.id_of("s"), commit.receipt, holder=new_holder())


def one(agent: OpenClawByHand, query: str, *values: Any) -> tuple[Any, ...]:
    (row,) = agent.sql(query, *values)
    return row


def noted(agent: OpenClawByHand) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(one(agent, "SELECT entry_json FROM session_nodes")[0])
    return found


# -- what is written ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", database.KNOWN_SCHEMAS)
def test_the_rows_of_a_compaction(tmp_path: Path, schema: int) -> None:
    agent = OpenClawByHand(tmp_path / "home", schema)
    agent.write("s", talk(8))
    before, ends = agent.entries("s"), one(agent, "SELECT * FROM session_transcript_index_state")
    changed = one(agent, "SELECT transcript_updated_at FROM session_windows")[0]
    generation = one(agent, "SELECT generation FROM transcript_rewrite_watermarks")
    commit = compacted(agent)
    *same, entry = agent.entries("s")
    assert same == before and entry["type"] == "compaction" and entry["parentId"] == before[-1]["id"]
    kept = next(at for at, each in enumerate(before) if each["id"] == entry["firstKeptEntryId"])
    assert [each["type"] for each in before[kept:]] == ["message"] * (len(before) - kept) and kept > len(before) / 2
    assert entry["fromHook"] is True and entry["tokensBefore"] > entry["tokensAfter"] > 0
    row = one(agent, "SELECT * FROM transcript_event_identities ORDER BY seq DESC LIMIT 1")
    assert row[1:6] == (entry["id"], len(before), "compaction", before[-1]["id"], None)
    row = one(agent, "SELECT * FROM session_transcript_active_events ORDER BY active_position DESC LIMIT 1")
    assert row[1:] == (ends[4], len(before), None, 1)
    state = one(agent, "SELECT * FROM session_transcript_index_state")
    assert state[1:6] == (len(before), entry["id"], 0, ends[4] + 1, ends[5])
    assert one(agent, "SELECT transcript_updated_at FROM session_windows")[0] > changed
    assert one(agent, "SELECT generation FROM transcript_rewrite_watermarks") == generation, "nothing was rewritten"
    if schema == 23:
        text, size = one(agent, "SELECT event_json, event_utf8_bytes FROM transcript_events ORDER BY seq DESC LIMIT 1")
        assert size == len(text.encode())
    assert commit.handoff_id == len(before)
    assert agent.sql("PRAGMA quick_check") == [("ok",)] and agent.sql("PRAGMA user_version") == [(schema,)]


def test_the_counters(agent: OpenClawByHand) -> None:
    """By them the client decides whether a session is full."""
    full = {"totalTokens": 190_000, "totalTokensFresh": True, "compactionCount": 2, "inputTokens": 7, "cacheRead": 8,
            "contextBudgetStatus": {"a": 1}, "estimatedCostUsd": 0.5}  # fmt: skip
    more = noted(agent) | full
    agent.sql("UPDATE session_nodes SET entry_json = ?", json.dumps(more))
    agent.sql("UPDATE session_nodes SET entry_valid = 1")
    commit = compacted(agent)
    entry = agent.entries("s")[-1]
    found = noted(agent)
    assert entry["tokensBefore"] == 190_000
    assert (found["totalTokens"], found["totalTokensFresh"]) == (entry["tokensAfter"], True)
    assert found["compactionCount"] == 3 and found["systemPromptReport"] == SECRET
    assert found.keys().isdisjoint(["inputTokens", "cacheRead", "contextBudgetStatus", "estimatedCostUsd"])
    valid, updated = one(agent, "SELECT entry_valid, updated_at FROM session_nodes")
    assert valid == 1 and found["updatedAt"] == updated
    undo(agent, commit)
    assert (noted(agent)["totalTokens"], noted(agent)["compactionCount"]) == (190_000, 2)
    redo(agent, commit)
    assert noted(agent)["totalTokens"] < 10_000 and noted(agent)["compactionCount"] == 3


def test_an_undo_and_a_redo_rewrite_one_row(agent: OpenClawByHand) -> None:
    before = agent.load("s")
    commit = compacted(agent)
    short, entry = agent.load("s"), agent.entries("s")[-1]
    agent.say("s", ASKED)
    rows, index = agent.entries("s"), agent.sql("SELECT * FROM session_transcript_active_events")
    generation = one(agent, "SELECT generation FROM transcript_rewrite_watermarks")
    undo(agent, commit)
    inert = agent.entries("s")[commit.handoff_id]
    assert inert.keys() == {"type", "id", "parentId", "timestamp", "customType", "data"} and inert["type"] == "custom"
    assert (inert["id"], inert["parentId"]) == (entry["id"], entry["parentId"])
    identity = "SELECT event_type FROM transcript_event_identities WHERE event_id = ?"
    assert one(agent, identity, entry["id"]) == ("custom",)
    assert one(agent, "SELECT generation FROM transcript_rewrite_watermarks") != generation
    assert agent.load("s") == [*before, *heard([ASKED])]
    redo(agent, commit)
    assert one(agent, identity, entry["id"]) == ("compaction",)
    assert agent.entries("s") == rows and agent.load("s") == [*short, *heard([ASKED])]
    assert agent.sql("SELECT * FROM session_transcript_active_events") == index
    with opened(agent) as reader:
        assert reader.commit_state(agent.id_of("s"), commit.receipt).state == "in effect"
        assert sent(reader, agent.id_of("s")) == agent.load("s")


def test_a_compressed_compaction_of_the_clients_own_is_undone(agent: OpenClawByHand) -> None:
    before = agent.load("s")
    own = agent.append("s", "compaction", packed=True, summary="Its own.", firstKeptEntryId="none", tokensBefore=9)
    with opened(agent) as reader:
        plan = reader.undo_plan(agent.id_of("s"), {"entry": own["id"]})
    writer_of(store_of(agent)).undo(plan, holder=new_holder())
    assert agent.load("s") == before
    row = one(agent, "SELECT event_zstd, navigation_json FROM transcript_events ORDER BY seq DESC LIMIT 1")
    assert row == (None, None)


# -- what speaks against it --------------------------------------------------------------------------------------------


def refused(agent: OpenClawByHand, kind: type[StoreError], match: str, meanwhile: Callable[[], object] = str) -> None:
    """A compaction is refused, and nothing was written."""
    seen: list[Any] = []

    def between() -> None:
        meanwhile()
        seen.append(tables(agent))

    with pytest.raises(kind, match=match):
        compacted(agent, between)
    assert tables(agent) == seen[0]


def test_a_turn_that_runs(agent: OpenClawByHand) -> None:
    with agent.owned():
        compacted(agent)  # a gateway that is idle
        agent.sql("UPDATE session_nodes SET status = 'running'")
        refused(agent, SessionBusy, "runs a turn of this session")
        with opened(agent) as reader:
            assert reader.presence(agent.id_of("s")).holder is not None
        agent.sql("UPDATE session_nodes SET status = 'done'")
        agent.say("s", ASKED)
    with agent.owned(role="agent-embedded"):
        refused(agent, SessionBusy, "works on these sessions by itself")
    agent.sql("UPDATE session_nodes SET status = 'running'")  # what one left that was killed
    for left in ({"pid": 2**22 + 1}, {"startTime": 1}):
        with agent.owned(role="agent-embedded", **left), opened(agent) as reader:
            assert reader.presence(agent.id_of("s")).holder is None


@pytest.mark.parametrize("said", [None, "", '{"pid":'])
def test_an_owner_that_cannot_be_seen_from_here(agent: OpenClawByHand, said: str | None) -> None:
    """As one in another container, or one that has not said yet who it is: it keeps a database locked."""
    with agent.owned(role="agent-embedded", pid=2**22 + 1):
        if said is not None:
            (agent.root / "tmp" / f"openclaw-{os.getuid()}" / "gateway.state.lock").write_text(said)
        path = agent.root / "tmp" / f"openclaw-{os.getuid()}" / "gateway.state.lock.sqlite"
        held = sqlite3.connect(path, isolation_level=None)
        held.execute("PRAGMA locking_mode = EXCLUSIVE")
        held.execute("CREATE TABLE held (a)")
        with opened(agent) as reader:
            lock = reader.presence(agent.id_of("s")).holder
        assert lock is not None and ("does not name itself" in lock.says) == (said is not None)
        refused(agent, SessionBusy, "works on these sessions by itself")
        held.close()


@pytest.mark.parametrize(
    ("change", "kind", "match"),
    [
        ("UPDATE session_nodes SET entry_valid = 0", SessionBusy, "up to date"),
        ("UPDATE session_transcript_index_state SET needs_rebuild = 1", SessionBusy, "up to date"),
        ("UPDATE session_transcript_index_state SET indexed_seq = indexed_seq - 1", SessionBusy, "up to date"),
        ("DELETE FROM session_transcript_index_state", SessionBusy, "up to date"),
        ("UPDATE session_transcript_active_events SET context_eligible = NULL WHERE active_position = 3", SessionBusy,
         "up to date"),
        ("UPDATE session_transcript_index_state SET leaf_event_id = 'another'", SessionBusy, "from another entry"),
        ("INSERT INTO session_pending_inputs SELECT session_key, 'queued' FROM session_nodes", SessionBusy, "waits"),
        ("PRAGMA user_version = 24", StoreReadOnly, "schema 24, which is not known"),
        ("DELETE FROM session_nodes", StoreError, "no conversation|has no session|does not name this"),
    ],
)  # fmt: skip
def test_what_the_client_has_not_settled(
    agent: OpenClawByHand, change: str, kind: type[StoreError], match: str
) -> None:
    refused(agent, kind, match, lambda: agent.sql(change))


def test_what_waits_is_answered(agent: OpenClawByHand) -> None:
    agent.sql("INSERT INTO session_pending_inputs SELECT session_key, 'answered' FROM session_nodes")
    compacted(agent)


def test_a_session_that_went_on_elsewhere(agent: OpenClawByHand) -> None:
    refused(agent, CompactionConflict, "goes on in another session", lambda: agent.take_back("s"))


def test_a_rewind_leaves_a_leaf_to_go_on_from(agent: OpenClawByHand) -> None:
    agent.take_back("s")
    compacted(agent)
    with opened(agent) as reader:
        assert sent(reader, agent.id_of("s")) == agent.load("s")


def test_a_cold_session_and_one_in_a_file(agent: OpenClawByHand) -> None:
    file = agent.root / "agents" / "main" / "sessions" / "old.jsonl"
    file.parent.mkdir()
    file.write_text(json.dumps({"type": "session", "version": 3, "id": "old", "timestamp": "2026-01-01T00:00:00Z"}))
    agent.sql("INSERT INTO session_transcript_cold_archives VALUES (?, 'g', 'a', 1)", agent.id_of("s"))
    with opened(agent) as reader:
        assert "cold archive" in str(getattr(reader.refusal(agent.id_of("s")), "message", ""))
        assert "does not name this one" in str(getattr(reader.refusal("old"), "message", "")), "no key has it"
        assert reader.refusal(None) is None


def test_a_database_that_is_locked(agent: OpenClawByHand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing.writing.__wrapped__, "__defaults__", (0.05,))  # type: ignore[attr-defined]
    holding = agent.connected()
    with pytest.raises(StoreUnavailable, match="locked by another program"):
        compacted(agent, lambda: holding.execute("BEGIN IMMEDIATE"))
    holding.close()
    compacted(agent)


def test_what_does_not_read_back_is_not_written(agent: OpenClawByHand, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a trigger of somebody's changed the row."""
    name = "CREATE TRIGGER meddling AFTER INSERT ON transcript_events BEGIN UPDATE transcript_events"
    change = "SET event_json = json_set(event_json, '$.summary', 'mine') WHERE seq = NEW.seq; END"
    refused(agent, CompactionConflict, commits.NOT_AS_MEANT[:40], lambda: agent.sql(f"{name} {change}"))


def test_undo_and_redo_are_refused(agent: OpenClawByHand) -> None:
    first = compacted(agent)
    with pytest.raises(NotRedoable, match="is in effect"):
        redo(agent, first)
    for message in talk(8, "more"):
        agent.say("s", message)
    second = compacted(agent)
    with opened(agent) as reader:
        refusal = reader.undo_plan(agent.id_of("s"), first.receipt).refusal
        assert "came after this one" in refusal
    with pytest.raises(NotUndoable, match="came after this one"):
        undo(agent, first)
    undo(agent, second)
    undo(agent, first)
    third = compacted(agent)
    for each in (first, second):
        with pytest.raises(NotRedoable, match="later compaction"):
            redo(agent, each)
    undo(agent, third)
    redo(agent, first)
    with opened(agent) as reader:
        assert sent(reader, agent.id_of("s")) == agent.load("s")


def test_what_is_written_is_said_in_the_transaction_alone(agent: OpenClawByHand) -> None:
    """A commit that fails at its end leaves nothing in what this process remembers either."""
    before = agent.load("s")

    def fails(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(commits, "read_back", fails)
        with pytest.raises(StoreUnavailable, match="Nothing was written"):
            compacted(agent)
    agent.append("s", "message", message=said(ASKED))
    with opened(agent) as reader:
        assert sent(reader, agent.id_of("s")) == [*before, *heard([ASKED])]


# -- sessions in files -------------------------------------------------------------------------------------------------


@pytest.fixture
def old(tmp_path: Path) -> OpenClawFilesByHand:
    made = OpenClawFilesByHand(tmp_path / "old")
    for name in ("s", "other"):
        made.write(name, talk(8))
    return made


def test_the_counters_beside_a_file(old: OpenClawFilesByHand) -> None:
    other, mode = old.noted()["agent:main:other"], 0o600
    (old.directory / "sessions.json").chmod(mode)
    before = old.path("s").read_bytes()
    commit = compacted(old)
    entry = json.loads(old.path("s").read_bytes().removeprefix(before))
    found = old.noted()["agent:main:s"]
    assert entry["type"] == "compaction" and entry["tokensBefore"] == 150_000
    assert found["totalTokens"] < 10_000 and found["compactionCount"] == 2 and found["skillsSnapshot"] == SECRET
    assert old.noted()["agent:main:other"] == other
    assert (old.directory / "sessions.json").stat().st_mode & 0o777 == mode
    undo(old, commit)
    assert old.noted()["agent:main:s"]["compactionCount"] == 1
    assert old.noted()["agent:main:s"]["totalTokens"] > found["totalTokens"]
    assert sorted(path.suffix for path in old.directory.iterdir()) == [".json", ".jsonl", ".jsonl"]


def test_a_turn_of_any_session_beside_it(old: OpenClawFilesByHand) -> None:
    with old.compacting("other"):
        seen = old.rows()
        with pytest.raises(SessionBusy, match="runs a turn of this agent"):
            compacted(old)
        assert old.rows() == seen
        lock = old.directory / f"{old.path('other').name}.lock"
        lock.write_text(json.dumps({"pid": os.getpid(), "starttime": 1}))  # left by one that is gone
        compacted(old)


def test_an_index_that_cannot_be_changed(old: OpenClawFilesByHand) -> None:
    """What was written to the session counts all the same."""
    session = old.id_of("s")
    with opened(old) as reader:
        before = sent(reader, session)

    def damage() -> None:
        key = {"agent:main:s": {"sessionId": session, "updatedAt": [], "compactionCount": {}}}
        (old.directory / "sessions.json").write_text(json.dumps(key | {"broken": "\ud800"}))

    compacted(old, damage)
    with opened(old) as reader:
        assert sent(reader, session) == old.load("s") != before
    assert json.loads((old.directory / "sessions.json").read_text())["broken"] == "\ud800"
