"""A Hermes store in which a column has another name: what needs it is refused in words that are true."""

from __future__ import annotations

import pytest

from tests.factories.stores import HermesStore
from tests.slow import one_in
from viewer.runs import planning, service
from viewer.runs.planning import Options
from viewer.stores.errors import StoreError
from viewer.stores.hermes.reader import open_store
from viewer.stores.hermes.writer import append

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]

UNKNOWN = "The form of this store is not known here (no {}): nothing is written to it."
UNTOLD = "The messages of this store have no “active” flag: what is in context is not known."
REFUSED = {
    "messages.tool_calls": UNKNOWN,
    "messages.tool_call_id": UNKNOWN,
    "messages.active": UNTOLD,
    "sessions.message_count": UNKNOWN,
    "sessions.end_reason": UNKNOWN,
    "compression_locks.session_id": UNKNOWN,
    "compression_locks.holder": UNKNOWN,
    "compression_locks.acquired_at": UNKNOWN,
    "compression_locks.expires_at": UNKNOWN,
    "session_turn_leases.conversation_id": UNKNOWN,
    "session_turn_leases.holder": UNKNOWN,
    "session_turn_leases.acquired_at": UNKNOWN,
    "session_turn_leases.expires_at": UNKNOWN,
}
UNUSED = [
    *(f"messages.{name}" for name in ("tool_name", "message_uid", "_compressed_summary", "finish_reason")),
    *(f"sessions.{name}" for name in ("model", "title", "parent_session_id", "tool_call_count", "model_config")),
]


def rename(hermes_store: HermesStore, column: str) -> None:
    table, name = column.split(".")
    hermes_store.rows(f'ALTER TABLE {table} RENAME COLUMN "{name}" TO "{name}_2"')


@pytest.mark.parametrize("column", REFUSED)
def test_what_a_compaction_needs(chat_store: HermesStore, column: str) -> None:
    rename(chat_store, column)
    before = chat_store.rows("SELECT * FROM messages"), chat_store.rows("SELECT * FROM sessions")
    for begin in (
        lambda: planning.draft(chat_store.store, "small", Options()),
        lambda: service.start(chat_store.store, "small", Options(), apply=True),
    ):
        with pytest.raises(StoreError) as refused:
            begin()
        assert (refused.value.code, refused.value.message) == ("store_read_only", REFUSED[column].format(column))
    if column.startswith("session_turn_leases"):
        with pytest.raises(StoreError, match="is not known here"):
            append(chat_store.store, "small", [{"role": "user", "content": "x"}], now=2e9)
    assert (
        chat_store.rows("SELECT * FROM messages"),
        chat_store.rows("SELECT * FROM sessions"),
    ) == before
    with open_store(chat_store.store) as reader:
        assert reader.session("small").title == "Small"
        assert reader.presence("small").holder is None and reader.presence("small").turn is None
        assert len(reader.raw("small", before=None, limit=100)) == 80


@pytest.mark.parametrize("column", one_in(3, UNUSED))
def test_what_it_does_without(chat_store: HermesStore, column: str) -> None:
    rename(chat_store, column)
    before = chat_store.live()
    run = service.start(chat_store.store, "small", Options(), apply=True)
    assert (run.status, run.error_message) == ("applied", "")
    assert run.handoff_id and len(chat_store.live()) < len(before)
    service.undo(chat_store.store, "small", run.handoff_id)
    assert chat_store.live() == before


def test_a_session_whose_parent_is_gone(chat_store: HermesStore) -> None:
    """It is a conversation of its own, that can be compacted."""
    chat_store.rows("PRAGMA foreign_keys = OFF")
    chat_store.rows("UPDATE sessions SET parent_session_id = 'nobody'")
    before = chat_store.live()
    with open_store(chat_store.store) as reader:
        assert [facts.id for facts in reader.listing.sessions(["small"]).values()] == ["small"]
        assert reader.session("small").parts == 1
    run = service.start(chat_store.store, "small", Options(), apply=True)
    assert (run.status, run.error_message) == ("applied", "")
    assert run.handoff_id
    service.undo(chat_store.store, "small", run.handoff_id)
    assert chat_store.live() == before
