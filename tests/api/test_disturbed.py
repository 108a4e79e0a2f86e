"""Stores that do not do what is written to them: triggers nobody here knows, columns that are missing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients import ApiClient, session_path
from tests.factories.stores import HermesStore
from tests.slow import one_in

TRIGGERS = {
    "what is written goes": "AFTER INSERT ON messages BEGIN DELETE FROM messages WHERE id = new.id; END",
    "it is not written": "BEFORE INSERT ON messages BEGIN SELECT RAISE(IGNORE); END",
    "another row comes": "AFTER INSERT ON messages WHEN new.content IS NOT 'more' BEGIN INSERT INTO messages "
    "(session_id, role, content, timestamp) VALUES (new.session_id, 'user', 'more', 1.0); END",
    "a row of another session comes": "AFTER INSERT ON messages WHEN new.content IS NOT 'more' BEGIN INSERT INTO "
    "messages (session_id, role, content, timestamp) SELECT id, 'user', 'more', 1.0 FROM sessions "
    "WHERE id <> new.session_id LIMIT 1; END",
    "rows of others go": "AFTER INSERT ON messages BEGIN DELETE FROM messages WHERE id = "
    "(SELECT MIN(id) FROM messages WHERE session_id <> new.session_id); END",
    "sessions come": "AFTER INSERT ON messages WHEN NOT EXISTS (SELECT 1 FROM sessions WHERE id = 'more') BEGIN "
    "INSERT INTO sessions (id, source, started_at) VALUES ('more', 'cli', 1.0); END",
}
ON_UPDATE = {
    "rows go": "AFTER UPDATE ON {} BEGIN DELETE FROM messages WHERE id = (SELECT MIN(id) FROM messages); END",
    "rows come": "AFTER UPDATE ON {} WHEN (SELECT COUNT(*) FROM messages WHERE content = 'more') = 0 BEGIN INSERT INTO "
    "messages (session_id, role, content, timestamp) SELECT id, 'user', 'more', 1.0 FROM sessions LIMIT 1; END",
}
pytestmark = pytest.mark.usefixtures("at_once")
SAID = {"messages": [{"role": "user", "content": "Go on."}]}


def everything(hermes_store: HermesStore) -> list[Any]:
    return [hermes_store.rows(f"SELECT * FROM {table} ORDER BY rowid") for table in ("messages", "sessions")]


def refused(answer: tuple[int, Any]) -> tuple[int, str]:
    assert answer[1]["error"]["message"].endswith("."), answer
    return answer[0], answer[1]["error"]["code"]


@pytest.mark.parametrize("trigger", one_in(2, TRIGGERS))
def test_a_foreign_trigger_on_what_is_written_leaves_nothing_written(
    hermes_store: HermesStore, api_client: ApiClient, trigger: str, caplog: pytest.LogCaptureFixture
) -> None:
    path, before = session_path(hermes_store), everything(hermes_store)
    status, ready = api_client.call("POST", f"{path}/runs", {})
    assert (status, ready["status"]) == (202, "ready")
    hermes_store.rows(f"CREATE TRIGGER evil {TRIGGERS[trigger]}")
    assert refused(api_client.call("POST", f"{path}/messages", SAID)) == (409, "write_disturbed")
    assert refused(api_client.call("POST", "/stores/hermes/sessions", SAID)) == (409, "write_disturbed")
    assert refused(api_client.call("POST", f"{path}/branches")) == (409, "write_disturbed")
    status, run = api_client.call("POST", f"/runs/{ready['id']}/apply")
    assert (status, run["status"], run["error"]["code"]) == (202, "ready", "write_disturbed")  # the summary is kept
    assert "trigger" in run["error"]["message"] and "Traceback" not in caplog.text
    status, run = api_client.call("POST", f"{path}/runs", {"apply": True, "mode": "split"})
    assert (status, run["status"], run["error"]["code"]) == (202, "ready", "write_disturbed")
    assert everything(hermes_store) == before and not hermes_store.holders("compression_locks")


@pytest.mark.parametrize("trigger", ON_UPDATE)
def test_a_foreign_trigger_on_what_is_changed_leaves_nothing_changed(
    hermes_store: HermesStore, api_client: ApiClient, trigger: str
) -> None:
    path = session_path(hermes_store)
    status, applied = api_client.call("POST", f"{path}/runs", {"apply": True})
    assert (status, applied["status"]) == (202, "applied")
    before = everything(hermes_store)
    for table, calls in (
        ("sessions", [("PATCH", path, {"title": "New"}), ("PATCH", path, {"archived": True})]),
        ("messages", [("POST", f"/runs/{applied['id']}/undo", {})]),
    ):
        hermes_store.rows(f"CREATE TRIGGER evil {ON_UPDATE[trigger].format(table)}")
        for call in calls:
            assert refused(api_client.call(*call)) == (409, "write_disturbed"), call
        hermes_store.rows("DROP TRIGGER evil")
    assert everything(hermes_store) == before
    assert api_client.call("POST", f"/runs/{applied['id']}/undo")[0] == 200


@pytest.mark.parametrize(
    ("table", "column", "code"),
    [
        ("messages", "content", "store_unavailable"),
        ("messages", "role", "store_unavailable"),
        ("sessions", "end_reason", "store_read_only"),
        ("messages", "active", "store_read_only"),
        ("messages", "tool_calls", "store_read_only"),
    ],
)
def test_what_a_store_has_no_place_for_is_refused(
    hermes_store: HermesStore, api_client: ApiClient, table: str, column: str, code: str
) -> None:
    """Nothing of a message is dropped, and nothing is written where reading would be refused."""
    for (name,) in hermes_store.rows("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
        hermes_store.rows(f"DROP TRIGGER {name}")
    for (name,) in hermes_store.rows("SELECT name FROM sqlite_master WHERE type = 'view'"):
        hermes_store.rows(f"DROP VIEW {name}")
    hermes_store.rows(f"ALTER TABLE {table} RENAME COLUMN {column} TO other")
    path, before = session_path(hermes_store), everything(hermes_store)
    call = {"id": "c", "type": "function", "function": {"name": "terminal", "arguments": "{}"}}
    turn = {"messages": [*SAID["messages"], {"role": "assistant", "tool_calls": [call]}]}
    status = {"store_unavailable": 503, "store_read_only": 409}[code]
    assert refused(api_client.call("POST", f"{path}/messages", turn)) == (status, code)
    if code == "store_unavailable":
        assert refused(api_client.call("POST", "/stores/hermes/sessions", SAID)) == (status, code)
        assert refused(api_client.call("PATCH", path, {"title": "New"})) == (status, code)
    if column != "tool_calls":
        assert refused(api_client.call("POST", f"{path}/branches")) == (status, code)
    assert everything(hermes_store) == before
