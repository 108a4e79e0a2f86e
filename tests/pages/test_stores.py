"""The pages of stores and of all compactions, and practising on a copy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import sleep

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from tests.agents.json_file import add_json_kind, write_sessions
from tests.agents.openclaw.by_hand import OpenClawByHand
from tests.agents.talk import talk
from tests.factories.stores import EmptyStore, HermesStore
from tests.html import Element, message_ids, read
from viewer.catalog import sync, sync_worker
from viewer.runs import workers
from viewer.serve import listing
from viewer.stores.hermes import schema
from viewer.stores.registry import get_store


def test_who_has_only_the_demo_is_shown_where_sessions_are_looked_for(
    signed_in: Client, demo: Callable[[str], str]
) -> None:
    page = read(signed_in.get("/"))
    assert "/stores" in [link.attributes["href"] for link in page.one("ul", "stores").all("a")]
    looked = read(signed_in.get("/stores")).one("section", **{"aria-labelledby": "looked"})
    assert [name.text for name in looked.all("dt")] == [
        "Hermes",
        "Claude Code",
        "Codex",
        "OpenClaw",
        "pi",
        "Gemini CLI",
        "Qwen Code",
        "OpenCode",
    ]
    assert "CLAUDE_CONFIG_DIR" in looked.text and "PALIMPSEST_STORES" in looked.text


def test_stores_say_what_works_and_why_not(
    signed_in: Client, small_hermes_copy: Callable[[int], Path], settings: Settings
) -> None:
    settings.STORES = {
        **{f"v{version}": f"sqlite:///{small_hermes_copy(version)}" for version in (16, 31)},
        "gone": "sqlite:////nowhere/state.db",
    }
    page = read(signed_in.get("/stores"))
    by_name = {section.one("h2").text: section for section in page.all("section", "store")}
    details = {row.text: row for row in by_name["v31"].one("details").all("dt")}
    assert {"Place", "Schema", "Size"} <= set(details)
    assert "10 sessions" in by_name["v31"].text
    assert not by_name["v31"].all("li", "cannot")
    assert any("“compacted” column" in item.text for item in by_name["v16"].all("li", "cannot"))
    assert by_name["v16"].one("span", "option").text == "--mode split", "not broken into two lines"
    (cannot,) = by_name["v16"].all("li", "cannot")
    copied = cannot.one("button", "plain").attributes["data-copy-text"]
    assert copied == cannot.one("code").text and copied.endswith(" compact --mode split")
    assert by_name["v31"].one("div", "meta").one("a").attributes["href"] == "/?store=v31"
    assert "cannot be read" in by_name["gone"].text and by_name["gone"].one("a", "btn").text == "Look again"
    assert not page.all("section", **{"aria-labelledby": "looked"})
    assert "Try on a copy" in page.text or "demo" in by_name


def test_what_is_left_out_of_a_store_is_named(signed_in: Client, settings: Settings, tmp_path: Path) -> None:
    agent = OpenClawByHand(tmp_path / "home")
    agent.write("s", talk(1))
    broken = tmp_path / "home" / "agents" / "garden" / "agent" / "openclaw-agent.sqlite"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"")
    settings.STORES = {"agent": agent.url}
    for place in ("/stores", "/"):
        page = read(signed_in.get(place)).text
        assert "The sessions of agent garden are left out:" in page and str(broken) in page, place
    assert any("agent garden" in line for line in listing.lines())
    (store, _) = signed_in.get("/api/v1/stores").json()["items"]
    assert (store["sessions"], len(store["remarks"])) == (1, 1)


def test_no_password_of_a_url_is_shown(signed_in: Client, settings: Settings) -> None:
    settings.STORES = {"pg": "postgres://user:secret@db.example/state"}
    page = read(signed_in.get("/stores"))
    assert "db.example/state" in page.text
    assert "secret" not in page.text


def test_compactions_lists_runs_and_boundaries(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    hermes_store = open_hermes_store(21)
    empty = read(signed_in.get("/compactions"))
    assert "No run yet." in empty.text and "Runs started here" not in empty.text
    figures = {each.one(cls="label").text: each.one("b").text for each in empty.one("ul", "figures").all("li")}
    counted = [row.all("td") for row in empty.one("table").all("tr")[1:]]
    assert figures["Compactions"] == str(len(counted)) and "→" in figures["Median context"]
    assert figures["Sessions"] == str(len({row[1].text for row in counted}))
    signed_in.post(f"/stores/hermes/sessions/{hermes_store.session_id}/compact", {"apply": "1"})
    page = read(signed_in.get("/compactions"))
    runs, boundaries = page.all("table")
    assert "Airline desk, week 29" in runs.all("tr")[1].text
    assert "Compacted" in runs.all("tr")[1].text
    week = [row for row in boundaries.all("tr") if "week 29" in row.text]
    assert [row.all("td")[3].text == "you, here" for row in week if row.all("td")].count(True) == 1
    assert any("84 → 29" in row.text for row in week)
    href = week[0].one("a").attributes["href"].split("#")[0]
    assert read(signed_in.get(href)).all("section", "boundary")


def test_no_compaction_at_all_has_one_way_on(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a")
    page = read(signed_in.get("/compactions")).one("main")
    empty = page.one(cls="empty")
    assert "No session was compacted yet." in empty.text
    assert [link.attributes["href"] for link in empty.all("a", "btn")] == ["/"]
    assert not page.all("table") and not page.all("ul", "figures") and not page.all("h2")


def test_a_compaction_that_made_the_context_larger_is_said_to_have(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("s")
    for number in range(6):
        empty_store.say("s", ("user", "assistant")[number % 2], f"short {number}", active=0, compacted=1)
    empty_store.say("s", "user", "[CONTEXT SUMMARY]: " + "a summary that goes on and on " * 400, _compressed_summary=1)
    empty_store.say("s", "assistant", "going on")
    page = read(signed_in.get("/compactions"))
    reclaimed = page.one("table").all("td")[-1].one("span")
    assert reclaimed.text.startswith("−")
    assert reclaimed.attributes["title"].startswith("−")


def test_a_compacted_session_costs_little_when_looked_at_again(signed_in: Client, empty_store: EmptyStore) -> None:
    def asked(count: int) -> int:
        """Queries of the second look, and the work behind them, at so many compacted sessions."""
        for number in range(count):
            empty_store.session(f"{count} {number}")
            empty_store.say(f"{count} {number}", "user", "before", active=0, compacted=1)
            empty_store.say(f"{count} {number}", "user", "[CONTEXT SUMMARY]: it began", _compressed_summary=1)
        sleep(0.1)  # until the file counts as written
        signed_in.get("/compactions")
        with CaptureQueriesContext(connection) as queries:
            page = read(signed_in.get("/compactions"))
        assert [cell.text for cell in page.all("td")].count("Hermes") >= count
        return len(queries)

    few = asked(2)
    assert asked(20) - few <= 20


@pytest.mark.parametrize("configured", [False, True], ids=["found", "configured"])
def test_a_path_is_said_once(signed_in: Client, tmp_path: Path, settings: Settings, configured: bool) -> None:
    path = tmp_path / "state.db"
    schema.create(path)
    settings.HERMES_HOME = tmp_path
    settings.STORES = {"hermes": f"sqlite:///{path}"} if configured else {}
    assert read(signed_in.get("/stores")).all("section", "store")[0].text.count(str(path)) == 1


def test_compactions_of_a_store_that_cannot_be_read(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.path.unlink()
    told = [line.text for line in read(signed_in.get("/compactions")).all("p", "bad")]
    assert any(line.startswith("Store own: ") and "cannot be read" in line for line in told)


def test_practise_on_a_copy(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], demo_original: Path, settings: Settings
) -> None:
    hermes_store = open_hermes_store(16, "Airline request 24/2")
    settings.DEMO_STORE = hermes_store.path.with_name("demo.db")
    settings.DEMO_STORE.write_bytes(demo_original.read_bytes())
    session = f"/stores/hermes/sessions/{hermes_store.session_id}"
    form = read(signed_in.get(session)).one("div", "head").one("form", action=f"{session}/practise")
    answer = signed_in.post(form.attributes["action"])
    assert answer["Location"].startswith("/stores/demo/sessions/")
    copy = read(signed_in.get(answer["Location"]))
    assert copy.one("h1").text == "Airline request 24/2 (practice copy)"
    assert len(message_ids(copy)) == len(message_ids(read(signed_in.get(session)))) == 33
    assert copy.one("section", id="plan").one("form")
    assert signed_in.get(f"{session}/practise").status_code == 405


def test_it_says_whether_a_worker_is_alive(signed_in: Client, empty_store: EmptyStore) -> None:
    assert "No worker is alive" in read(signed_in.get("/stores")).one("p", "warn").text
    workers.sign("a worker")
    page = read(signed_in.get("/stores"))
    assert "orker" not in page.all("p", "note")[0].text, "that all is well needs no words"
    assert not page.all("p", "warn")


def test_a_store_without_an_index_is_left_out_and_taken_in_again(
    signed_in: Client, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_json_kind(monkeypatch)
    write_sessions(tmp_path / "s.json", {f"s{n}": [{"role": "user", "content": "a marmoset"}] for n in range(3)})
    settings.STORES = {"plain": f"json:///{tmp_path}/s.json"}
    sync.store_listings([get_store("plain")])

    def section() -> Element:
        return read(signed_in.get("/stores")).all("section", "store")[0]

    assert "Index of its text: 0 of 3 sessions are indexed." in section().text
    sync_worker.sync_all()
    assert "Index of its text: 3 messages of 3 sessions." in section().text
    form = section().one("form")
    assert form.one("button").text == "Leave out of search"
    assert signed_in.get(form.attributes["action"]).status_code == 405
    signed_in.post(form.attributes["action"], {"leave_out": "1"})
    assert "3 messages are being taken out of it." in section().text
    sync_worker.sync_all()
    left_out = section()
    assert "Index of its text" not in left_out.text
    assert any("left out of the index" in item.text for item in left_out.all("li", "cannot"))
    assert "This store is left out of search" in read(signed_in.get("/search?q=marmoset")).text
    assert left_out.one("form").one("button").text == "Take into search"
    signed_in.post(left_out.one("form").attributes["action"])
    sync_worker.sync_all()
    assert "a marmoset" in read(signed_in.get("/search?q=marmoset")).text
