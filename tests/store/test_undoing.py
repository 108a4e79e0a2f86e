"""Undo, whatever the agent did since: for our compactions and for the newest one the agent itself made."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.agents.hermes.at_work import HermesAtWork
from tests.factories.stores import WEEK_29, reader_of
from tests.slow import slow
from tests.store.commits import committed, live, map_of, path, planned, query, said, steps_for, undone
from viewer.stores.errors import StoreError
from viewer.stores.hermes import messages, undo

__all__ = ["path"]

Said = list[tuple[Any, ...]]


@dataclass
class Done:
    """A compaction that stands: what was in context before it, its block, and what was said after it."""

    path: Path
    what: undo.Undoing
    before: Said
    since: Said
    agent: HermesAtWork

    def say(self, *words: str) -> None:
        self.since += self.agent.say(*words)

    def take_back_copies(self) -> None:
        """Rewind to the newest of the agent's user messages that was kept: everything since goes as well."""
        block = [row for row in self.agent.rows() if row[0] in set(self.what.block_ids)]
        target = [row for row in block if row[1] == "user"][-1]
        gone = len(block) - block.index(target)
        self.agent.rewind(target[0])
        self.before, self.since = self.before[:-gone], []

    def take_back_later(self) -> None:
        """Rewind to the last of three turns that came after."""
        self.say("one", "1", "two", "2", "three", "3")
        self.agent.rewind(self.agent.rows()[-2][0])
        self.since = self.since[:-2]

    def take_back_handoff(self) -> None:
        """Rewind to the first row of the block."""
        self.agent.rewind(self.what.block_ids[0])

    def edit(self) -> None:
        """Say the newest kept message of a user in other words: what followed is dropped."""
        block = [row for row in self.agent.rows() if row[0] in set(self.what.block_ids)]
        target = [row for row in block if row[1] == "user"][-1]
        gone = len(block) - block.index(target)
        new = [("user", "in other words", None, None, None, 1.9e9), ("assistant", "yes", None, None, None, 1.9e9 + 1)]
        self.agent.edit(target[0], new)
        self.before, self.since = self.before[:-gone], new

    def replace(self, *, active_only: bool) -> None:
        self.agent.replace([row[1:] for row in self.agent.rows()], active_only=active_only)

    def compact_again(self) -> None:
        """We compact on top."""
        self.say(*map(str, range(40)))
        snapshot = planned(self.path)
        committed(self.path, snapshot, steps_for(snapshot))

    def agent_compacts_again(self) -> None:
        self.say(*map(str, range(40)))
        self.agent.compact()


def ours(path: Path) -> Done:
    before, snapshot = said(path), planned(path)
    commit = committed(path, snapshot, steps_for(snapshot))
    return Done(path, map_of(snapshot, commit), before, [], HermesAtWork(path, WEEK_29))


def agents(path: Path) -> Done:
    """The newest compaction in the database, which the agent made; 16 messages came after it."""
    with reader_of(path) as reader:
        history = messages.read_history(reader, WEEK_29)
    what = undo.undoing_of_boundary(WEEK_29, history.boundaries[-1])
    agent = HermesAtWork(path, WEEK_29)
    by_id = {row[0]: row[1:] for row in agent.rows("1")}
    before = [by_id[row_id] for row_id in sorted(what.originals)]
    since = [row[1:] for row in agent.rows() if row[0] not in set(what.block_ids)]
    assert len(since) == 16
    return Done(path, what, before, since, agent)


def agents_new(path: Path) -> Done:
    """A compaction that the agent makes now, as its own statements do."""
    before, agent = said(path), HermesAtWork(path, WEEK_29)
    agent.compact()
    with reader_of(path) as reader:
        history = messages.read_history(reader, WEEK_29)
    what = undo.undoing_of_boundary(WEEK_29, history.boundaries[-1])
    return Done(path, what, before, [], agent)


RESTORED: dict[str, Callable[[Done], object]] = {
    "nothing": lambda done: None,
    "messages": lambda done: done.say("and now?", "now this", "thanks"),
    "take-backs of kept messages": Done.take_back_copies,
    "take-backs of messages since": Done.take_back_later,
    "a kept message in other words": Done.edit,
    "the session ended": lambda done: done.agent.end("cli_close"),
}
REFUSED: dict[str, tuple[Callable[[Done], object], str]] = {
    "live rows written anew": (lambda done: done.replace(active_only=True), "what it inserted no longer exists"),
    "all rows written anew": (lambda done: done.replace(active_only=False), r"\d+ of the messages .* no longer exist"),
    "our compaction on top": (Done.compact_again, "A later compaction came after"),
    "its compaction on top": (Done.agent_compacts_again, "A later compaction came after"),
    "the handoff taken back": (Done.take_back_handoff, "not in effect any more"),
    "the session split": (lambda done: done.agent.end("compression"), "gone on in another session"),
}


@pytest.fixture(params=[ours, agents, *slow(agents_new)], ids=["ours", "the agent's", "the agent's just now"])
def done(path: Path, request: pytest.FixtureRequest) -> Done:
    made: Done = request.param(path)
    return made


def outlook_of(done: Done) -> undo.Outlook:
    with reader_of(done.path) as reader:
        return undo.check_undo(reader, done.what)


@pytest.mark.parametrize("since", RESTORED)
def test_the_context_before_comes_back_and_what_came_since_stays(done: Done, since: str) -> None:
    RESTORED[since](done)
    others = query(done.path, "SELECT * FROM messages WHERE session_id <> ?", WEEK_29)
    outlook, in_history = outlook_of(done), shown(done.path)
    assert outlook.refusal == ""
    assert undone(done.path, done.what) == outlook
    assert said(done.path) == [*done.before, *done.since]
    assert (len(outlook.restored), len(outlook.later)) == (len(done.before), len(done.since))
    assert [row[0] for row in live(done.path)] == [*outlook.restored, *outlook.later]
    count = query(done.path, "SELECT message_count FROM sessions WHERE id = ?", WEEK_29)
    assert count == [(len(done.before) + len(done.since),)]
    assert query(done.path, "SELECT * FROM messages WHERE session_id <> ?", WEEK_29) == others
    assert query(done.path, "PRAGMA integrity_check") == [("ok",)]
    assert shown(done.path) == in_history, "what History shows is the same"
    assert outlook_of(done).refusal != "", "it is not undone twice"


@pytest.mark.parametrize("kept", [False, True], ids=["said since", "kept"])
def test_what_was_taken_back_by_then_is_noted(done: Done, kept: bool) -> None:
    """Later a row at (0,0) may also be one that the agent dropped when it compacted."""
    done.say("one", "1", "two", "2")
    before, end = done.agent.rows(), max(done.what.block_ids)
    asked = [row[0] for row in before if row[1] == "user" and (row[0] in done.what.block_ids if kept else row[0] > end)]
    done.agent.rewind(asked[-1])
    gone = {row[0] for row in before} - {row[0] for row in done.agent.rows()}
    sources = {source for source in done.what.originals if gone.intersection(done.what.copies_of(source))}
    behind = {row_id for row_id in gone if row_id > end}
    assert behind and bool(sources) == kept
    assert set(undo.undo_receipt(done.what, outlook_of(done))["taken_back"]) == sources | behind


def shown(path: Path) -> list[tuple[str, float, Any]]:
    """Every message of History: role, time and text."""
    with reader_of(path) as reader:
        history = messages.read_history(reader, WEEK_29)
        rows = [item.row for item in messages.history_messages(reader, history.entries)]
    return [(row.role, row.timestamp, row.content) for row in rows]


@pytest.mark.parametrize("since", REFUSED)
def test_what_cannot_be_undone_says_why_and_stays(done: Done, since: str) -> None:
    happens, reason = REFUSED[since]
    happens(done)
    before = query(done.path, "SELECT * FROM messages"), query(done.path, "SELECT * FROM sessions")
    with pytest.raises(StoreError, match=reason) as refused:
        undone(done.path, done.what)
    if since != "the session split":  # which the run sees before it looks further
        assert outlook_of(done).refusal == refused.value.message and refused.value.code == "not_undoable"
    assert (query(done.path, "SELECT * FROM messages"), query(done.path, "SELECT * FROM sessions")) == before


# -- what cannot be put back exactly -----------------------------------------------------------------------------------


def by_hand(path: Path, rows: Sequence[tuple[str, str, dict[str, Any]]]) -> list[int]:
    """These rows at the end of the session: role, content and further columns; their ids."""
    with closing(sqlite3.connect(path)) as con, con:
        ids = []
        for at, (role, content, more) in enumerate(rows):
            values = {"session_id": WEEK_29, "role": role, "content": content, "timestamp": 1.97e9 + at, **more}
            names = ", ".join(values)
            marks = ", ".join("?" * len(values))
            ids.append(con.execute(f"INSERT INTO messages ({names}) VALUES ({marks})", list(values.values())).lastrowid)
        return [row_id for row_id in ids if row_id]


CALLS = '[{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]'
UNDER = {"active": 0, "compacted": 1}


@pytest.mark.parametrize(
    ("left_out", "reason"),
    [
        ([], ""),
        ([2], "1 message would come back without the call or the result it belongs to"),
        ([1], "1 message would come back without the call or the result it belongs to"),
    ],
)
def test_what_would_come_back_without_its_call_or_result_is_refused(
    path: Path, left_out: list[int], reason: str
) -> None:
    before = by_hand(path, [
        ("user", "do it", UNDER),
        ("assistant", "", {"tool_calls": CALLS, **UNDER}),
        ("tool", "done", {"tool_call_id": "c1", **UNDER}),
        ("user", "thanks", UNDER),
    ])  # fmt: skip
    (handoff,) = by_hand(path, [("assistant", "[CONTEXT SUMMARY]: sum", {})])
    originals: dict[int, int | None] = {row_id: None for at, row_id in enumerate(before) if at not in left_out}
    with reader_of(path) as reader:
        said = undo.check_undo(reader, undo.Undoing(WEEK_29, handoff, (handoff,), originals)).refusal
    assert reason in said if reason else said == ""


@pytest.mark.parametrize(
    ("content", "refused"),
    [
        ("a new question", True),
        ("Continue from the compressed conversation context above. This marker", False),
        ("Continue from the compressed conversation context above. This marker\n\na new question", True),
        ("[STILL IN PROGRESS — this is the active request.]\nFix it.", False),
    ],
)
def test_a_message_that_came_with_the_block_is_not_taken_out_of_context(
    path: Path, content: str, refused: bool
) -> None:
    (before,) = by_hand(path, [("user", "hello", UNDER)])
    handoff, loose = by_hand(path, [("assistant", "[CONTEXT SUMMARY]: sum", {}), ("user", content, {})])
    with reader_of(path) as reader:
        what = undo.Undoing(WEEK_29, handoff, (handoff, loose), {before: None})
        said = undo.check_undo(reader, what).refusal
    assert ("would take 1 message out of context" in said) == refused


@pytest.mark.parametrize(("first", "later"), [("live", ""), ("under", "u1"), ("under", "u2")])
def test_a_message_that_would_be_in_context_twice_is_not_brought_back(path: Path, first: str, later: str) -> None:
    """What History took for summarised is there still, or a later row has its name."""
    with closing(sqlite3.connect(path)) as con:
        named = "message_uid" in [column[1] for column in con.execute("PRAGMA table_info(messages)")]

    def name(uid: str) -> dict[str, Any]:
        return {"message_uid": uid} if named and uid else {}

    (before,) = by_hand(path, [("user", "hello", name("u1") | (UNDER if first == "under" else {}))])
    (handoff,) = by_hand(path, [("assistant", "[CONTEXT SUMMARY]: sum", {})])
    by_hand(path, [("user", "later", {"timestamp": 1.98e9, **name(later)})] if later else [])
    with reader_of(path) as reader:
        what = undo.Undoing(WEEK_29, handoff, (handoff,), {before: None}, found=True)
        said = undo.check_undo(reader, what).refusal
    assert (said == undo.UNTOLD) == (first == "live" or (named and later == "u1"))


def test_a_boundary_that_is_not_sure_is_not_undone(done: Done) -> None:
    done.what = replace(done.what, unsure=True)
    before = done.agent.rows()
    assert "is not known what was in context" in outlook_of(done).refusal
    with pytest.raises(StoreError, match="is not known what was in context"):
        undone(done.path, done.what)
    assert done.agent.rows() == before


@pytest.mark.parametrize("path", [31], indirect=True)
def test_a_name_of_the_trigger_that_looks_given_is_not_believed(path: Path) -> None:
    """Two in a row, directly behind rows with names that the agent gave."""
    before, agent = said(path), HermesAtWork(path, WEEK_29)
    newest = query(path, "SELECT max(id) FROM messages")[0][0]
    agent.compact()
    for (row_id,) in query(path, "SELECT id FROM messages WHERE id > ? ORDER BY id LIMIT 2", newest):
        query(path, "UPDATE messages SET message_uid = ? WHERE id = ?", uuid.UUID(int=row_id, version=4).hex, row_id)
    with reader_of(path) as reader:
        history = messages.read_history(reader, WEEK_29)
    undone(path, undo.undoing_of_boundary(WEEK_29, history.boundaries[-1]))
    assert said(path) == before
