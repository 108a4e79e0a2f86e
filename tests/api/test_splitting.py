"""`mode=split` by another program."""

from __future__ import annotations

import pytest

from tests.clients import ApiClient, session_path
from tests.factories.stores import HermesStore

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]


def test_the_result_goes_on_in_a_new_session(hermes_store: HermesStore, api_client: ApiClient) -> None:
    path = session_path(hermes_store)
    before = api_client.get(path)
    status, run = api_client.call("POST", f"{path}/runs", {"apply": True, "mode": "split"})
    run = api_client.get(f"/runs/{run['id']}")
    assert (status, run["status"], run["mode"], run["undoable"]) == (202, "applied", "split", False)
    part = api_client.get(f"/stores/hermes/sessions/{run['new_session_id']}")
    assert (part["parent"], part["parts"], part["messages_live"]) == (hermes_store.session_id, 2, run["messages_after"])
    assert (part["compactions"], part["messages_total"]) == (before["compactions"] + 1, before["messages_total"])
    newest = api_client.get(f"/stores/hermes/sessions/{part['id']}/compactions")["items"][-1]
    assert (newest["run"], newest["by"], newest["undoable"]) == (run["id"], "by you, here", False)
    assert [each["id"] for each in api_client.get("/stores/hermes/sessions", q="week 29")["items"]] == [part["id"]]

    status, refused = api_client.call("POST", f"/runs/{run['id']}/undo")
    assert (status, refused["error"]["code"]) == (409, "not_undoable")
    status, refused = api_client.call("POST", f"{path}/runs", {"apply": True, "mode": "split"})
    assert (status, refused["error"]["code"]) == (409, "session_ended")
    status, branch = api_client.call(
        "POST", f"/stores/hermes/sessions/{part['id']}/branches", {"before": newest["handoff_id"]}
    )
    assert (status, branch["messages_live"]) == (201, before["messages_live"])


def test_a_preview_first(hermes_store: HermesStore, api_client: ApiClient) -> None:
    _, run = api_client.call("POST", f"{session_path(hermes_store)}/runs", {"mode": "split"})
    run = api_client.get(f"/runs/{run['id']}")
    assert (run["status"], run["new_session_id"]) == ("ready", None)
    api_client.call("POST", f"/runs/{run['id']}/apply", {"summary": "## Goal\nWritten by a person."})
    run = api_client.get(f"/runs/{run['id']}")
    assert (run["status"], run["summary"]) == ("applied", "## Goal\nWritten by a person.")
    assert "by a person" in str(api_client.get(f"/stores/hermes/sessions/{run['new_session_id']}/context")["messages"])


def test_an_unknown_mode(hermes_store: HermesStore, api_client: ApiClient) -> None:
    status, refused = api_client.call("POST", f"{session_path(hermes_store)}/runs", {"mode": "twist"})
    assert (status, refused["error"]["code"]) == (422, "unknown_choice")
