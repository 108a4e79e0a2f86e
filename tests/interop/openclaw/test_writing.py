"""What we write into a session of the real OpenClaw while its gateway runs: it goes on from exactly that, and it is
undone.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pytest_django import Settings

from tests.clients import ApiClient
from tests.interop.chat_service import calls, says
from tests.interop.chat_service import tool as called
from tests.interop.real_agent import RealAgent
from tests.store_api import StoreApi
from viewer.enforcement import auditing
from viewer.history import index_cache
from viewer.stores.registry import get_store, open_store

from .client import OpenClawClient
from .playing import OpenClawStage
from .work import KEPT, Work, ours, talk

Open = Callable[[str], Work]
COALESCED = 60.0  # seconds in which the client has a session take its turn; it waits 20 for more
# What the client's doctor checks of its database.
CHECKS = ("agent-database-admission", "session-snapshots", "session-transcripts")
NEARLY_FULL = 179_900  # tokens, of a window of 200,000: one long request more, and the client compacts before it


@pytest.fixture
def opened(
    gateway: OpenClawStage,
    api_client: ApiClient,
    transactional_db: None,
    at_once: None,
    settings: Settings,
    tmp_path: Path,
) -> Open:
    """A function that makes a session of a name, which the site knows."""
    settings.HERMES_HOME = settings.CLAUDE_HOME = settings.CODEX_HOME = tmp_path / "no-home"
    settings.OPENCLAW_HOME = settings.PI_HOME = tmp_path / "no-home"
    settings.DEMO_STORE = tmp_path / "no-demo.db"
    agent = RealAgent(f"openclaw://{gateway.state}")
    settings.STORES = {"work": agent.url}
    return lambda name: talk(gateway, name, StoreApi(api_client, "work", agent))


def test_it_goes_on_and_both_compact_on_top(opened: Open) -> None:
    work = opened("on-top")
    before = work.read()
    work.compact()
    work.stage.service.replies += [calls(called("exec", command="echo c"), called("exec", command="echo d"))]
    after = work.say("Do more.")
    (at,) = ours(after)
    assert at == 0 and len(after) - 1 >= KEPT and after[1:] == before[-len(after[1:]) :]
    assert [block.kind for block in work.read()[len(after) :]].count("call") == 2
    work.stage.compact(work.key)
    native = work.say("And on.")
    assert "The summary so far." in native[0].said and not ours(native[1:])
    work.say_much()
    work.compact()
    assert ours(work.say("And on.")) == [0]
    assert len(work.store_api.compactions(work.session)) == 3


def test_undo_and_redo_and_a_rewind_takes_the_compaction_along(opened: Open) -> None:
    work = opened("undone")
    before, tokens, count = work.read(), work.noted("totalTokens"), work.noted("compactionCount") or 0
    run = work.compact()
    short = work.read()
    assert work.noted("totalTokens") < tokens and work.noted("compactionCount") == count + 1
    work.say("A later request.")
    said = work.read()[-2:]
    work.undo(run)
    assert work.noted("totalTokens") >= tokens and work.noted("compactionCount") == count
    assert work.say("Rather all of it.") == [*before, *said]
    said += work.read()[-2:]
    work.redo(run)
    assert work.say("And now?") == [*short, *said]
    work.say("And then?")
    old = work.session
    work.stage.call("sessions.rewind", sessionKey=work.key, entryId=work.stage.entry_of(work.key, "And then?"))
    assert work.session != old and ours(work.say("Rather this.")) == [0]
    work.undo(run)
    assert work.say("All of it again.")[: len(before)] == before


def test_a_branch_is_a_conversation_of_its_own(opened: Open) -> None:
    """Of the moment before a compaction, and of now: the client goes on with it, and compacts it."""
    work = opened("branched")
    before = work.read()
    run = work.compact()
    (handoff,) = (each["handoff_id"] for each in work.store_api.compactions(work.session))
    work.say("And now?")
    after = work.read()
    old, new = work.branch(handoff), work.branch()
    assert old.say("Rather all of it.") == before and new.say("In short, then.") == after
    assert len(old.read()) == len(before) + 2 and work.read() == after
    old.compact()
    assert ours(old.say("And the branch?")) == [0]
    new.stage.compact(new.key)
    assert "The summary so far." in new.say("And the other?")[0].said
    work.undo(run)
    assert work.say("All of it again.")[: len(before)] == before


def test_a_branch_wakes_nobody_and_the_clients_own_fork_does(opened: Open) -> None:
    """The client has a session take a turn when its child went on, and takes its forks for children."""
    work = opened("awake")
    service, branch, before = work.stage.service, work.branch(), work.read()
    assert branch.say("Rather this.") == before
    fork = work.stage.call(
        "sessions.fork", sessionKey=branch.key, entryId=work.stage.entry_of(branch.key, "Rather this.")
    )["sessionKey"]
    asked = len(service.of("turn"))
    assert replace(branch, key=fork).say("The client's own fork.") == before
    service.wait_for("turn", asked + 2, within=COALESCED)
    told = [str(body["messages"][-2:]) for body in service.of("turn")]
    assert "changed (other actor)" in told[-1] and fork in told[-1]
    assert not any(branch.key in each for each in told)


def test_nothing_is_written_while_a_turn_runs_and_a_writer_may_be_killed(opened: Open) -> None:
    work = opened("running")
    service, before = work.stage.service, work.read()
    asked = len(service.of("turn"))
    with service.held():
        turn = threading.Thread(target=OpenClawClient.turn, args=(work.stage, "Take your time.", work.key))
        turn.start()
        service.wait_for("turn", asked + 1)
        path = f"{work.store_api.at(work.session)}/runs"
        refused = work.store_api.refusal("POST", path, {"apply": True, "keep_last": KEPT})
    turn.join()
    assert refused == "session_busy" and work.read()[: len(before)] == before and not ours(work.read())
    before = work.read()
    for moment in ("inside", "behind"):
        work.store_api.written(work.store_api.agent.url, work.session, moment)
        work.require_clean()
        sent = work.say("And now?")
        assert (sent == before) == (moment == "inside") and bool(ours(sent)) == (moment == "behind")


def test_a_full_session_is_not_compacted_again_at_once(opened: Open) -> None:
    """But it is where we had not compacted it."""
    work = opened("full")
    service = work.stage.service
    for compacted in (True, False):
        service.replies += [says("A great deal.", input_tokens=NEARLY_FULL)]
        work.say("What else?")
        before = len(service.of("summary"))
        if compacted:
            work.compact()
        OpenClawClient.turn(work.stage, f"Go on. {'And on. ' * 2_000}", work.key)
        assert (len(service.of("summary")) == before) is compacted


RULES = "# Agents\n\n## Session Startup\nRead `SOUL.md`, then `MEMORY.md`.\n\n## Red Lines\nNever water at noon.\n"


def test_rules_are_carried_and_its_next_turn_is_audited(opened: Open, settings: Settings) -> None:
    """The client repeats none after a compaction of ours; what it read is found in its own rows."""
    work = opened("rules")
    settings.WORKSPACES = [work.stage.work]
    for name, text in (("AGENTS.md", RULES), ("SOUL.md", "Be kind."), ("MEMORY.md", "The gate is shut.")):
        (work.stage.work / name).write_text(text)
    work.compact()
    work.stage.service.replies += [
        calls(called("read", path="SOUL.md"), called("exec", command="cat nothing.md MEMORY.md"))
    ]
    (sent, *_) = work.say("Go on.")
    assert "Never water at noon." in sent.said and "<workspace-critical-rules>" in sent.said
    with open_store(get_store("work")) as reader:
        session = reader.session(work.session)
        (audit,) = auditing.look(reader, session, index_cache.index_of(reader, session))
    found = {each["named"]: each["message"] for each in audit.findings}
    assert found["SOUL.md"] is not None and found["MEMORY.md"] is None and audit.status == "missing"
    work.stage.service.replies += [calls(called("read", path=str(work.stage.work / "MEMORY.md")))]
    work.say("And the other?")
    with open_store(get_store("work")) as reader:
        (audit,) = auditing.look(reader, session, index_cache.index_of(reader, session))
    assert audit.status == "passed"


def test_the_client_finds_nothing_wrong(gateway: OpenClawStage) -> None:
    """Of all that the tests above left in its database: what it checks of settings is no matter here."""
    asked = [part for check in CHECKS for part in ("--only", f"core/doctor/{check}")]
    said = gateway.run("doctor", "--lint", *asked, "--severity-min", "info", "--json")
    report = json.JSONDecoder().raw_decode(said[said.index("{") :])[0]
    assert report["checksRun"] == len(CHECKS) and not report["findings"]
