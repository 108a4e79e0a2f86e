"""Branches from any moment of a session's life, and why there can be none."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from tests.factories.histories import history_of, receipt_of
from tests.factories.stores import HermesStore
from viewer.api import shapes
from viewer.history import index_cache
from viewer.runs import branching, service
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.stores.errors import AlreadyUndone, NotBranchable, NotFound, NotUndoable, SessionEnded, StoreReadOnly
from viewer.stores.hermes.reader import open_store

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
SAID = "role, content, tool_calls, tool_call_id, timestamp"


def compacted(hermes_store: HermesStore, **options: Any) -> int:
    """The handoff of a compaction made now."""
    run = service.start(hermes_store.store, hermes_store.session_id, Options(**options), apply=True)
    assert run.status == "applied" and run.handoff_id
    return run.handoff_id


def context(hermes_store: HermesStore, session_id: str) -> list[tuple[Any, ...]]:
    return hermes_store.rows(f"SELECT {SAID} FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", session_id)


def everything(hermes_store: HermesStore, session_id: str) -> list[list[tuple[Any, ...]]]:
    """All that is stored of a session."""
    messages = hermes_store.rows("SELECT * FROM messages WHERE session_id = ? ORDER BY id", session_id)
    return [messages, hermes_store.rows("SELECT * FROM sessions WHERE id = ?", session_id)]


def blocks(hermes_store: HermesStore) -> list[tuple[int, int]]:
    """First row of the block and handoff of every compaction."""
    with open_store(hermes_store.store) as reader:
        return [
            (found.block_ids[0], found.handoff_id) for found in history_of(reader, hermes_store.session_id).boundaries
        ]


def checked(hermes_store: HermesStore, before: int | None, expected: list[tuple[Any, ...]]) -> str:
    """Make a branch that must hold exactly `expected`, as it was said beforehand; the source must stay as it is."""
    stored = everything(hermes_store, hermes_store.session_id)
    said = branching.outlook(hermes_store.store, hermes_store.session_id, before)
    made = branching.branch(hermes_store.store, hermes_store.session_id, before)
    assert context(hermes_store, made) == expected
    assert (said.refusal, said.messages) == ("", len([row for row in expected if row[0] != "session_meta"]))
    assert everything(hermes_store, hermes_store.session_id) == stored
    assert hermes_store.holders("compression_locks") == []
    return made


def refused(hermes_store: HermesStore, before: int | None, kind: type[Exception], match: str) -> None:
    sessions = hermes_store.rows("SELECT COUNT(*) FROM sessions")
    with pytest.raises(kind, match=match) as raised:
        branching.branch(hermes_store.store, hermes_store.session_id, before)
    assert branching.outlook(hermes_store.store, hermes_store.session_id, before).refusal == str(raised.value)
    assert hermes_store.rows("SELECT COUNT(*) FROM sessions") == sessions


@pytest.mark.parametrize("version", [21, 31])
def test_any_moment_of_our_own_compactions(open_hermes_store: Callable[..., HermesStore], version: int) -> None:
    """Exactly what was in context then: what came meanwhile, and what was taken back since."""
    hermes_store = open_hermes_store(version)
    moments = {}
    for keep_last in (20, 8, 4):
        before = context(hermes_store, hermes_store.session_id)
        moments[compacted(hermes_store, keep_last=keep_last)] = before
        hermes_store.append("something new " * 200)
        hermes_store.append("a reply", role="assistant")
    for _ in range(3):  # the newest of these is a copy that the last compaction kept
        hermes_store.take_back_newest()
    for handoff, before in moments.items():
        checked(hermes_store, handoff, before)
    checked(hermes_store, None, context(hermes_store, hermes_store.session_id))


def test_before_tool_output_was_shortened(hermes_store: HermesStore) -> None:
    before = context(hermes_store, hermes_store.session_id)
    checked(hermes_store, compacted(hermes_store, strategy="prune"), before)


@pytest.mark.parametrize("version", [21, 31])
def test_any_moment_of_the_agents_compactions(open_hermes_store: Callable[..., HermesStore], version: int) -> None:
    hermes_store = open_hermes_store(version)
    first, second = blocks(hermes_store)
    rows = f"SELECT {SAID} FROM messages WHERE session_id = ? AND id BETWEEN ? AND ? ORDER BY id"
    newest = f"SELECT MAX(id) FROM messages WHERE session_id = ? AND id < {first[0]}"
    checked(
        hermes_store,
        first[1],
        hermes_store.rows(rows, hermes_store.session_id, 0, hermes_store.rows(newest, hermes_store.session_id)[0][0]),
    )
    checked(hermes_store, second[1], hermes_store.rows(rows, hermes_store.session_id, first[0], second[0] - 1))


def test_a_part_of_a_split_conversation_can_be_branched_from_its_newest(
    open_hermes_store: Callable[..., HermesStore],
) -> None:
    """Schema 16, whose sessions cannot be compacted here."""
    hermes_store = open_hermes_store(16, "Airline desk, week 30 #4")
    parts = [
        row[0] for row in hermes_store.rows("SELECT id FROM sessions WHERE title LIKE '%week 30%' ORDER BY started_at")
    ]
    for part, (_, handoff) in zip(parts, blocks(hermes_store), strict=False):
        made = checked(hermes_store, handoff, context(hermes_store, part))
        assert hermes_store.rows("SELECT parent_session_id FROM sessions WHERE id = ?", made) == [
            (hermes_store.session_id,)
        ]
    made = checked(hermes_store, None, context(hermes_store, hermes_store.session_id))
    title = hermes_store.rows("SELECT title FROM sessions WHERE id = ?", made)[0][0]
    assert title == "Airline desk, week 30 (branch 4)", "one of the whole conversation, not of a part"


def test_when_undo_is_refused(hermes_store: HermesStore) -> None:
    """What the branch is for: a later compaction stands on top, so that the earlier one cannot be taken back."""
    before = context(hermes_store, hermes_store.session_id)
    handoff = compacted(hermes_store, keep_last=12)
    compacted(hermes_store, keep_last=5)
    with pytest.raises(NotUndoable):
        service.undo(hermes_store.store, hermes_store.session_id, handoff)
    checked(hermes_store, handoff, before)


def test_what_came_while_the_summary_was_made_was_in_context_too(hermes_store: HermesStore) -> None:
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=False)
    hermes_store.append("late one")
    before = context(hermes_store, hermes_store.session_id)
    service.apply(run)
    run.refresh_from_db()
    checked(hermes_store, run.handoff_id, before)


def test_it_needs_no_lock(hermes_store: HermesStore) -> None:
    """Nothing of the source is written: neither a running turn nor a compaction stands in the way."""
    hermes_store.start_turn()
    hermes_store.rows(
        "INSERT INTO compression_locks VALUES (?, 'pid=1:agent=other', unixepoch(), unixepoch() + 300)",
        hermes_store.session_id,
    )
    made = branching.branch(hermes_store.store, hermes_store.session_id, None)
    assert context(hermes_store, made) == context(hermes_store, hermes_store.session_id)


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_messages_that_were_deleted_for_good(hermes_store: HermesStore) -> None:
    handoff = compacted(hermes_store)
    first = receipt_of(Run.objects.get())["before"][0]
    hermes_store.rows("DELETE FROM messages WHERE id IN (?, ?)", first, first + 1)
    refused(hermes_store, handoff, NotBranchable, "^2 of the messages from before this compaction no longer exist")


def test_a_transcript_that_was_written_anew(open_hermes_store: Callable[..., HermesStore]) -> None:
    """As `replace_messages` does: every row is deleted, and what the agent holds in memory inserted. The start, which
    a compaction kept, stands before the handoff then and must not be taken for all there was.
    """
    hermes_store = open_hermes_store(21)
    names = ", ".join(name for _, name, *_ in hermes_store.rows("PRAGMA table_info(messages)") if name != "id")
    newest = hermes_store.rows("SELECT MAX(id) FROM messages")[0][0]
    live = "FROM messages WHERE session_id = ? AND active = 1 ORDER BY id"
    hermes_store.rows(f"INSERT INTO messages ({names}) SELECT {names} {live}", hermes_store.session_id)
    hermes_store.rows("DELETE FROM messages WHERE session_id = ? AND id <= ?", hermes_store.session_id, newest)
    ((_, handoff),) = blocks(hermes_store)
    assert (
        hermes_store.rows("SELECT MIN(id) FROM messages WHERE session_id = ?", hermes_store.session_id)[0][0] < handoff
    )
    refused(hermes_store, handoff, NotBranchable, "is not known which messages were in context")


def test_what_is_no_compaction(hermes_store: HermesStore) -> None:
    for handoff in (5, -1, 0, 10**30):
        with pytest.raises(NotFound, match="no compaction with the id"):
            branching.branch(hermes_store.store, hermes_store.session_id, handoff)
    with pytest.raises(NotFound, match="no session 'nobody'"):
        branching.outlook(hermes_store.store, "nobody", None)


def test_an_undone_compaction_is_none_any_more(hermes_store: HermesStore) -> None:
    handoff = compacted(hermes_store)
    service.undo(hermes_store.store, hermes_store.session_id, handoff)
    with pytest.raises(AlreadyUndone, match="Already undone at"):
        branching.branch(hermes_store.store, hermes_store.session_id, handoff)


def test_an_older_part_names_the_newest(open_hermes_store: Callable[..., HermesStore]) -> None:
    """An agent of schema 16 takes any child that begins after its parent ended for the continuation."""
    newest = open_hermes_store(16, "Airline desk, week 30 #4")
    older = HermesStore(
        newest.store, newest.path, newest.rows("SELECT id FROM sessions WHERE title LIKE '%30 #2'")[0][0]
    )
    refused(older, None, SessionEnded, f"went on in {newest.session_id}: branch from there")


def test_a_session_without_messages_and_a_store_that_cannot_be_written(hermes_store: HermesStore) -> None:
    hermes_store.rows("UPDATE messages SET active = 0 WHERE session_id = ?", hermes_store.session_id)
    refused(hermes_store, None, NotBranchable, "no message in context")
    hermes_store.rows("ALTER TABLE sessions RENAME COLUMN model_config TO config")
    refused(hermes_store, None, StoreReadOnly, "branch of another")


CALL = json.dumps(
    [{"id": f"call_{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}} for n in "ab"]
)


def said_in_a_turn(hermes_store: HermesStore, role: str, **columns: str) -> None:
    """The agent writes a row while its turn runs."""
    names = ", ".join(["session_id", "role", "timestamp", *columns])
    marks = ", ".join("?" * len(columns))
    values = f"?, ?, unixepoch() + 0.5, {marks}"
    hermes_store.rows(
        f"INSERT INTO messages ({names}) VALUES ({values})", hermes_store.session_id, role, *columns.values()
    )


def test_calls_that_wait_for_a_result_stay_where_the_turn_runs(hermes_store: HermesStore) -> None:
    hermes_store.append("Look it up, please.")
    before = context(hermes_store, hermes_store.session_id)
    said_in_a_turn(hermes_store, "assistant", content="", tool_calls=CALL)
    checked(hermes_store, None, before)
    assert (
        "waits for its result: the newest message is left out"
        in branching.outlook(hermes_store.store, hermes_store.session_id, None).warning
    )
    said_in_a_turn(hermes_store, "tool", content="42", tool_call_id="call_b", tool_name="look")
    checked(hermes_store, None, before)
    assert (
        "the 2 newest messages are left out"
        in branching.outlook(hermes_store.store, hermes_store.session_id, None).warning
    )
    said_in_a_turn(hermes_store, "tool", content="43", tool_call_id="call_a", tool_name="look")
    checked(hermes_store, None, context(hermes_store, hermes_store.session_id))
    assert "left out" not in branching.outlook(hermes_store.store, hermes_store.session_id, None).warning


def test_a_call_left_behind_in_the_middle_comes_along(hermes_store: HermesStore) -> None:
    """The agent itself mends what it sends of these."""
    said_in_a_turn(hermes_store, "assistant", content="", tool_calls=CALL)
    hermes_store.append("Never mind.")
    checked(hermes_store, None, context(hermes_store, hermes_store.session_id))


def test_nothing_but_a_call_that_waits_is_nothing_to_branch_from(hermes_store: HermesStore) -> None:
    hermes_store.rows("UPDATE messages SET active = 0 WHERE session_id = ?", hermes_store.session_id)
    said_in_a_turn(hermes_store, "assistant", content="", tool_calls=CALL)
    refused(hermes_store, None, NotBranchable, "no message in context that a branch can start with")


# -- the command -------------------------------------------------------------------------------------------------------


def run(*arguments: str) -> str:
    """What the command prints."""
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_the_command(hermes_store: HermesStore) -> None:
    (_, first), _ = blocks(hermes_store)
    said = run("branch", "hermes", hermes_store.session_id, "--before", str(first))
    made = hermes_store.rows("SELECT id, message_count FROM sessions WHERE title LIKE '%(branch)'")[0]
    assert f"session {made[0]}, “Airline desk, week 29 (branch)”, {made[1]:,} messages" in said
    assert said.rstrip().endswith(f"hermes --resume {made[0]}")
    answer = json.loads(run("branch", "hermes", hermes_store.session_id, "--json"))
    assert (answer["title"], answer["messages_live"]) == ("Airline desk, week 29 (branch 2)", len(hermes_store.live()))
    assert answer["resume"] == f"hermes --resume {answer['id']}"


def test_the_command_says_what_it_made_before_its_tokens_are_counted(
    hermes_store: HermesStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shapes, "COUNTING_SECONDS", 0.0)
    monkeypatch.setattr(index_cache, "AT_ONCE", 1)
    said = run("branch", "hermes", hermes_store.session_id)
    assert "(branch)”" in said and "tokens" not in said and "messages. Go on with it: hermes --resume" in said


def test_the_command_refuses_in_one_line(hermes_store: HermesStore) -> None:
    with pytest.raises(SystemExit, match="no session 'nobody'"):
        run("branch", "hermes", "nobody")
    out = StringIO()
    with pytest.raises(SystemExit, match="no compaction with the id"):
        call_command("branch", "hermes", hermes_store.session_id, "--before", "5", "--json", stdout=out)
    assert json.loads(out.getvalue())["error"]["code"] == "not_found"
