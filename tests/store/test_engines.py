"""Handoffs that other engines write into a Hermes store: hermes-lcm, its descendants, lossless-claw."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import compaction
from compaction.handoff import OBJECTIVE
from tests.factories.other_engines import ASKED, FRAMES, SENT, compacted_by_engine, handoff_rows
from tests.factories.stores import add_row, add_session, reader_of, small_talk
from tests.slow import slow
from viewer.stores.hermes import messages, undo
from viewer.stores.hermes.reader import HermesReader
from viewer.stores.message import Handoff, HistoryMessage, message_of
from viewer.stores.transcript import TranscriptIndex


def history_of(path: Path) -> tuple[TranscriptIndex, list[HistoryMessage | Handoff]]:
    with reader_of(path) as reader:
        history = messages.read_history(reader, "s1")
        return history, messages.history_messages(reader, history.items)


@pytest.mark.parametrize("role", ["user", *slow("assistant")])
@pytest.mark.parametrize("form", SENT)
def test_what_an_engine_made_is_a_boundary_and_no_message(tmp_path: Path, form: str, role: str) -> None:
    path = small_talk(tmp_path / "state.db", 20)
    handoff = compacted_by_engine(path, SENT[form], role=role)
    history, shown = history_of(path)
    [boundary] = history.boundaries
    handoffs = handoff_rows(form)
    assert boundary.handoff_id in range(handoff, handoff + handoffs)
    assert (boundary.messages_before, boundary.messages_after) == (20, 4 + handoffs)
    said = [item.content for item in shown if isinstance(item, HistoryMessage)]
    assert said == [f"message {number}" for number in range(20)]
    [summary] = [item.summary for item in shown if isinstance(item, Handoff)]
    first = SENT[form][0] if isinstance(SENT[form], tuple) else str(SENT[form])
    for words in ("The desk moved in May.", "The tokens were rotated."):
        assert (words in summary) == (words in first)
    assert "[" not in summary


@pytest.mark.parametrize("form", SENT)
def test_where_the_older_rows_are_gone_nothing_else_is(tmp_path: Path, form: str) -> None:
    path = small_talk(tmp_path / "state.db", 20)
    compacted_by_engine(path, SENT[form], gone=True)
    history, shown = history_of(path)
    assert len(history.boundaries) == 1
    said = [item.content for item in shown if isinstance(item, HistoryMessage)]
    asked = ["message 14"] if "the request" in form else []
    assert said == [*asked, *(f"message {number}" for number in range(16, 20))]


@pytest.mark.parametrize("form", SENT)
def test_it_is_undone_where_its_rows_allow(tmp_path: Path, form: str) -> None:
    path = small_talk(tmp_path / "state.db", 20)
    compacted_by_engine(path, SENT[form])
    history, _ = history_of(path)
    what = undo.undoing_of_boundary("s1", history.boundaries[-1])
    assert len(what.originals) == 20
    with reader_of(path) as reader:
        outlook = undo.check_undo(reader, what)
    assert outlook.refusal == ""
    assert (len(outlook.restored), outlook.later) == (20, ())


@pytest.mark.parametrize("form", SENT)
def test_the_next_compaction_folds_it_and_asks_nothing_again(tmp_path: Path, form: str) -> None:
    path = small_talk(tmp_path / "state.db", 20)
    compacted_by_engine(path, SENT[form])
    for number in range(40):
        add_row(
            path, role=("user", "assistant")[number % 2], content=f"later {number} " + "word " * 200, timestamp=9100.0
        )
    with reader_of(path) as reader:
        messages = [message_of(row) for row in reader.live("s1")]
    plan = compaction.plan(messages, compaction.Policy(context_window=20_000, handoff="hermes"), len)
    assert "The desk moved in May." in plan.previous_summary
    assert ("The tokens were rotated." in plan.previous_summary) == (form != "lossless-claw")
    requests: list[compaction.SummaryRequest] = []

    def ask(request: compaction.SummaryRequest) -> str:
        requests.append(request)
        return "## Goal\nGo on."

    result = compaction.apply(plan, compaction.summarize(plan, ask))
    assert all("The desk moved" not in request.digest for request in requests)
    kept = "\n".join(str(message["content"]) for message in result.messages)
    assert "Summary (d" not in kept
    assert OBJECTIVE not in kept
    assert "<summary" not in kept


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (FRAMES, "And now?"),
        (FRAMES.replace("moved", "moved, and " + "word " * 9_000), "And now?"),  # longer than what is read of a row
        (f"{FRAMES}\n\nGo on with it.", "Go on with it."),
        (f"{ASKED}\n\n---\n\n{FRAMES}", "message 14"),
        (ASKED, "message 14"),
    ],
)
def test_a_session_begins_with_what_somebody_said(tmp_path: Path, text: str, words: str) -> None:
    path = small_talk(tmp_path / "state.db", 0)
    with sqlite3.connect(path) as con:
        con.execute("UPDATE sessions SET title = NULL")
    add_row(path, content=text)
    add_row(path, content="And now?", timestamp=3.0)
    with reader_of(path) as reader:
        assert reader.session("s1").first_words == words


# -- forms that nobody knows -------------------------------------------------------------------------------------------

UNKNOWN = "[Folded context, tier 2 of 3]\n" + "The desk moved in May, and the tokens were rotated. " * 20


def suspected_in(reader: HermesReader, session_id: str) -> int | None:
    return reader.suspected_handoff(session_id, [row.id for row in reader.live(session_id)])


def suspected(path: Path) -> int | None:
    with reader_of(path) as reader:
        return suspected_in(reader, "s1")


@pytest.mark.parametrize(
    "head", ["[Folded context, tier 2 of 3]\n", "[CONTEXT v9]: ", '<compacted-history tier="2">\n']
)
def test_a_long_message_with_a_head_in_brackets_that_stands_for_others_is_suspected(tmp_path: Path, head: str) -> None:
    path = small_talk(tmp_path / "state.db", 20)
    row = compacted_by_engine(path, head + UNKNOWN.partition("\n")[2])
    assert suspected(path) == row
    history, shown = history_of(path)
    assert not history.boundaries
    assert head.strip() in "".join(str(item.content) for item in shown if isinstance(item, HistoryMessage))


def test_it_is_suspected_where_the_older_rows_are_gone_or_in_another_session(tmp_path: Path) -> None:
    path = small_talk(tmp_path / "state.db", 20)
    assert suspected(path) is None
    row = compacted_by_engine(path, UNKNOWN, gone=True)
    assert suspected(path) == row
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("UPDATE sessions SET end_reason = 'compression', ended_at = 9")
    add_session(path, "s2", parent_session_id="s1")
    row = add_row(path, "s2", content=UNKNOWN)
    with reader_of(path) as reader:
        assert suspected_in(reader, "s2") is None  # what the part before it has is a copy
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("UPDATE messages SET content = content || ' More.' WHERE id = ?", [row])
    with reader_of(path) as reader:
        assert suspected_in(reader, "s2") == row


@pytest.mark.parametrize(
    "text",
    [
        "[Ann] " + "short",
        "No head. " * 100,
        "[x] done\n" + "and more of the list\n" * 50,
        "[a link](https://example.org) " + "and what it is about " * 50,
        "[System: you were interrupted] " + "and so on " * 80,
    ],
)
def test_what_has_no_such_shape_is_not_suspected(tmp_path: Path, text: str) -> None:
    path = small_talk(tmp_path / "state.db", 20)
    compacted_by_engine(path, text)
    assert suspected(path) is None


def test_in_the_midst_of_a_talk_or_beside_a_known_handoff_nothing_is_suspected(tmp_path: Path) -> None:
    path = small_talk(tmp_path / "state.db", 20)
    add_row(path, content=UNKNOWN, timestamp=99.0)
    assert suspected(path) is None
    compacted_by_engine(path, FRAMES)
    assert suspected(path) is None


def test_the_first_request_that_a_compaction_kept_is_not_suspected(tmp_path: Path) -> None:
    path = small_talk(tmp_path / "state.db", 0)
    add_row(path, content=UNKNOWN, timestamp=3.0)
    for number in range(10):
        add_row(path, content=f"more {number}", timestamp=4.0 + number)
    compacted_by_engine(path, UNKNOWN)  # its copy
    assert suspected(path) is None
