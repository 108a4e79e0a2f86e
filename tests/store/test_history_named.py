"""History of rows that have names (schema 31), and of copies from inside what was summarised; rows made by hand.

Each story is what the real agent wrote (0.22): it merges what was typed twice, repeats the request that is not answered
yet, cuts tool output down, and keeps messages of several generations.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from compaction.handoff import END_MARKER, LEGACY_HEADER, MERGE_DELIMITER, NO_USER_START, PRIOR_HEADER, TASK_LIST
from tests.agents.hermes.in_memory import texts
from viewer.stores.hermes import envelopes, messages, undo
from viewer.stores.hermes.history import build
from viewer.stores.hermes.known import KnownUndone
from viewer.stores.hermes.records import LightRow
from viewer.stores.message import State
from viewer.stores.packing import extended
from viewer.stores.transcript import TranscriptIndex

RESTATED = "[STILL IN PROGRESS — this is the active request.]\n"


def name(label: str) -> str:
    """A name as the agent gives them, the same for the same label."""
    return uuid.UUID(int=Random(label).getrandbits(128), version=4).hex


def made_up(label: str) -> str:
    """A name as the database makes them up."""
    return name(label)[:12] + "0" + name(label)[13:]


class Script:
    """Rows in the order in which they were written; `say` returns the row's id."""

    def __init__(self) -> None:
        self.rows: list[LightRow] = []

    def row(self, role: str, text: str, state: State = "live", **more: Any) -> int:
        row_id = len(self.rows) + 1
        values = {"time": 1000.0 + row_id, "size": len(text), "uid": name(text), "named": True, **more}
        self.rows.append(LightRow(id=row_id, role=role, state=state, text=text, **values))
        return row_id

    def talk(self, *words: str, state: State = "live") -> None:
        for number, text in enumerate(words):
            self.row(("user", "assistant")[number % 2], text, state)

    def work(self, *calls: str, state: State = "live") -> None:
        for call in calls:
            self.row("assistant", "", state, calls=call, uid=name(f"asks {call}"), size=30)
            self.row("tool", f"output of {call}", state, tool_call_id=call, uid=name(f"answers {call}"), size=900)

    def copy(self, *ids: int, state: State = "live", **more: Any) -> None:
        for row_id in ids:
            self.rows.append(replace(self.rows[row_id - 1], id=len(self.rows) + 1, state=state, **more))

    def handoff(self, state: State = "live", **more: Any) -> int:
        label = f"handoff {len(self.rows)}"
        values: dict[str, Any] = {"handoff": "standalone", "handoff_key": label, "uid": name(label), "text": "", **more}
        return self.row("user", values.pop("text"), state, **values)

    def restate(self, text: str, **more: Any) -> int:
        return self.row("user", text, restated=True, scaffold=True, **more)

    def history(self) -> TranscriptIndex:
        return build(self.rows)

    def shown(self) -> list[str]:
        return texts(self.history(), self.rows)

    def undo(self) -> undo.Undoing:
        history = self.history()
        return undo.undoing_of_boundary("s", history.boundaries[-1])


def running_turn() -> Script:
    """A request whose turn was cut inside: its first steps are summarised, its outputs are stubs now."""
    script = Script()
    script.talk("hello", "hi", "do it", state="under")
    script.work("c1", "c2", state="under")
    script.work("c3", "c4", state="out")
    script.copy(1, 2)
    return script


def test_a_request_repeated_behind_the_summary_is_the_message_it_repeats() -> None:
    script = running_turn()
    carrier = script.handoff(text="do it", restated=True, scaffold=True, absorbed=(name("do it"),))
    script.copy(8)
    script.copy(9, text="[output demoted]", size=20)
    script.copy(10, 11)
    assert script.shown() == [
        *("hello", "hi", "do it", "", "output of c1", "", "output of c2", "|"),
        *("", "output of c3", "", "output of c4"),
    ]
    history = script.history()
    request = next(entry for entry in history.entries if entry.id == 3)
    assert (request.rows, request.full_id, request.state, request.shortened) == ((3, carrier), 3, "live", False)
    assert [entry.id for entry in history.entries if entry.shortened] == [9]
    assert history.boundaries[0].summarised_ids == (4, 5, 6, 7)
    assert script.undo().originals == {
        1: 12, 2: 13, 3: carrier, 4: None, 5: None, 6: None, 7: None, 8: 15, 9: 16, 10: 17, 11: 18,
    }  # fmt: skip


@pytest.mark.parametrize("named", [True, False], ids=["with its name", "without a name"])
def test_a_request_repeated_as_a_row_of_its_own_ends_the_block(named: bool) -> None:
    script = running_turn()
    script.handoff()
    script.copy(8, 9, 10, 11)
    repeated = script.restate("do it", uid=name("do it" if named else "anew"))
    script.talk("thanks")
    history = script.history()
    assert repeated in history.boundaries[0].block_ids and script.undo().originals[3] == repeated
    assert script.shown().count("do it") == 1 and script.shown()[-1] == "thanks"
    assert history.boundaries[0].cut_id == 8


def test_two_messages_merged_into_one_row_are_two_messages() -> None:
    script = Script()
    script.talk("hello", "hi", "first", state="under")
    script.row("user", "second", "out")
    script.row("user", "third", "out")
    script.row("assistant", "both", "out")
    script.handoff()
    script.row("user", "second third", absorbed=(name("third"),), uid=name("second"), size=50)
    script.copy(6)
    assert script.shown() == ["hello", "hi", "first", "|", "second", "third", "both"]
    history = script.history()
    assert [(entry.rows, entry.newest_id, entry.full_id) for entry in history.entries[3:5]] == [
        ((4, 8), 8, 4),
        ((5, 8), 8, 5),
    ]
    assert history.message_of(8) == 4 and history.boundaries[0].kept_ids == (4, 5, 6)
    assert script.undo().originals == {1: None, 2: None, 3: None, 4: 8, 5: 8, 6: 9}
    script.rows[7] = replace(script.rows[7], state="out")
    assert script.shown() == ["hello", "hi", "first", "|", "both"], "taken back, both of them"


def test_a_new_answer_of_the_same_second_is_no_copy_of_a_call_that_was_taken_back() -> None:
    for named in (True, False):
        script = Script()
        script.talk("a", "b", "c", "d", state="under")
        script.talk("e", "f", state="out")
        script.row("user", "wrong", "out")
        script.row("assistant", "", "out", calls="c1", uid=name("asks"))
        script.handoff(time=2000.0)
        script.copy(5, 6)
        script.row("assistant", "new answer", time=2000.5)
        if not named:
            script.rows = [replace(row, uid="", named=False) for row in script.rows]
        assert script.shown() == ["a", "b", "c", "d", "|", "e", "f", "new answer"]


def test_names_that_the_database_made_up_prove_nothing() -> None:
    """A file that grew into schema 31 has a name of its own in every copy."""
    script = Script()
    script.talk(*(f"turn {number}" for number in range(8)), state="under")
    script.copy(1)
    script.handoff()
    script.copy(6, 7, 8)
    script.rows = [replace(row, uid=made_up(str(row.id)), named=row.id == 12) for row in script.rows]
    script.talk("later")
    assert [text for text in script.shown() if text != "|"] == [*(f"turn {number}" for number in range(8)), "later"]


def test_a_block_right_behind_one_that_was_undone_has_a_head_of_its_own() -> None:
    script = Script()
    script.talk("a", "b", "c", "d", "e", "f", state="under")
    for state in ("out", "live"):
        script.copy(1, 2, state=state)
        script.handoff(state)
        script.copy(5, 6, state=state)
    script.rows = [replace(row, state="out") if row.id in (1, 2, 5, 6) else row for row in script.rows]
    history = script.history()
    assert [boundary.block_ids for boundary in history.boundaries] == [(12, 13, 14, 15, 16)]
    assert script.shown() == ["a", "b", "c", "d", "|", "e", "f"]


@pytest.mark.parametrize(
    ("before", "gone"),
    [
        (("a", "b", "-c", "-d", "-e"), ("d",)),  # a result whose call was left out, inside the tail
        (("a", "b", "-c", "-d", "-e"), ("c",)),  # the tail was counted one too long
        (("a", "-b", "-c", "-d", "-e"), ("b", "d")),
    ],
)
def test_rows_that_were_marked_as_superseded_and_are_not_were_summarised(
    before: tuple[str, ...], gone: tuple[str, ...]
) -> None:
    script = Script()
    for text in before:
        script.row("assistant", text.strip("-"), "out" if text.startswith("-") else "under")
    script.copy(*(row.id for row in script.rows if row.state == "out" and row.text not in gone), absorbed=("x",))
    script.rows.insert(5, replace(script.rows[0], handoff="standalone", handoff_key="h", text="", uid=name("h")))
    script.rows = [replace(row, id=at, state="live" if at > 5 else row.state) for at, row in enumerate(script.rows, 1)]
    history = script.history()
    assert [script.rows[entry.id - 1].text for entry in history.entries] == ["a", "b", "c", "d", "e"]
    assert {row_id: copy for row_id, copy in script.undo().originals.items() if copy is None} == {
        row.id: None for row in script.rows[:5] if row.state == "under" or row.text in gone
    }


def test_what_was_taken_back_is_not_summarised_by_mistake() -> None:
    script = Script()
    script.talk("a", "b", state="under")
    script.talk("c", "d", state="out")  # taken back
    script.talk("e", "f", state="out")
    script.handoff()
    script.copy(5, 6)
    assert script.shown() == ["a", "b", "|", "e", "f"]


@pytest.mark.parametrize("pulled", [True, False], ids=["in context", "taken back"])
def test_a_message_may_stand_twice_in_a_block(pulled: bool) -> None:
    """Beside the summary, and before what answers it; it is in context while one of the two rows is."""
    script = Script()
    script.talk("a", "b", state="under")
    script.talk("c", "d", "e", "f", state="out")
    script.copy(3, state="live", handoff="merged", handoff_key="h")
    script.copy(4)
    script.copy(3, state="live" if pulled else "out")
    script.copy(5, 6, state="live" if pulled else "out")
    assert script.history().boundaries[0].block_ids == (7, 8, 9, 10, 11)
    assert script.shown() == ["a", "b", "|", "c", "d", *(["e", "f"] if pulled else [])]


def test_copies_of_what_the_agent_had_not_read_belong_to_its_block() -> None:
    """It compacts from memory, and the store puts what it did not hold behind: all of a compaction of ours."""
    script = Script()
    script.talk("a", "b", "c", "d", "e", "f", state="under")
    script.copy(1, 2, state="out")
    script.handoff("out", time=500.0)
    script.copy(5, 6, state="out")
    script.copy(1, 2)
    script.handoff()
    script.copy(5, 6, 7, 8, 9, 10, 11)
    script.row("user", "g")
    assert script.history().boundaries[-1].block_ids == tuple(range(12, 22))
    assert script.shown() == ["a", "b", "c", "d", "|", "|", "e", "f", "g"]


def test_a_head_belongs_to_its_block_where_some_of_it_was_taken_back() -> None:
    script = Script()
    script.talk("a", "b", "c", "d", state="under")
    script.copy(1, state="out")
    script.copy(2)
    script.handoff()
    script.copy(3, 4)
    assert script.undo().originals == {1: 5, 2: 6, 3: 8, 4: 9}


@pytest.mark.parametrize("merged", [True, False], ids=["merged", "alone"])
def test_what_is_left_of_a_block_whose_messages_were_written_anew_is_nobodys(merged: bool) -> None:
    """After an undo: the rows that the copies had been made from are deleted."""
    script = Script()
    script.talk("a", "b", state="out")
    if merged:
        script.row("assistant", "e", "out", handoff="merged", handoff_key="h")
    else:
        script.handoff("out")
        script.row("assistant", "e", "out", time=500.0)
    script.row("user", "f", "out", time=500.5)
    left = len(script.rows)
    script.talk("a", "b", "c", "d")
    script.row("assistant", "e")
    script.row("user", "f")
    history = script.history()
    assert [entry.id for entry in history.entries] == list(range(left + 1, left + 7))
    assert not history.boundaries


def test_a_compaction_that_was_undone_made_again_and_undone_again_carried_nothing_along() -> None:
    """With the same words, which it merged into the same message."""
    script = Script()
    script.talk("a", "b", "c", "d")
    for _ in range(2):
        script.copy(1, state="out")
        script.copy(3, state="out", handoff="merged", handoff_key="h", time=7.0)
        script.copy(4, state="out")
        script.row("user", f"said {len(script.rows)}")
    undone = {row.id: KnownUndone() for row in script.rows if row.handoff}
    assert texts(build(script.rows, undone=undone), script.rows) == [
        "a",
        "b",
        "c",
        "d",
        "said 7",
        "said 11",
    ]


@pytest.mark.parametrize("typed", [True, False])
def test_all_of_a_block_was_taken_back_where_the_next_compaction_found_nothing_typed(typed: bool) -> None:
    """The first compaction marked no original as superseded, as where none was told."""
    script = Script()
    script.talk("a", "b", "c", "d", state="under")
    script.handoff("out")
    script.copy(3, 4, state="out")
    script.work("c1", state="under")
    script.work("c2", state="out")
    script.handoff()
    script.copy(10, 11)
    if typed:
        script.restate("a")
    else:
        script.row("user", f"{NO_USER_START} context above", scaffold=True, of_compaction=True)
    assert ("c" in script.shown()) == typed
    assert len(script.history().boundaries) == (1 if typed else 2)


def test_what_was_in_context_is_the_newest_row_of_each_message() -> None:
    """The agent wrote its transcript anew, with output cut down, before it compacted."""
    script = Script()
    script.talk("a", "b", "c", "d", state="under")
    script.copy(1, 2, 3, 4, state="under")
    script.rows = [replace(row, state="out") if row.id == 8 else row for row in script.rows]
    script.handoff()
    script.copy(8)
    assert script.undo().originals == {5: None, 6: None, 7: None, 8: 10}


def test_a_list_of_tasks_that_a_compaction_wrote_goes_with_its_block() -> None:
    script = Script()
    script.talk("a", "b", state="under")
    script.talk("c", "d", state="out")
    script.handoff()
    script.copy(3, 4)
    script.row("user", "[Your active task list", scaffold=True, of_compaction=True)
    script.talk("e")
    assert script.history().boundaries[0].block_ids == (5, 6, 7, 8)


@pytest.mark.parametrize("named", [True, False], ids=["by names", "by times"])
@pytest.mark.parametrize("head", [0, 2])
@pytest.mark.parametrize("pulled", [(5,), (5, 6)], ids=["request", "request and reply"])
def test_messages_kept_from_inside_what_was_summarised(named: bool, head: int, pulled: tuple[int, ...]) -> None:
    """Our own blocks keep the last request, perhaps the last reply, directly before the handoff."""
    script = Script()
    script.talk("a", "b", "c", "d", "request", "reply", state="under")
    script.work("c1", "c2", state="under")
    script.work("c3", state="out")
    script.rows = [
        replace(row, state="out") if row.id in (*pulled, *range(1, head + 1)) else row for row in script.rows
    ]
    script.copy(*range(1, head + 1), *pulled)
    script.handoff()
    script.copy(11, 12)
    script.talk("next", "done")
    if not named:
        script.rows = [replace(row, uid="", named=False) for row in script.rows]
    assert script.shown() == [
        *("a", "b", "c", "d", "request", "reply", "", "output of c1", "", "output of c2", "|"),
        *("", "output of c3", "next", "done"),
    ]
    (boundary,) = script.history().boundaries
    assert set(boundary.kept_ids) == {*range(1, head + 1), *pulled, 11, 12}
    assert boundary.cut_id == 11 and boundary.messages_after == head + len(pulled) + 3
    assert boundary.messages_before == 12


def test_an_index_is_not_extended_by_rows_that_carry_older_messages() -> None:
    script = Script()
    script.talk("a", "b", "c")
    index = script.history()
    plain = LightRow(id=9, role="user", state="live", time=9e9, text="d", uid=name("d"), named=True)
    assert extended(index, [plain]) is not None
    assert extended(index, [replace(plain, absorbed=(name("c"),))]) is None
    assert extended(index, [replace(plain, restated=True)]) is None


@pytest.mark.parametrize(
    ("content", "words", "restated"),
    [
        (f"fix it\n\n{TASK_LIST}\n- [ ] one", "fix it", False),
        (f"{RESTATED}fix it", "fix it", True),
        (f"{LEGACY_HEADER} sum\n\n{END_MARKER}\n\n{RESTATED}fix it", "fix it", True),
        (
            f"{PRIOR_HEADER}\nolder words\n\n{MERGE_DELIMITER}\n\n{LEGACY_HEADER} sum\n\n"
            f"{END_MARKER}\n\n{RESTATED}fix it",
            "older words",
            False,
        ),
    ],
)
def test_what_a_compaction_added_to_typed_words_is_none_of_them(content: str, words: str, restated: bool) -> None:
    summary, said, repeats = messages.parts_of(content, flagged=LEGACY_HEADER in content)
    assert (said, repeats, summary is not None) == (words, restated, LEGACY_HEADER in content)


def test_what_was_typed_into_a_marker_is_shown_without_it() -> None:
    """The only row that is left of it, where the agent wrote its transcript anew."""
    marker = f"{NO_USER_START} context above. No human user turn was available."
    script = Script()
    script.row("assistant", "a")
    merged: dict[str, Any] = {
        "scaffold": True,
        "of_compaction": True,
        "uid": name("marker"),
        "absorbed": (name("fix it"),),
    }
    row_id = script.row("user", f"{marker} fix it", **merged)
    script.copy(row_id)
    assert [entry.rows for entry in script.history().entries] == [(1,), (2, 3)]
    assert envelopes.without_marker(f"{marker}\n\nfix it") == "fix it"
    assert envelopes.without_marker(marker) == marker


def test_boundaries_are_found_where_every_summary_has_another_shape() -> None:
    """Flagged rows are summaries whatever is in them."""
    for text in ("## Goal", "- a list\n- of two", "One sentence of prose."):
        summary, said, _ = messages.parts_of(text, flagged=True)
        assert (summary, said) == (text, "")
