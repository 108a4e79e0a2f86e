"""The program that agents start: the note once, and nothing at all where the site is not as it should be."""

from __future__ import annotations

import importlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from compaction.handoff import EVENT_START, RULES_OPEN, WARNING_START
from integrations import door as program
from tests.clients import ApiClient
from tests.doors import OneFile, TestDoor, slow_site
from tests.factories.stores import EmptyStore, HermesStore, create_empty
from tests.workspace_session import WorkspaceSession, furnish
from viewer.catalog import sync_worker
from viewer.enforcement import early, events
from viewer.enforcement.models import EarlyNote, Event
from viewer.inside.agents.agent import DoorOptions
from viewer.inside.changes import Change, NotInstallable
from viewer.inside.models import Door
from viewer.models import ApiToken
from viewer.web import auth

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]


@pytest.fixture
def session(hermes_store: HermesStore, api_client: ApiClient, tmp_path: Path, settings: Settings) -> WorkspaceSession:
    """A session in a workspace with rules, which name files to read."""
    settings.WORKSPACES = [tmp_path]
    return furnish(hermes_store, api_client, tmp_path / "ws")


@pytest.fixture
def door(session: WorkspaceSession, open_door: Callable[..., TestDoor]) -> TestDoor:
    return open_door(session.hermes_store.store, OneFile())


@pytest.fixture
def late_door(door: TestDoor) -> TestDoor:
    """Of an agent that asks for the note before it writes the compaction."""
    Door.objects.update(agent="claude-code")
    return door


def test_a_note_is_given_once_and_is_acknowledged(session: WorkspaceSession, door: TestDoor) -> None:
    assert door.text("note", session_id=session.session_id) == ""
    session.compact()
    text = door.text("note", session_id=session.session_id)
    assert text.startswith(EVENT_START) and "STYLE.md" in text and "Never push to main." in text
    assert door.text("note", session_id=session.session_id) == ""
    assert Event.objects.get().status == "delivered"
    session.turn()
    session.judged()
    assert door.text("note", session_id=session.session_id).startswith(WARNING_START)
    assert door.text("note", session_id=session.session_id) == ""
    assert Door.objects.get().called_at is not None


def test_it_lists_the_sessions_that_need_compaction(
    session: WorkspaceSession, door: TestDoor, settings: Settings
) -> None:
    assert json.loads(door.text("attention"))["sessions"] == []
    store = EmptyStore(session.hermes_store.path)
    store.session("full <b>", model="gpt-4")  # a window of 8,192 tokens
    store.say("full <b>", "user", "many more words " * 2_200, timestamp=time.time() - 60)
    sync_worker.sync_all()
    answer = json.loads(door.text("attention"))
    ((needing),) = answer["sessions"]
    assert (needing["name"][:15], needing["window"]) == ("many more words", 8_192) and needing["tokens"] > 6_000
    assert needing["address"] == f"{settings.SITE_ADDRESS}/stores/hermes/sessions/full~20~3Cb~3E"
    assert answer["address"] == f"{settings.SITE_ADDRESS}/?store=hermes"
    door.change(token="palimpsest_wrong")
    assert door.text("attention") == ""


def test_hooks_of_claude_code_and_codex_get_it_as_they_take_it(session: WorkspaceSession, door: TestDoor) -> None:
    session.compact()
    given = {"session_id": session.session_id, "hook_event_name": "SessionStart", "source": "resume"}
    added = json.loads(door.text("SessionStart", **given))["hookSpecificOutput"]
    assert added["hookEventName"] == "SessionStart" and added["additionalContext"].startswith(EVENT_START)


def test_two_that_ask_at_once_get_one_note(session: WorkspaceSession, door: TestDoor) -> None:
    session.compact()
    texts: list[str] = []
    both = [
        threading.Thread(target=lambda: texts.append(door.text("note", session_id=session.session_id))) for _ in "ab"
    ]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert sorted(map(len, texts))[0] == 0 and sum(bool(text) for text in texts) <= 1


def test_what_was_not_acknowledged_is_offered_again(
    session: WorkspaceSession, door: TestDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.compact()
    assert len(events.offer(session.hermes_store.store, session.session_id)) == 1
    assert door.text("note", session_id=session.session_id) == "", "it is offered to another"
    Event.objects.update(offered_until=timezone.now() - timedelta(seconds=1))
    assert door.text("note", session_id=session.session_id).startswith(EVENT_START)


def test_a_note_before_the_compaction_is_written_is_the_note_after_it(
    session: WorkspaceSession, late_door: TestDoor
) -> None:
    """Of several processes of the site one gives it, another hears that it was passed on, a third sees the compaction:
    nothing of it is in memory.
    """
    asked = {"session_id": session.session_id}
    text = late_door.text("note", **asked, compacted=True)
    assert text.startswith(EVENT_START) and Event.objects.count() == 0
    importlib.reload(early)
    session.compact()
    event = Event.objects.get()
    assert (event.status, event.text) == ("delivered", text.strip()) and not EarlyNote.objects.exists()
    assert late_door.text("note", **asked) == "" and not events.pending(session.hermes_store.store, session.session_id)
    for at in range(12):
        session.append({"role": "user", "content": f"And {at}? {'It is said at length. ' * 60}"})
        session.append({"role": "assistant", "content": f"Done {at}. {'It is said at length. ' * 60}"})
    session.compact()
    assert late_door.text("note", **asked).startswith(EVENT_START), "of the next compaction, as near in time"


def test_a_note_before_the_compaction_that_did_not_arrive_comes_after_it(
    session: WorkspaceSession, late_door: TestDoor
) -> None:
    asked = {"session_id": session.session_id}
    client = ApiClient(json.loads(late_door.connection.read_text())["token"])
    _, given = client.call("POST", "/inside/note", {**asked, "compacted": True})
    assert given["text"].startswith(EVENT_START)
    session.compact()
    assert Event.objects.get().status == "pending"
    EarlyNote.objects.update(store="another")
    client.call("POST", "/inside/acknowledge", {"events": given["events"]})
    assert not EarlyNote.objects.get().passed_on, "it is of another store"
    EarlyNote.objects.update(store=session.hermes_store.store.name)
    assert late_door.text("note", **asked).startswith(EVENT_START)
    assert late_door.text("note", **asked) == ""


def test_a_note_that_is_acknowledged_once_the_compaction_is_seen_is_not_given_again(
    session: WorkspaceSession, late_door: TestDoor
) -> None:
    asked = {"session_id": session.session_id}
    client = ApiClient(json.loads(late_door.connection.read_text())["token"])
    _, given = client.call("POST", "/inside/note", {**asked, "compacted": True})
    session.compact()
    client.call("POST", "/inside/acknowledge", {"events": given["events"]})
    assert late_door.text("note", **asked) == ""
    assert Event.objects.get().status == "delivered"


def test_what_a_summary_should_not_lose(session: WorkspaceSession, door: TestDoor) -> None:
    session.append({"role": "user", "content": "Always answer in French. Which port does staging use?"})
    text = door.text("PreCompact", session_id=session.session_id, hook_event_name="PreCompact", trigger="auto")
    assert "Always answer in French." in text and "Which port does staging use?" in text


def test_our_engine_carries_the_rules_of_the_session(session: WorkspaceSession, door: TestDoor) -> None:
    messages = [{"role": "user", "content": "Move it to port 9090."}, {"role": "assistant", "content": "Moved."}]
    given = {"messages": messages, "alone": True, "session_id": session.session_id}
    summary = json.loads(door.text("compact", **given))["summary"]
    assert "port 9090" in summary and RULES_OPEN in summary and "Never push to main." in summary
    door.change(site="http://127.0.0.1:9")
    assert "port 9090" in json.loads(door.text("compact", **given))["summary"]


def test_an_agent_waits_for_no_site(session: WorkspaceSession, door: TestDoor) -> None:
    session.compact()
    asked = {"session_id": session.session_id}
    assert program.NOTE_SECONDS < 0.2
    door.change(note_seconds=program.NOTE_SECONDS)
    right = json.loads(door.connection.read_text())
    with slow_site() as slow:
        for changed in ({"site": "http://127.0.0.1:9"}, {"site": slow}, {"token": "palimpsest_wrong"}):
            door.change(**{**right, **changed})
            for event in ("note", "PreCompact"):
                assert door.text(event, **asked) == "", changed
    door.connection.write_text("{")
    assert door.text("note", **asked) == ""
    door.connection.unlink()
    assert door.text("note", **asked) == ""


def test_a_revoked_token_and_a_foreign_event_are_refused(session: WorkspaceSession, door: TestDoor) -> None:
    session.compact()
    token = json.loads(door.connection.read_text())["token"]
    client = ApiClient(token)
    assert client.call("GET", "/stores")[0] == 403, "the token is for the calls of a door alone"
    Event.objects.update(store="another")
    assert client.call("POST", "/inside/acknowledge", {"events": [Event.objects.get().pk]})[0] == 200
    assert Event.objects.get().status == "pending"
    assert client.call("POST", "/inside/acknowledge", {"events": [10**6]})[0] == 404
    ApiToken.objects.filter(door__isnull=False).delete()
    assert client.call("POST", "/inside/note", {"session_id": session.session_id})[0] == 401
    assert Door.objects.get().token is None
    assert session.api_client.call("POST", "/inside/note", {"session_id": session.session_id})[0] == 403


def test_any_input_leaves_the_agent_alone(door: TestDoor) -> None:
    noted: list[dict[str, Any]] = [{}, {"session_id": "none"}, {"session_id": None}, {"session_id": "\ud800\x00"}]
    for given in noted:
        assert door.run("note", **given).returncode == 0
    compacted: list[dict[str, Any]] = [{}, {"messages": 7}, {"messages": [1]}, {"messages": [{}], "window": "x"}]
    for given in compacted:
        done = door.run("compact", **given)
        assert (done.returncode, set(json.loads(done.stdout))) == (1, {"error"})


def test_a_database_that_is_not_in_a_home_of_hermes_has_no_plugin(tmp_path: Path, settings: Settings) -> None:
    from viewer.inside import doors

    (tmp_path / "home").mkdir()
    for path in (tmp_path / "home" / "state.db", tmp_path / "copy.db"):
        create_empty(path)
    settings.STORES = {"own": f"sqlite:///{tmp_path}/home/state.db", "copy": f"sqlite:///{tmp_path}/copy.db"}
    assert [store.name for _, store in doors.installable()] == ["own"]
    with pytest.raises(NotInstallable):
        doors.choose("hermes", "copy")


def test_what_is_refused_leaves_an_earlier_installation(
    session: WorkspaceSession, door: TestDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    from viewer.inside import doors

    def refused(*_: object) -> Iterator[Change]:
        raise NotInstallable("Somebody else's file is there.")

    monkeypatch.setattr(OneFile, "changes", refused)
    with pytest.raises(NotInstallable):
        doors.install(OneFile(), session.hermes_store.store, DoorOptions())
    assert Door.objects.count() == ApiToken.objects.filter(scopes=["inside"]).count() == 1
    session.compact()
    assert door.text("note", session_id=session.session_id).startswith(EVENT_START)


def test_no_key_goes_into_a_file_and_no_token_of_somebody_is_touched(
    session: WorkspaceSession, open_door: Callable[..., TestDoor], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PALIMPSEST_OPENAI_KEY", "PALIMPSEST_SECRET_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "very secret")
    auth.new_token("inside hermes", ["read"])
    with pytest.raises(NotInstallable, match="already"):
        open_door(session.hermes_store.store, OneFile())
    assert ApiToken.objects.get(name="inside hermes").scopes == ["read"]
    ApiToken.objects.filter(name="inside hermes").delete()
    assert "very secret" not in open_door(session.hermes_store.store, OneFile()).connection.read_text()
