"""Branches from any moment of a session's life, and why there can be none."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from tests.factories.histories import history_of, receipt_of
from tests.factories.stores import Desk
from viewer.api import shapes
from viewer.errors import AlreadyUndone, NotBranchable, NotFound, NotUndoable, SessionEnded, StoreReadOnly
from viewer.history import indexes
from viewer.runs import branching, service
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.stores.hermes.reader import open_store

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
SAID = "role, content, tool_calls, tool_call_id, timestamp"


def compacted(desk: Desk, **options: Any) -> int:
    """The handoff of a compaction made now."""
    run = service.start(desk.store, desk.session_id, Options(**options), apply=True)
    assert run.status == "applied" and run.handoff_id
    return run.handoff_id


def context(desk: Desk, session_id: str) -> list[tuple[Any, ...]]:
    return desk.rows(f"SELECT {SAID} FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", session_id)


def everything(desk: Desk, session_id: str) -> list[list[tuple[Any, ...]]]:
    """All that is stored of a session."""
    messages = desk.rows("SELECT * FROM messages WHERE session_id = ? ORDER BY id", session_id)
    return [messages, desk.rows("SELECT * FROM sessions WHERE id = ?", session_id)]


def blocks(desk: Desk) -> list[tuple[int, int]]:
    """First row of the block and handoff of every compaction."""
    with open_store(desk.store) as reader:
        return [(found.block_ids[0], found.handoff_id) for found in history_of(reader, desk.session_id).boundaries]


def checked(desk: Desk, before: int | None, expected: list[tuple[Any, ...]]) -> str:
    """Make a branch that must hold exactly `expected`, as it was said beforehand; the source must stay as it is."""
    stored = everything(desk, desk.session_id)
    said = branching.outlook(desk.store, desk.session_id, before)
    made = branching.branch(desk.store, desk.session_id, before)
    assert context(desk, made) == expected
    assert (said.refusal, said.messages) == ("", len([row for row in expected if row[0] != "session_meta"]))
    assert everything(desk, desk.session_id) == stored
    assert desk.holders("compression_locks") == []
    return made


def refused(desk: Desk, before: int | None, kind: type[Exception], match: str) -> None:
    sessions = desk.rows("SELECT COUNT(*) FROM sessions")
    with pytest.raises(kind, match=match) as raised:
        branching.branch(desk.store, desk.session_id, before)
    assert branching.outlook(desk.store, desk.session_id, before).refusal == str(raised.value)
    assert desk.rows("SELECT COUNT(*) FROM sessions") == sessions


@pytest.mark.parametrize("version", [21, 31])
def test_any_moment_of_our_own_compactions(open_desk: Callable[..., Desk], version: int) -> None:
    """Exactly what was in context then: what came meanwhile, and what was taken back since."""
    desk = open_desk(version)
    moments = {}
    for keep_last in (60, 20, 5):
        before = context(desk, desk.session_id)
        moments[compacted(desk, keep_last=keep_last)] = before
        desk.append("something new")
        desk.append("a reply", role="assistant")
    for _ in range(3):  # the newest of these is a copy that the last compaction kept
        desk.take_back_newest()
    for handoff, before in moments.items():
        checked(desk, handoff, before)
    checked(desk, None, context(desk, desk.session_id))


@pytest.mark.usefixtures("shared_data")  # tool output worth shortening
def test_before_tool_output_was_shortened(desk: Desk) -> None:
    before = context(desk, desk.session_id)
    checked(desk, compacted(desk, strategy="prune"), before)


@pytest.mark.parametrize("version", [21, 31])
def test_any_moment_of_the_agents_compactions(open_desk: Callable[..., Desk], version: int) -> None:
    desk = open_desk(version)
    first, second = blocks(desk)
    rows = f"SELECT {SAID} FROM messages WHERE session_id = ? AND id BETWEEN ? AND ? ORDER BY id"
    newest = f"SELECT MAX(id) FROM messages WHERE session_id = ? AND id < {first[0]}"
    checked(desk, first[1], desk.rows(rows, desk.session_id, 0, desk.rows(newest, desk.session_id)[0][0]))
    checked(desk, second[1], desk.rows(rows, desk.session_id, first[0], second[0] - 1))


def test_a_part_of_a_split_conversation_can_be_branched_from_its_newest(open_desk: Callable[..., Desk]) -> None:
    """Schema 16, whose sessions cannot be compacted here."""
    desk = open_desk(16, "Airline desk, week 30 #4")
    parts = [row[0] for row in desk.rows("SELECT id FROM sessions WHERE title LIKE '%week 30%' ORDER BY started_at")]
    for part, (_, handoff) in zip(parts, blocks(desk), strict=False):
        made = checked(desk, handoff, context(desk, part))
        assert desk.rows("SELECT parent_session_id FROM sessions WHERE id = ?", made) == [(desk.session_id,)]
    made = checked(desk, None, context(desk, desk.session_id))
    title = desk.rows("SELECT title FROM sessions WHERE id = ?", made)[0][0]
    assert title == "Airline desk, week 30 (branch 4)", "one of the whole conversation, not of a part"


def test_when_undo_is_refused(desk: Desk) -> None:
    """What the branch is for: a later compaction stands on top, so that the earlier one cannot be taken back."""
    before = context(desk, desk.session_id)
    handoff = compacted(desk, keep_last=20)
    compacted(desk, keep_last=5)
    with pytest.raises(NotUndoable):
        service.undo(desk.store, desk.session_id, handoff)
    checked(desk, handoff, before)


def test_what_came_while_the_summary_was_made_was_in_context_too(desk: Desk) -> None:
    run = service.start(desk.store, desk.session_id, Options(), apply=False)
    desk.append("late one")
    before = context(desk, desk.session_id)
    service.apply(run)
    run.refresh_from_db()
    checked(desk, run.handoff_id, before)


def test_it_needs_no_lock(desk: Desk) -> None:
    """Nothing of the source is written: neither a running turn nor a compaction stands in the way."""
    desk.start_turn()
    desk.rows(
        "INSERT INTO compression_locks VALUES (?, 'pid=1:agent=other', unixepoch(), unixepoch() + 300)", desk.session_id
    )
    made = branching.branch(desk.store, desk.session_id, None)
    assert context(desk, made) == context(desk, desk.session_id)


def test_a_very_long_context_is_said_to_hold_up_the_agent(desk: Desk) -> None:
    """By the estimate that `make bench` is held against."""
    assert "hold up the agent" not in branching.outlook(desk.store, desk.session_id, None).warning
    desk.append("walnut " * 800_000)
    assert "hold up the agent for about 1 s" in branching.outlook(desk.store, desk.session_id, None).warning


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_messages_that_were_deleted_for_good(desk: Desk) -> None:
    handoff = compacted(desk)
    first = receipt_of(Run.objects.get())["before"][0]
    desk.rows("DELETE FROM messages WHERE id IN (?, ?)", first, first + 1)
    refused(desk, handoff, NotBranchable, "^2 of the messages from before this compaction no longer exist")


def test_a_transcript_that_was_written_anew(open_desk: Callable[..., Desk]) -> None:
    """As `replace_messages` does: every row is deleted, and what the agent holds in memory inserted. The start, which
    a compaction kept, stands before the handoff then and must not be taken for all there was.
    """
    desk = open_desk(21)
    names = ", ".join(name for _, name, *_ in desk.rows("PRAGMA table_info(messages)") if name != "id")
    newest = desk.rows("SELECT MAX(id) FROM messages")[0][0]
    live = "FROM messages WHERE session_id = ? AND active = 1 ORDER BY id"
    desk.rows(f"INSERT INTO messages ({names}) SELECT {names} {live}", desk.session_id)
    desk.rows("DELETE FROM messages WHERE session_id = ? AND id <= ?", desk.session_id, newest)
    ((_, handoff),) = blocks(desk)
    assert desk.rows("SELECT MIN(id) FROM messages WHERE session_id = ?", desk.session_id)[0][0] < handoff
    refused(desk, handoff, NotBranchable, "cannot be told which messages were in context")


def test_what_is_no_compaction(desk: Desk) -> None:
    for handoff in (5, -1, 0, 10**30):
        with pytest.raises(NotFound, match="not the handoff of a compaction"):
            branching.branch(desk.store, desk.session_id, handoff)
    with pytest.raises(NotFound, match="no session 'nobody'"):
        branching.outlook(desk.store, "nobody", None)


def test_an_undone_compaction_is_none_any_more(desk: Desk) -> None:
    handoff = compacted(desk)
    service.undo(desk.store, desk.session_id, handoff)
    with pytest.raises(AlreadyUndone, match="Already undone at"):
        branching.branch(desk.store, desk.session_id, handoff)


def test_an_older_part_names_the_newest(open_desk: Callable[..., Desk]) -> None:
    """An agent of schema 16 takes any child that begins after its parent ended for the continuation."""
    newest = open_desk(16, "Airline desk, week 30 #4")
    older = Desk(newest.store, newest.path, newest.rows("SELECT id FROM sessions WHERE title LIKE '%30 #2'")[0][0])
    refused(older, None, SessionEnded, f"went on in {newest.session_id}: branch from there")


def test_a_session_without_messages_and_a_store_that_cannot_be_written(desk: Desk) -> None:
    desk.rows("UPDATE messages SET active = 0 WHERE session_id = ?", desk.session_id)
    refused(desk, None, NotBranchable, "no message in context")
    desk.rows("ALTER TABLE sessions RENAME COLUMN model_config TO config")
    refused(desk, None, StoreReadOnly, "branch of another")


CALL = json.dumps(
    [{"id": f"call_{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}} for n in "ab"]
)


def said_in_a_turn(desk: Desk, role: str, **columns: str) -> None:
    """The agent writes a row while its turn runs."""
    names = ", ".join(["session_id", "role", "timestamp", *columns])
    marks = ", ".join("?" * len(columns))
    values = f"?, ?, unixepoch() + 0.5, {marks}"
    desk.rows(f"INSERT INTO messages ({names}) VALUES ({values})", desk.session_id, role, *columns.values())


def test_calls_that_wait_for_a_result_stay_where_the_turn_runs(desk: Desk) -> None:
    desk.append("Look it up, please.")
    before = context(desk, desk.session_id)
    said_in_a_turn(desk, "assistant", content="", tool_calls=CALL)
    checked(desk, None, before)
    assert (
        "waits for its result: the newest message is left out"
        in branching.outlook(desk.store, desk.session_id, None).warning
    )
    said_in_a_turn(desk, "tool", content="42", tool_call_id="call_b", tool_name="look")
    checked(desk, None, before)
    assert "the 2 newest messages are left out" in branching.outlook(desk.store, desk.session_id, None).warning
    said_in_a_turn(desk, "tool", content="43", tool_call_id="call_a", tool_name="look")
    checked(desk, None, context(desk, desk.session_id))
    assert "left out" not in branching.outlook(desk.store, desk.session_id, None).warning


def test_a_call_left_behind_in_the_middle_comes_along(desk: Desk) -> None:
    """The agent itself mends what it sends of these."""
    said_in_a_turn(desk, "assistant", content="", tool_calls=CALL)
    desk.append("Never mind.")
    checked(desk, None, context(desk, desk.session_id))


def test_nothing_but_a_call_that_waits_is_nothing_to_branch_from(desk: Desk) -> None:
    desk.rows("UPDATE messages SET active = 0 WHERE session_id = ?", desk.session_id)
    said_in_a_turn(desk, "assistant", content="", tool_calls=CALL)
    refused(desk, None, NotBranchable, "no message in context that a branch can begin with")


# -- the command -------------------------------------------------------------------------------------------------------


def run(*arguments: str) -> str:
    """What the command prints."""
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_the_command(desk: Desk) -> None:
    (_, first), _ = blocks(desk)
    said = run("branch", "hermes", desk.session_id, "--before", str(first))
    made = desk.rows("SELECT id, message_count FROM sessions WHERE title LIKE '%(branch)'")[0]
    assert f"session {made[0]}, “Airline desk, week 29 (branch)”, {made[1]:,} messages" in said
    assert said.rstrip().endswith(f"hermes --resume {made[0]}")
    answer = json.loads(run("branch", "hermes", desk.session_id, "--json"))
    assert (answer["title"], answer["messages_live"]) == ("Airline desk, week 29 (branch 2)", len(desk.live()))
    assert answer["resume"] == f"hermes --resume {answer['id']}"


def test_the_command_says_what_it_made_before_its_tokens_are_counted(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shapes, "COUNTING_SECONDS", 0.0)
    monkeypatch.setattr(indexes, "AT_ONCE", 1)
    said = run("branch", "hermes", desk.session_id)
    assert "(branch)”" in said and "tokens" not in said and "messages. Go on with it: hermes --resume" in said


def test_the_command_refuses_in_one_line(desk: Desk) -> None:
    with pytest.raises(SystemExit, match="no session 'nobody'"):
        run("branch", "hermes", "nobody")
    out = StringIO()
    with pytest.raises(SystemExit, match="not the handoff"):
        call_command("branch", "hermes", desk.session_id, "--before", "5", "--json", stdout=out)
    assert json.loads(out.getvalue())["error"]["code"] == "not_found"
