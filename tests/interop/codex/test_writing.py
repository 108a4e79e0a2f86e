"""What we write into a session of the real Codex: it resumes from exactly that, goes on, and it is undone."""

from __future__ import annotations

import pytest

from tests.interop.processes import ClientFailed
from viewer.stores.lock_owners import new_holder
from viewer.stores.registry import get_store, writer_of

from .client import FULL
from .opened import Open, homes, opened
from .scenarios_compacted import compact
from .scenes import shell
from .service import calls, says
from .work import KEPT, SORTS, ours

__all__ = ["homes", "opened"]


def test_it_resumes_from_what_was_kept_and_the_summary(opened: Open) -> None:
    work = opened("paginated")
    work.say("And now?")
    before, context = work.read(), work.context()
    work.compact()
    after = work.say("Go on.")
    (at,) = ours(after)
    start, recent = after[:at], after[at + 1 :]
    assert len(recent) >= KEPT and recent == before[-len(recent) :]
    assert len(start) + len(recent) < len(before)
    assert work.context() == context


@pytest.mark.parametrize("sort", SORTS)
def test_it_goes_on_and_has_all_of_it_again(opened: Open, sort: str) -> None:
    work = opened(sort)
    work.say("And now?")
    tools, before = work.tools(), work.read()
    encrypted = [block for block in before if block.kind == "encrypted"]
    assert bool(encrypted) == (sort == "above encrypted")
    run = work.compact()
    work.client.service.replies += [calls(shell("echo c"), shell("echo d")), says("More is done.")]
    after = work.say("Do more.")
    assert len(ours(after)) == 1 and len(after) < len(before)
    assert [block for block in after if block.kind == "encrypted"] == encrypted
    assert work.tools() == tools
    later = work.read()[len(after) :]
    assert [block.kind for block in later].count("call") == 2
    work.undo(run)
    assert work.say("All of it again.") == [*before, *later]


@pytest.mark.parametrize("sort", ["paginated", "legacy", "above encrypted"])
def test_both_compact_on_top(opened: Open, sort: str) -> None:
    work = opened(sort)
    work.say("And now?")
    tools = work.tools()
    work.compact()
    compact(work.server, work.session)
    native = work.say("And on.")
    assert work.tools() == tools
    assert any(block.kind == "encrypted" or "The summary so far." in block.said for block in native)
    work.say_much()
    work.compact()
    again = work.say("And on.")
    assert ours(again) and work.tools() == tools


@pytest.mark.parametrize("strategy", ["summary", "prune"])
def test_undo(opened: Open, strategy: str) -> None:
    work = opened("paginated")
    before, stored = work.read(), work.file.read_bytes()
    run = work.compact(strategy=strategy)
    assert work.read() != before
    for number in range(2):
        work.say(f"Later request {number}.")
    said = work.read()[-4:]
    work.undo(run)
    assert work.read() == [*before, *said]
    assert work.file.read_bytes().startswith(stored)
    assert work.say("And now?") == [*before, *said]
    more = work.read()[len(before) + len(said) :]
    again = work.compact(strategy=strategy)
    work.say("And then?")
    work.undo(again)
    assert work.say("And at last?")[: len(before)] == before
    assert more


@pytest.mark.parametrize("sort", ["legacy", "paginated"])
def test_a_full_session_is_not_compacted_again_by_the_client(opened: Open, sort: str) -> None:
    """It goes by the newest count of tokens that it finds, of a legacy session in all of it."""
    work = opened(sort)
    work.client.service.replies += [says("A great deal.", input_tokens=FULL + 50_000)]
    work.say("What else?")
    work.compact()
    work.say("Go on.", first="turn")
    assert not work.client.service.of("summary")


def test_while_it_is_open_nothing_is_written(opened: Open) -> None:
    work = opened("paginated")
    work.server.resume(work.session)
    stored = work.file.read_bytes()
    refused = work.store_api.refusal("POST", f"{work.store_api.at(work.session)}/runs", {"apply": True})
    assert refused == "session_busy" and work.file.read_bytes() == stored
    assert work.store_api.api_client.get(work.store_api.at(work.session))["active"]
    work.server.unload(work.session)
    assert not work.store_api.api_client.get(work.store_api.at(work.session))["active"]
    work.compact()


def test_while_we_write_it_is_not_resumed(opened: Open) -> None:
    work = opened("paginated")
    writer, holder = writer_of(get_store("work")), new_holder()
    with writer.hold(work.session, holder), pytest.raises(ClientFailed, match="active writer"):
        work.server.resume(work.session)
    work.say("And now?")


@pytest.mark.parametrize("sort", ["paginated", "legacy", "segment"])
def test_an_undone_compaction_is_applied_again(opened: Open, sort: str) -> None:
    work = opened(sort)
    work.say("And now?")
    before = work.read()
    run = work.compact()
    after = work.say("Go on.")
    work.undo(run)
    assert work.say("All of it again.")[: len(before)] == before
    later = work.read()[len(before) :]
    work.redo(run)
    assert work.say("And what is left of it?") == [*after, *later]
    work.undo(run)
    assert work.say("And at last?")[: len(before)] == before
