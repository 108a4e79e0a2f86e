"""What we write into a session of the real pi: it resumes from exactly that, goes on, and it is undone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.interop.chat_service import calls, says
from tests.interop.chat_service import tool as called
from viewer.runs import pickup, service
from viewer.stores.registry import get_store, open_store

from .client import FULL, NEWEST, OLDER, PiClient
from .opened import made, with_the_oldest_too, work
from .work import KEPT, MUCH, Work, ours

__all__ = ["made", "work"]


@with_the_oldest_too
def test_it_goes_on_and_both_compact_on_top(work: Work) -> None:
    before = work.read()
    work.compact()
    work.client.service.replies += [calls(called("bash", command="echo c"), called("bash", command="echo d"))]
    with work.client.rpc() as process:
        after = work.say("Do more.", process)
        (at,) = ours(after)
        assert at == 0 and len(after) - 1 >= KEPT and after[1:] == before[-len(after[1:]) :]
        assert [block.kind for block in work.read()[len(after) :]].count("call") == 2
        process.call("compact")
        native = work.say("And on.", process)
        assert "The summary so far." in native[0].said and not ours(native[1:])
        for number in range(7):
            work.client.service.replies += [says(f"{number}: {MUCH}")]
            work.say(f"What grows behind bed {number}?", process)
    work.compact()
    assert ours(work.say("And on.")) == [0]
    assert len(work.store_api.compactions(work.session)) == 3


def test_undo_and_redo(work: Work) -> None:
    before, stored = work.read(), work.file.read_bytes()
    run = work.compact()
    short, written = work.read(), work.file.read_bytes()
    assert written.startswith(stored)
    with work.client.rpc() as process:
        for number in range(2):
            work.say(f"Later request {number}.", process)
    said = work.read()[len(short) :]
    assert len(said) == 4
    grown = work.file.read_bytes()
    assert work.call(run, "undo")["status"] == "undone"
    assert work.say("And now?") == [*before, *said]
    more = work.read()[len(before) + len(said) :]
    assert work.call(run, "redo")["status"] == "applied"
    assert work.file.read_bytes().startswith(grown)
    assert work.say("And then?") == [*short, *said, *more]


def test_a_branch_is_a_session_of_its_own(work: Work) -> None:
    before = work.read()
    run = work.compact()
    (handoff,) = (each["handoff_id"] for each in work.store_api.compactions(work.session))
    with work.client.rpc() as process:
        work.say("And now?", process)
        stored, after = work.file.read_bytes(), work.read()
        old, new = work.branch(handoff), work.branch()
        assert old.say("Rather all of it.", process) == before and new.say("In short.", process) == after
        assert len(old.read()) == len(before) + 2 and work.file.read_bytes() == stored
        process.call("compact")
        assert "The summary so far." in new.say("And on.", process)[0].said
    old.compact()
    assert ours(old.say("And the branch?")) == [0]
    assert work.call(run, "undo")["status"] == "undone"
    assert work.read()[: len(before)] == before


@with_the_oldest_too
def test_tool_output_is_shortened(work: Work) -> None:
    """By a client that knows edits; of an older one it is refused."""
    with work.client.rpc() as process:
        for number in range(6):
            work.say(f"And what in bed {number}?", process)
    before, stored, path = work.read(), work.file.read_bytes(), f"{work.store_api.at(work.session)}/runs"
    work.age()
    status, refused = work.store_api.api_client.call("POST", path, {"apply": True, "strategy": "prune"})
    assert status == 409 and "from version 0.87 on" in refused["error"]["message"]
    if OLDER in str(work.client.program):
        return
    settings = work.client.home / "settings.json"
    settings.write_text(
        json.dumps(json.loads(settings.read_text()) | {"lastChangelogVersion": NEWEST})
    )  # in a terminal it does
    run = work.store_api.run(work.session, apply=True, strategy="prune")
    assert run["status"] == "applied", run
    short = work.say("And now?")  # which it is sent as we read it
    assert len(short) == len(before) + 1 and len(str(short)) < len(str(before)) - 5_000
    said = work.read()[len(short) :]
    assert work.call(run["id"], "undo")["status"] == "undone"
    assert work.say("All of it again.") == [*before, *said]
    assert work.call(run["id"], "redo")["status"] == "applied"
    assert work.say("In short.")[: len(short)] == short and work.file.read_bytes().startswith(stored)
    branch = work.branch()
    assert branch.say("Elsewhere.") == branch.read()[:-2]


def test_while_it_is_open_nothing_is_written(work: Work) -> None:
    path = f"{work.store_api.at(work.session)}/runs"
    with work.client.rpc(work.file) as process:
        process.wait_for_name()  # it has hardly begun
        work.age()
        stored = work.file.read_bytes()
        assert work.store_api.refusal("POST", path, {"apply": True}) == "session_busy"
        assert "pi (process" in work.store_api.api_client.call("POST", path, {"apply": True})[1]["error"]["message"]
    work.file.touch()
    assert "was written to" in work.store_api.api_client.call("POST", path, {"apply": True})[1]["error"]["message"]
    assert work.file.read_bytes() == stored
    work.compact()


def test_a_client_that_had_it_open_goes_on_without_it(work: Work, tmp_path: Path) -> None:
    """It is not seen where it works in another directory than the session names."""
    before = work.read()
    elsewhere = PiClient(work.client.program, work.client.place, work.client.service, work=tmp_path / "elsewhere")
    with elsewhere.rpc(work.file) as process:
        process.call("get_state")
        run = work.compact()
        assert ours(work.read()) == [0]
        process.turn("Are you there?")
    assert work.read()[: len(before)] == before and not ours(work.read())
    with open_store(get_store("work")) as reader:
        assert service.pick_up(service.get_run(run), reader) == service.PickUp(None, pickup.LEFT)
    work.age()
    refused, answer = work.store_api.api_client.call("POST", f"/runs/{run}/undo")
    assert refused == 409 and "not in effect" in answer["error"]["message"]
    again = work.compact()
    assert ours(work.say("And now?")) == [0]
    with open_store(get_store("work")) as reader:
        assert "has continued since" in service.pick_up(service.get_run(again), reader).sentence


@pytest.mark.parametrize("moment", ["overwritten 0.5", "behind"])
def test_a_writer_that_is_killed(work: Work, moment: str) -> None:
    before = work.read()
    work.age()
    work.store_api.written(work.store_api.agent.url, work.session, moment)
    assert (work.read() == before) is (moment != "behind")
    sent = work.say("And now?")
    assert (sent == before) is (moment != "behind")
    said = work.read()
    assert work.say("And then?") == said and len(said) > len(sent)


@pytest.mark.parametrize("compacted", [True, False])
def test_a_full_session_is_not_compacted_again_at_once(work: Work, compacted: bool) -> None:
    model = work.client.service
    model.replies += [says("A great deal.", input_tokens=FULL)]
    work.client.compacts_by_itself(False)
    work.say("What else?")
    work.client.compacts_by_itself(True)
    if compacted:
        work.compact()
    work.client.turn(work.file, "Go on.")
    assert bool(model.of("summary")) is not compacted
