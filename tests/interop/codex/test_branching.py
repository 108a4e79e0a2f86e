"""A branch of a session of the real Codex: it resumes from exactly the context of the moment, whatever happens to the
session that it comes from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import zstandard

from tests.agents.codex import views

from .client import FULL
from .opened import Open, homes, opened
from .scenes import shell
from .service import calls, says
from .work import SORTS, Work, ours

__all__ = ["homes", "opened"]

KINDS = ["cli", "vscode", "exec", "appServer"]


def branched(work: Work, before: int | None = None) -> Work:
    """A branch as another session to work with; the bytes of all files of others stay as they are."""
    stored = rollouts(work)
    body = {} if before is None else {"before": before}
    status, made = work.store_api.api_client.call("POST", f"{work.store_api.at(work.session)}/branches", body)
    assert status == 201, made
    after = rollouts(work)
    assert {name: after[name] for name in stored} == stored and len(after) == len(stored) + 1
    return replace(work, session=made["id"])


def rollouts(work: Work) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in work.client.home.rglob("rollout-*")}


def turns(work: Work, session: str) -> list[Any]:
    """What the client shows of a session's turns."""
    work.server.resume(session)
    found = [[item["type"] for item in turn["items"]] for turn in work.server.turns(session)]
    work.server.unload(session)
    return found


@pytest.mark.parametrize("sort", SORTS)
def test_a_branch_resumes_from_the_same_context(opened: Open, sort: str) -> None:
    work = opened(sort)
    work.say("And now?")
    before, tools = work.read(), work.tools()
    branch = branched(work)
    assert branch.read() == before
    assert branch.say("Go on in the branch.") == before
    assert branch.tools() == tools
    assert branch.read()[:-2] == before == work.read()
    assert work.say("Go on in the original.") == before
    assert branch.say("And again in the branch.")[:-2] == before
    assert turns(work, branch.session)[:-2] == turns(work, work.session)[:-1]


@pytest.mark.parametrize("sort", ["paginated", "legacy", "fork", "above local", "above encrypted"])
def test_a_branch_from_before_a_compaction(opened: Open, sort: str) -> None:
    """Of ours, and where the client made one before, of that one too."""
    work = opened(sort)
    work.say("And now?")
    before = work.read()
    work.compact()
    boundaries = work.store_api.compactions(work.session)
    assert ours(work.say("Go on."))
    branch = branched(work, boundaries[-1]["handoff_id"])
    assert branch.say("Another way.") == before
    if len(boundaries) > 1:
        first = branched(work, boundaries[0]["handoff_id"])
        kinds = [block.kind for block in first.say("A third way.")]
        assert "encrypted" not in kinds and not [block for block in first.read() if "so far." in block.said]


def test_a_branch_from_before_a_compaction_within_a_turn(opened: Open) -> None:
    """The client compacts before it sends what was asked, or between two calls: the turn is cut off there.
    Its context is full, so the client compacts the branch at once."""
    work = opened("paginated")
    before = work.read()
    work.client.service.replies += [
        calls(shell("echo a"), input_tokens=FULL + 50_000),
        says("It is a.", input_tokens=FULL + 50_000),
        says("And that is all."),
    ]
    work.server.resume(work.session)
    work.server.turn(work.session, "What is it?")
    work.server.turn(work.session, "Is that all?")
    work.server.unload(work.session)
    boundaries = work.store_api.compactions(work.session)
    assert len(boundaries) == 2
    branches = [branched(work, each["handoff_id"]) for each in boundaries]
    heard = [each.say("Another way.", first="summary") for each in branches]
    assert [block.kind for block in heard[0][len(before) :]] == ["text", "call", "text"]
    assert heard[1][-1].said == "It is a."


def test_a_branch_stays_whatever_becomes_of_its_parent(opened: Open) -> None:
    work = opened("paginated")
    run = work.compact()
    work.say("And now?")
    branch = branched(work)
    said = branch.read()
    work.undo(run)
    assert len(work.read()) > len(said)
    assert branch.say("Is it all still there?") == said
    work.server.call("thread/archive", threadId=work.session)
    assert branch.say("And now?")[: len(said)] == said
    for path in work.client.home.glob(f"archived_sessions/rollout-*{work.session}*"):
        path.unlink()
    assert branch.say("And now?")[: len(said)] == said
    (boundary,) = work.store_api.compactions(branch.session)
    assert boundary["undoable"]


def test_a_branch_of_what_nobody_goes_on_with(opened: Open) -> None:
    """In the archive and compressed, and in a home without the client's database."""
    work = opened("paginated")
    work.say("And now?")
    said, path = work.read(), work.file
    work.server.call("thread/archive", threadId=work.session)
    (archived,) = work.client.home.glob(f"archived_sessions/{path.name}")
    assert branched(work).say("Out of the archive.") == said
    archived.with_suffix(".jsonl.zst").write_bytes(zstandard.compress(archived.read_bytes()))
    archived.unlink()
    branch = branched(work)
    assert branch.say("Out of the box.") == said
    work.client.turn(branch.session, "A process of its own.")
    sent = views.told(views.of_session(work.client.service.of("turn")[-1]))
    assert views.conversation(sent)[: len(said)] == said


def test_the_client_lists_a_branch(opened: Open) -> None:
    work = opened("paginated")
    work.compact()
    branch = branched(work)
    found = {each["id"]: each for each in work.server.call("thread/list", sourceKinds=KINDS)["data"]}
    assert found[branch.session]["preview"] == found[work.session]["preview"]
    read = work.server.call("thread/read", threadId=branch.session)["thread"]
    assert read["forkedFromId"] == work.session


def test_calls_that_are_not_answered_yet_are_left_out(opened: Open) -> None:
    """Also where they stand in the context that a compaction wrote."""
    work = opened("paginated")
    work.server.resume(work.session)
    work.client.service.replies += [calls(shell("echo a"), shell("sleep 60"), text="Both.")]
    work.server.start_turn(work.session, "Do what takes long.")
    work.client.wait_for(work.session, "sleep 60")
    status, made = work.store_api.api_client.call("POST", f"{work.store_api.at(work.session)}/branches", {})
    assert status == 201, made
    before = replace(work, session=made["id"])
    assert work.read()[-1].kind in ("call", "text") and before.read()[-1].said == "Do what takes long."
    work.server.kill()
    with work.client.app_server() as server:
        work = replace(work, server=server)
        assert replace(before, server=server).say("And now?")[-1].said == "Do what takes long."
        work.compact()
        after = branched(work)
        assert not [block for block in after.read()[-3:] if block.kind == "call"]
        assert ours(after.say("And now?"))


def test_a_branch_of_a_fork_of_an_older_form_of_session(opened: Open) -> None:
    work = opened("legacy")
    fork = replace(work, session=work.server.fork(work.session))
    work.server.turn(fork.session, "Another way, please.")
    work.server.unload(fork.session)
    said = fork.read()
    branch = branched(fork)
    assert branch.say("And another one.") == said
    assert branch.say("And on.")[: len(said)] == said
