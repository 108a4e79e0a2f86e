"""Writing to a store on PostgreSQL leaves what writing to SQLite leaves, or nothing at all."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pytest_django import Settings

from tests.factories import postgres_stores
from tests.factories.locks import turn_lease
from tests.factories.messages import HANDOFF
from viewer.stores import lock_owners
from viewer.stores.base import Store
from viewer.stores.errors import (
    CompactionConflict,
    SessionBusy,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
    TitleTaken,
    WriteDisturbed,
)
from viewer.stores.hermes import branch as hermes_branch
from viewer.stores.hermes import (
    commit,
    encode,
    listing,
    messages,
    plan,
    postgres_transaction,
    practice,
    presence,
    schema,
    schema_postgres,
    undo,
    writer,
)
from viewer.stores.hermes.dialect import StoreConnection
from viewer.stores.hermes.presence import compact_reason
from viewer.stores.hermes.reader import open_store
from viewer.stores.hermes.transaction import write

COLUMNS = (
    "id, session_id, role, content, tool_calls, tool_call_id, tool_name, active, compacted, _compressed_summary, "
    "finish_reason, reasoning"
)
NOW = 1.79e9


@pytest.fixture
def twins(postgres: str, tmp_path: Path) -> tuple[Store, Store]:
    """A store of each kind with the same session of forty messages."""
    path = tmp_path / "lite.db"
    schema.create(path)
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("INSERT INTO sessions (id, source, model, title, started_at) VALUES ('s', 'cli', 'gpt-4o', 'T', 1)")
        con.executemany(
            "INSERT INTO messages (session_id, role, content, timestamp, message_uid) VALUES ('s', ?, ?, ?, ?)",
            [
                (("user", "assistant")[at % 2], text, 1.7e9 + at, f"u{at}")
                for at, text in enumerate(
                    ['\x00json:[{"type": "text", "text": "hi"}]', *map("message {}".format, range(39))]
                )
            ],
        )
    return Store("lite", f"sqlite:///{path}", "configured"), postgres_stores.filled(postgres, path)


def all_rows(store: Store) -> list[Any]:
    with open_store(store) as reader:
        counters = reader.con.execute(
            "SELECT id, title, archived, message_count FROM sessions ORDER BY rowid"
        ).fetchall()
        rows = reader.con.execute(f"SELECT {COLUMNS} FROM messages ORDER BY id").fetchall()
        held = [
            reader.con.execute(f"SELECT * FROM {table}").fetchall()
            for table in ("compression_locks", "session_turn_leases")
        ]
    return [[tuple(row) for row in counters], [tuple(row) for row in rows], held]


def held(store: Store, work: Callable[..., Any]) -> Any:
    holder = lock_owners.new_holder()
    presence.take_lock(store, "s", holder)
    try:
        with turn_lease(store, "s") as lease:
            return work(lock_holder=holder, lease_holder=lease)
    finally:
        presence.release_lock(store, "s", holder)


def compacted(store: Store, planned: plan.Snapshot | None = None) -> tuple[plan.Snapshot, commit.BlockCommit]:
    if planned is None:
        with open_store(store) as reader:
            planned = plan.snapshot(reader, "s")
    ids = [row[0] for row in planned.rows]
    changed = encode.CloneChanged(ids[-9], {"content": [{"type": "text", "text": "short"}]}, "under")
    steps: list[encode.Step] = [encode.Clone(ids[0]), encode.New(HANDOFF), changed, *map(encode.Clone, ids[-8:])]
    return planned, held(store, partial(commit.commit, store, planned, steps, now=NOW))


def test_compacting_appending_and_undoing_leave_the_same_rows(twins: tuple[Store, Store]) -> None:
    done = []
    for store in twins:
        planned, commit = compacted(store)
        after = all_rows(store)
        appended = writer.append(store, "s", [{"role": "user", "content": "more"}], now=NOW + 1)
        originals = {row[0]: commit.copies.get(row[0]) for row in planned.rows} | dict(commit.copies)
        what = undo.Undoing("s", commit.handoff_id, commit.block_ids, originals)
        outlook = held(store, partial(undo.undo, store, what))
        with open_store(store) as reader:
            again = undo.check_undo(reader, what).refusal
            history = messages.read_history(reader, "s")
        done.append((commit.block_ids, commit.copies, after, appended, outlook, again, history, all_rows(store)))
    lite, pg = done
    for name, one, other in zip(
        ["block", "copies", "after", "appended", "outlook", "again", "history", "end"], lite, pg, strict=True
    ):
        assert other == one, name
    assert len(pg[0]) == 11 and pg[3] == [52] and len(pg[4].restored) == 40
    assert pg[5] == "This compaction is not in effect any more."


def test_the_rest_of_what_is_written(twins: tuple[Store, Store]) -> None:
    ends = []
    for store in twins:
        writer.rename(store, "s", "Another title")
        writer.set_archived(store, "s", True)
        made = writer.create(
            store,
            now=NOW,
            title="Made",
            messages=[{"role": "user", "content": [{"type": "text", "text": "\x00 \ud800"}]}],
        )
        with pytest.raises(TitleTaken):
            writer.create(store, now=NOW, title="Made")
        with pytest.raises(TitleTaken, match="already named"):
            writer.rename(store, made, "Another title")
        branch = hermes_branch.branch(store, "s", [1, 2, 40], now=NOW)
        planned, commit = split(store)
        ids = {made: "made", branch: "branch", commit.new_session_id: "part"}
        rows = all_rows(store)
        ends.append([[tuple(ids.get(value, value) for value in row) for row in table] for table in rows[:2]])
    assert ends[0][0] == ends[1][0]
    assert ends[0][1] == ends[1][1]
    assert {row[0] for row in ends[1][0]} == {"s", "made", "branch", "part"}


def split(store: Store) -> tuple[plan.Snapshot, commit.BlockCommit]:
    with open_store(store) as reader:
        planned = plan.snapshot(reader, "s")
    steps: list[encode.Step] = [encode.New(HANDOFF), *(encode.Clone(row[0]) for row in planned.rows[-5:])]
    return planned, held(store, partial(hermes_branch.split, store, planned, steps, now=NOW))


def test_what_changed_since_the_plan_is_a_conflict(twins: tuple[Store, Store]) -> None:
    store = twins[1]
    with open_store(store) as reader:
        planned = plan.snapshot(reader, "s")
    postgres_stores.owner(store, "UPDATE messages SET content = content || '!' WHERE id = 20")
    before = all_rows(store)
    with pytest.raises(CompactionConflict, match="1 of the 40"):
        compacted(store, planned)
    assert all_rows(store) == before


def test_a_message_that_arrives_meanwhile_stays_behind_the_block(twins: tuple[Store, Store]) -> None:
    store = twins[1]
    with open_store(store) as reader:
        planned = plan.snapshot(reader, "s")
    postgres_stores.owner(
        store, "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'late', 2)"
    )
    _, commit = compacted(store, planned)
    with open_store(store) as reader:
        assert [row.content for row in messages.live_context(reader, "s")][-1] == "late"
    assert len(commit.block_ids) == 12


def test_a_lock_of_another_program_is_respected(twins: tuple[Store, Store]) -> None:
    store = twins[1]
    postgres_stores.owner(store, "INSERT INTO compression_locks VALUES ('s', 'pid=1:agent=other', 1, 1e12)")
    with pytest.raises(SessionBusy, match="agent=other"):
        presence.take_lock(store, "s", lock_owners.new_holder())


def test_who_writes_is_waited_for_and_then_refused(twins: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    store = twins[1]
    before = all_rows(store)
    monkeypatch.setattr(postgres_transaction, "PATIENCE", 0.0)
    monkeypatch.setattr(postgres_transaction, "TURN", 50)
    with psycopg.connect(store.url) as con:
        con.execute("UPDATE messages SET content = 'theirs' WHERE id = 1")
        with pytest.raises(StoreUnavailable, match="stayed locked by another program"):
            writer.rename(store, "s", "ours")
        con.rollback()
    assert all_rows(store) == before
    monkeypatch.setattr(postgres_transaction, "PATIENCE", 20.0)
    with psycopg.connect(store.url) as con:
        con.execute("UPDATE messages SET content = 'theirs' WHERE id = 1")
        threading.Timer(0.3, con.commit).start()
        writer.rename(store, "s", "ours")
    assert all_rows(store)[0][0][1] == "ours"


def test_nobody_writes_between_the_check_and_the_commit(twins: tuple[Store, Store]) -> None:
    store = twins[1]
    with write(store) as con:
        live = con.execute("SELECT count(*) FROM messages WHERE active = 1").fetchone()[0]
        with psycopg.connect(store.url) as other:
            other.execute("SET lock_timeout = '100ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.execute("UPDATE messages SET active = 0")
        con.execute("UPDATE sessions SET message_count = ?", [live])
    assert all_rows(store)[0][0][3] == 40


def test_an_exception_takes_everything_back(twins: tuple[Store, Store]) -> None:
    store = twins[1]
    before = all_rows(store)
    with pytest.raises(RuntimeError), write(store) as con:
        con.execute("UPDATE messages SET active = 0")
        raise RuntimeError
    assert all_rows(store) == before


@pytest.mark.parametrize("committed", [False, True])
def test_a_commit_whose_answer_is_lost_is_not_told_the_wrong_way(
    twins: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    """The connection is cut right before, or right behind, the server's COMMIT."""
    store = twins[1]

    def cut(con: StoreConnection) -> None:
        pid = con.execute("SELECT pg_backend_pid()").fetchone()[0]
        if committed:
            con.execute("COMMIT")
        postgres_stores.owner(store, "SELECT pg_terminate_backend(%s, 5000)", pid)

    def renamed() -> None:
        with write(store) as con:
            con.execute("UPDATE sessions SET title = 'ours'")
            cut(con)

    if committed:
        renamed()
    else:
        with pytest.raises(StoreUnavailable, match="connection to store pg was lost.*Nothing was written"):
            renamed()
    assert all_rows(store)[0][0][1] == ("ours" if committed else "T")


def test_ids_are_given_in_the_order_of_commits(twins: tuple[Store, Store]) -> None:
    """A reader that has seen id 42 never meets a new 41 later."""
    store = twins[1]
    insert = "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', %s, 1) RETURNING id"
    found: dict[str, int] = {}

    def say(text: str, wait: float) -> None:
        with psycopg.connect(store.url) as con:
            found[text] = con.execute(insert, [text]).fetchone()[0]  # type: ignore[index]
            time.sleep(wait)

    first = threading.Thread(target=say, args=("slow", 0.5))
    first.start()
    while "slow" not in found:
        time.sleep(0.01)
    say("quick", 0.0)
    with open_store(store) as reader:
        seen = [row.content for row in messages.live_context(reader, "s")]
    first.join()
    assert found["slow"] < found["quick"] and seen[-2:] == ["slow", "quick"]


def test_a_user_who_may_only_read_is_told_so(twins: tuple[Store, Store]) -> None:
    store = twins[1]
    [(schema,)] = postgres_stores.owner(store, "SELECT current_schema()")
    postgres_stores.owner(store, "CREATE ROLE looker LOGIN")
    postgres_stores.owner(store, f"GRANT USAGE ON SCHEMA {schema} TO looker")
    postgres_stores.owner(store, f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO looker")
    looker = Store("pg", store.url.replace("postgres:@", "looker@"), "configured")
    with open_store(looker) as reader:
        assert compact_reason(reader) == "The user of this store's URL may not write to its tables."
        assert len(messages.live_context(reader, "s")) == 40
    with pytest.raises(StoreReadOnly, match="may not write"):
        writer.rename(looker, "s", "x")


def test_the_rights_that_are_documented_are_enough(twins: tuple[Store, Store]) -> None:
    store = twins[1]
    [(schema,)] = postgres_stores.owner(store, "SELECT current_schema()")
    for sql in (
        "CREATE ROLE scribe LOGIN",
        f"GRANT USAGE ON SCHEMA {schema} TO scribe",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO scribe",
        "GRANT INSERT, UPDATE ON sessions, messages, messages_fts TO scribe",
        "GRANT INSERT, UPDATE, DELETE ON compression_locks, session_turn_leases TO scribe",
    ):
        postgres_stores.owner(store, sql)
    scribe = Store("pg", store.url.replace("postgres:@", "scribe@"), "configured")
    with open_store(scribe) as reader:
        assert compact_reason(reader) == ""
        assert listing.given_id(reader) == 40
    compacted(scribe)
    writer.rename(scribe, "s", "theirs")
    assert writer.append(scribe, "s", [{"role": "user", "content": "more"}], now=NOW) == [52]


@pytest.mark.parametrize("kind", [0, 1])
def test_a_session_can_be_practised_on_in_the_demo_store(twins: tuple[Store, Store], tmp_path: Path, kind: int) -> None:
    demo = tmp_path / "demo.db"
    schema.create(demo)
    with open_store(twins[kind]) as source:
        session_id = practice.copy_session(source, "s", demo, now=NOW)
        said = [(row.role, row.content, row.state) for row in messages.live_context(source, "s")]
    with open_store(Store("demo", f"sqlite:///{demo}", "demo")) as reader:
        assert [(row.role, row.content, row.state) for row in messages.live_context(reader, session_id)] == said
        assert said[0][1] == [{"type": "text", "text": "hi"}]


def test_a_store_is_made_once(twins: tuple[Store, Store]) -> None:
    with pytest.raises(StoreError, match="tables of these names already.*messages"):
        schema_postgres.create("pg", twins[1].url)
    assert all_rows(twins[1])[0][0][1] == "T"


@pytest.mark.django_db
def test_a_run_on_the_site(twins: tuple[Store, Store], settings: Settings, tmp_path: Path, at_once: None) -> None:
    from viewer.runs import service
    from viewer.runs.models import Run
    from viewer.runs.planning import Options

    settings.DEMO_STORE = tmp_path / "no-demo.db"
    store = twins[1]
    settings.STORES = {"pg": store.url}
    for at in range(60):
        writer.append(
            store,
            "s",
            [{"role": ("user", "assistant")[at % 2], "content": f"{at} " + "long words " * 200}],
            now=NOW + at,
        )
    before = all_rows(store)[1]
    run = service.start(store, "s", Options(), apply=True)
    run = Run.objects.get(pk=run.pk)
    assert run.status == "applied", run.error_message
    assert all_rows(store)[1] != before
    service.undo_run(run)
    live = [row for row in all_rows(store)[1] if row[7] == 1]
    assert live == [row for row in before if row[7] == 1]
    assert all_rows(store)[2] == [[], []]


@pytest.mark.parametrize(
    "act",
    [
        "DELETE FROM messages WHERE id = (SELECT MIN(id) FROM messages)",
        "INSERT INTO sessions (id, source, started_at) VALUES ('more' || NEW.id, 'cli', 1)",
    ],
)
def test_a_foreign_trigger_leaves_nothing_written(twins: tuple[Store, Store], act: str) -> None:
    store = twins[1]
    before = all_rows(store)
    postgres_stores.owner(
        store,
        f"CREATE FUNCTION evil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {act}; RETURN NULL; END $$; "
        "CREATE TRIGGER evil AFTER INSERT ON messages FOR EACH ROW EXECUTE FUNCTION evil()",
    )
    said = [{"role": "user", "content": "Go on."}]
    for write_it in (
        lambda: writer.append(store, "s", said, now=NOW),
        lambda: writer.create(store, now=NOW, messages=said),
        lambda: hermes_branch.branch(store, "s", [1, 2, 40], now=NOW),
    ):
        with pytest.raises(WriteDisturbed, match="Nothing was written"):
            write_it()
    assert all_rows(store) == before
