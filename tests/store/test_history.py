"""History from light rows: boundaries, generations, each message once. Rows are made as agents make them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agents.hermes.in_memory import HermesInMemory, texts
from viewer.stores.hermes.history import build
from viewer.stores.hermes.known import KnownUndone
from viewer.stores.hermes.names.alignment import related
from viewer.stores.hermes.records import LightRow
from viewer.stores.hermes.undo import undoing_of_boundary
from viewer.stores.transcript import Boundary, HistoryEntry


def test_without_a_compaction_every_row_is_a_message() -> None:
    agent = HermesInMemory()
    agent.turns(5)
    history = build(agent.rows)
    assert [entry.id for entry in history.entries] == [1, 2, 3, 4, 5]
    assert not history.boundaries


def test_an_empty_session_has_an_empty_history() -> None:
    assert build([]).items == ()


@pytest.mark.parametrize("oldest_way", [True, False])
@pytest.mark.parametrize("head", [0, 1, 3])
def test_copies_are_the_same_message_and_the_boundary_stands_before_the_first_kept(head: int, oldest_way: bool) -> None:
    agent = HermesInMemory()
    agent.turns(20)
    agent.compact(head, 6, oldest_way=oldest_way)
    agent.turns(3, "later")
    history = build(agent.rows)
    assert texts(history, agent.rows) == [
        *(f"turn {n}" for n in range(14)),
        "|",
        *(f"turn {n}" for n in range(14, 20)),
        *(f"later {n}" for n in range(3)),
    ]
    boundary = history.boundaries[0]
    assert (boundary.messages_before, boundary.messages_after) == (20, head + 1 + 6)
    assert boundary.cut_id == 15
    assert list(boundary.summarised_ids) == list(range(head + 1, 15))
    assert {entry.id for entry in history.entries if entry.state == "under"} == set(range(head + 1, 15))


def test_every_row_id_of_a_message_leads_to_it() -> None:
    agent = HermesInMemory()
    agent.turns(10)
    block = agent.compact(2, 4)
    history = build(agent.rows)
    assert history.message_of(block[0]) == 1
    assert history.message_of(block[-1]) == 10
    assert history.message_of(block[2]) is None  # the handoff is no message


def test_three_compactions_chain_copies_of_copies() -> None:
    agent = HermesInMemory()
    agent.turns(12, "a")
    agent.compact(2, 6)
    agent.turns(6, "b")
    agent.compact(0, 8)
    agent.turns(4, "c")
    agent.compact(0, 4)
    history = build(agent.rows)
    shown = texts(history, agent.rows)
    assert [text for text in shown if text != "|"] == [
        *(f"a {n}" for n in range(12)),
        *(f"b {n}" for n in range(6)),
        *(f"c {n}" for n in range(4)),
    ]
    assert [b.messages_before for b in history.boundaries] == [12, 2 + 1 + 6 + 6, 1 + 8 + 4]
    assert [shown[index + 1] for index, text in enumerate(shown) if text == "|"] == ["a 6", "a 10", "c 0"]


def taken_back_and_gone_on(head: int) -> tuple[HermesInMemory, int]:
    """All that was in context is taken back, a compaction too, and the agent goes on and compacts: its handoff."""
    agent = HermesInMemory()
    agent.turns(10)
    block = agent.compact(2, 4)
    agent.mark({row.id for row in agent.rows[:10]}, "under")
    agent.mark(set(block), "out")
    agent.turns(8, "later")
    agent.compact(head, 4, oldest_way=True)
    return agent, block[2]


def test_the_next_compactions_head_tells_that_a_block_was_taken_back_and_not_undone() -> None:
    agent, handoff = taken_back_and_gone_on(head=2)
    history = build(agent.rows)
    assert [boundary.handoff_id for boundary in history.boundaries][0] == handoff
    assert "turn 9" not in texts(history, agent.rows)


def test_a_compaction_that_was_undone_here_is_no_boundary_whatever_the_rows_tell() -> None:
    agent, handoff = taken_back_and_gone_on(head=2)
    history = build(agent.rows, undone={handoff: KnownUndone()})
    assert handoff not in [boundary.handoff_id for boundary in history.boundaries]
    assert "turn 9" in texts(history, agent.rows)


def test_two_messages_that_were_merged_into_one_copy_are_shown_alone() -> None:
    agent = HermesInMemory()
    agent.turns(9)
    agent.say("user", "one more")
    agent.say("assistant", "done")
    block = agent.compact(0, 3, oldest_way=True)
    merged, gone = block[1], block[2]
    agent.rows = [
        replace(row, text="turn 8 one more", size=16) if row.id == merged else row
        for row in agent.rows
        if row.id != gone
    ]
    history = build(agent.rows)
    assert [text for text in texts(history, agent.rows) if text != "|"] == [
        *(f"turn {n}" for n in range(9)), "one more", "done",
    ]  # fmt: skip
    assert [entry.rows for entry in history.entries if merged in entry.rows] == [(9, merged), (10, merged)]
    assert {copy: source for copy, source in history.boundaries[0].copies if copy == merged} == {merged: 10}


def test_where_a_block_ends_is_told_by_the_moment_of_its_write() -> None:
    """What came while the summary was made is archived without a copy. Said once more right after, it is no copy."""
    agent = HermesInMemory()
    agent.turns(13)
    agent.without_times(agent.compact(2, 5, oldest_way=True))
    late, block = agent.rows[12], [row.id for row in agent.rows[13:-1]]
    agent.rows.pop()
    agent.say("user", late.text, time=agent.rows[-1].time + 0.5)
    history = build(agent.rows)
    assert history.boundaries[0].block_ids == tuple(block)
    assert [entry.rows for entry in history.entries][-2:] == [(13,), (agent.rows[-1].id,)]


def test_parallel_tool_results_travel_with_their_calls_and_a_stub_is_the_same_message() -> None:
    agent = HermesInMemory()
    agent.turns(6)
    agent.tool_turn("c1", "c2", "c3")
    agent.turns(4, "after")
    agent.compact(0, 8)
    agent.rows = [
        replace(row, text="[tool] shortened", size=16) if row.state == "live" and row.role == "tool" else row
        for row in agent.rows
    ]
    history = build(agent.rows)
    assert len(history.entries) == 14
    shortened = [entry for entry in history.entries if entry.shortened]
    assert [agent.rows[entry.id - 1].tool_call_id for entry in shortened] == ["c1", "c2", "c3"]
    assert all(agent.rows[entry.full_id - 1].text.startswith("result") for entry in shortened)
    assert history.boundaries[0].shortened_ids == tuple(entry.id for entry in shortened)


def test_lost_times_do_not_make_copies_new_messages() -> None:
    agent = HermesInMemory()
    agent.turns(12)
    agent.without_times(agent.compact(2, 5))
    assert len(build(agent.rows).entries) == 12


def test_equal_texts_do_not_confuse_the_alignment() -> None:
    agent = HermesInMemory()
    for _ in range(10):
        agent.say("user", "continue")
        agent.say("assistant", "done")
    agent.without_times(agent.compact(2, 7))
    history = build(agent.rows)
    assert len(history.entries) == 20
    assert history.boundaries[0].messages_after == 2 + 1 + 7


def test_rows_taken_back_before_a_compaction_are_not_shown_and_do_not_break_it() -> None:
    agent = HermesInMemory()
    agent.turns(10)
    agent.mark({5, 6, 9, 10}, "out")
    agent.compact(1, 4)
    history = build(agent.rows)
    assert [entry.id for entry in history.entries] == [1, 2, 3, 4, 7, 8]
    assert history.boundaries[0].messages_before == 6


def test_a_copy_taken_back_after_a_compaction_takes_its_message_along() -> None:
    agent = HermesInMemory()
    agent.turns(10)
    block = agent.compact(1, 4)
    agent.mark({block[-1]}, "out")
    history = build(agent.rows)
    assert [entry.id for entry in history.entries] == list(range(1, 10))
    assert len(history.boundaries) == 1


@pytest.mark.parametrize(("apart", "messages"), [(1e-6, 2), (0.02, 1), (0.5, 2)])
def test_requests_are_one_only_where_a_client_sent_one_twice(apart: float, messages: int) -> None:
    """A microsecond apart they were stored anew by one write of the agent, and say nothing of when they were sent."""
    agent = HermesInMemory()
    agent.turns(2)
    agent.say("user", "continue", time=1.7e9)
    agent.say("user", "continue", time=1.7e9 + apart)
    assert len(build(agent.rows).entries) == 2 + messages


def test_an_undone_block_is_no_boundary_and_hides_nothing() -> None:
    agent = HermesInMemory()
    agent.turns(10)
    before = {row.id for row in agent.live()}
    block = agent.compact(1, 4)
    agent.turns(2, "later")
    agent.undo(block, before)
    history = build(agent.rows)
    assert not history.boundaries
    assert [entry.state for entry in history.entries] == ["live"] * 12
    agent.compact(1, 6)
    again = build(agent.rows)
    assert len(again.boundaries) == 1
    assert len(again.entries) == 12
    assert again.boundaries[0].messages_before == 12


def test_what_is_said_at_the_moment_of_a_compaction_does_not_keep_it_standing_when_it_is_undone() -> None:
    agent = HermesInMemory()
    agent.turns(10)
    before = {row.id for row in agent.live()}
    block = agent.compact(1, 4)
    moment = agent.rows[block[1] - 1].time
    agent.say("user", "at once", time=moment + 2e-5)
    agent.turns(3, "later")
    agent.undo(block, before)
    agent.compact(1, 6)
    assert len(build(agent.rows).boundaries) == 1


@pytest.mark.parametrize("head", [0, 2])
def test_a_boundary_is_unsure_where_nothing_tells_a_take_back_from_an_undo(head: int) -> None:
    agent, _ = taken_back_and_gone_on(head)
    history = build(agent.rows)
    newest = history.boundaries[-1]
    assert newest.unsure is not bool(head)
    assert undoing_of_boundary("s", newest).unsure is newest.unsure


def test_a_block_that_was_taken_back_row_by_row_is_no_undone_one() -> None:
    agent = HermesInMemory()
    agent.turns(10)
    block = agent.compact(0, 4, oldest_way=True)
    agent.mark(set(block), "out")
    history = build(agent.rows)
    assert len(history.boundaries) == 1
    assert [entry.id for entry in history.entries] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("live_text", ["turn 8", ""])
def test_a_merged_carrier_is_the_handoff_and_a_copy_of_its_message(live_text: str) -> None:
    agent = HermesInMemory()
    agent.turns(12)
    block = agent.compact(2, 4)
    handoff, carrier = block[2], block[3]
    agent.rows = [row for row in agent.rows if row.id != handoff]
    agent.rows = [
        replace(row, handoff="merged", handoff_key="s", text=live_text) if row.id == carrier else row
        for row in agent.rows
    ]
    history = build(agent.rows)
    assert len(history.entries) == 12
    assert history.boundaries[0].handoff_id == carrier
    assert (history.boundaries[0].messages_before, history.boundaries[0].messages_after) == (12, 6)
    assert history.boundaries[0].cut_id == 9
    assert history.message_of(carrier) == 9


def test_an_agent_that_compacts_from_memory_reaches_back_behind_the_last_boundary() -> None:
    """Seen with both real clients: an open process later keeps messages that we had summarised."""
    agent = HermesInMemory()
    agent.turns(20)
    agent.compact(2, 4)
    agent.turns(2, "later")
    whole = [row for row in agent.rows if row.id <= 20] + [row for row in agent.live() if row.text.startswith("later")]
    agent.mark({row.id for row in agent.live()}, "under")
    agent.say("assistant", "", handoff="standalone", handoff_key="from memory")
    for row in whole[-10:]:
        agent.rows.append(replace(row, id=len(agent.rows) + 1, state="live"))
    history = build(agent.rows)
    assert len(history.entries) == 22
    assert [entry.state for entry in history.entries] == ["under"] * 12 + ["live"] * 10
    assert history.boundaries[1].cut_id == 13


def test_scaffolding_rows_inside_the_tail_do_not_break_it() -> None:
    agent = HermesInMemory()
    agent.turns(12)
    block = agent.compact(1, 5)
    middle = block[4]
    moment = agent.rows[block[1] - 1].time + 1e-6 * (middle - block[1])
    extra = LightRow(id=middle, role="user", state="live", time=moment, text="[Your active task list", scaffold=True)
    agent.rows = [row if row.id < middle else replace(row, id=row.id + 1) for row in agent.rows]
    agent.rows.insert(middle - 1, extra)
    history = build(agent.rows)
    assert len(history.entries) == 12 + 1
    assert history.boundaries[0].messages_after == 1 + 1 + 5 + 1


def test_a_handoff_carried_along_as_a_turn_is_no_second_boundary() -> None:
    agent = HermesInMemory()
    agent.turns(12)
    agent.compact(0, 5)
    agent.turns(4, "b")
    first = next(row for row in agent.rows if row.handoff)
    agent.rows.append(replace(first, id=len(agent.rows) + 1))
    agent.turns(2, "c")
    history = build(agent.rows)
    assert len(history.boundaries) == 1
    assert len(history.entries) == 18


def test_a_compaction_undone_and_done_again_in_the_same_words_is_a_boundary() -> None:
    agent = HermesInMemory()
    agent.turns(12)
    before = {row.id for row in agent.live()}
    agent.undo(agent.compact(1, 4), before)
    agent.compact(1, 4)
    agent.rows = [replace(row, handoff_key="same words") if row.handoff else row for row in agent.rows]
    history = build(agent.rows)
    assert [boundary.messages_before for boundary in history.boundaries] == [12]
    assert len(history.entries) == 12


def test_what_is_said_after_a_take_back_and_a_compaction_is_not_taken_for_the_text_taken_back() -> None:
    agent = HermesInMemory()
    agent.turns(12)
    agent.say("user", "wrong: drop the table")
    agent.say("assistant", "dropped")
    agent.mark({13, 14}, "out")
    agent.compact(2, 5)
    agent.say("user", "right: keep the table")
    agent.say("assistant", "kept")
    shown = texts(build(agent.rows), agent.rows)
    assert shown[-2:] == ["right: keep the table", "kept"]
    assert "wrong: drop the table" not in shown
    assert shown.index("|") == 7


@pytest.mark.parametrize("oldest_way", [True, False])
def test_a_first_message_taken_back_does_not_hide_the_head_copies(oldest_way: bool) -> None:
    agent = HermesInMemory()
    agent.turns(2, "first try")
    agent.mark({1, 2}, "out")
    agent.turns(12)
    agent.compact(3, 5, oldest_way=oldest_way)
    history = build(agent.rows)
    assert len(history.entries) == 12
    assert history.boundaries[0].messages_after == 3 + 1 + 5
    assert history.boundaries[0].cut_id == 10


def test_a_handoff_carried_by_a_block_that_was_undone_is_undone_with_its_own_block() -> None:
    agent = HermesInMemory()
    agent.turns(12)
    first = {row.id for row in agent.live()}
    ours = agent.compact(0, 8)
    second = {row.id for row in agent.live()}
    agent.undo(agent.compact(3, 3, oldest_way=True), second)
    agent.undo(ours, first)
    history = build(agent.rows)
    assert not history.boundaries
    assert [entry.state for entry in history.entries] == ["live"] * 12


@pytest.mark.parametrize("late", [2, 10])
def test_rows_archived_without_a_copy_do_not_part_later_copies_from_their_messages(late: int) -> None:
    """Schemas 21 and 22 archive what came while the agent summarised, unread."""
    agent = HermesInMemory()
    agent.turns(20)
    agent.turns(late, "late")
    unread = {row.id for row in agent.rows if row.text.startswith("late")}
    agent.mark(unread, "out")
    agent.compact(3, 6, oldest_way=True)
    agent.mark(unread, "under")
    agent.turns(2, "after")
    agent.compact(3, 4, oldest_way=True)
    agent.turns(2, "last")
    assert len(build(agent.rows).entries) == 20 + late + 4


def test_a_uid_tells_copies_that_neither_time_nor_text_tell() -> None:
    agent = HermesInMemory()
    agent.turns(10)
    agent.rows = [replace(row, uid=f"u{row.id}") for row in agent.rows]
    agent.compact(0, 4, time=0.0, text="stub", size=4)
    agent.rows = [replace(row, uid=row.uid or "summary") for row in agent.rows]
    history = build(agent.rows)
    assert len(history.entries) == 10
    assert len(history.boundaries[0].shortened_ids) == 4


def test_originals_deleted_for_good_leave_a_boundary_at_its_handoff() -> None:
    agent = HermesInMemory()
    agent.turns(12)
    agent.compact(0, 5)
    agent.turns(2, "later")
    rows = agent.rows[12:]
    history = build(rows)
    assert texts(history, rows)[0] == "|"
    assert len(history.entries) == 7
    assert history.boundaries[0].messages_before == 0


def test_pruning_without_a_handoff_shows_each_message_once() -> None:
    agent = HermesInMemory()
    agent.turns(8)
    live = agent.live()
    agent.mark({row.id for row in live}, "under")
    for row in live:
        agent.rows.append(replace(row, id=len(agent.rows) + 1))
    agent.turns(2, "later")
    history = build(agent.rows)
    assert len(history.entries) == 10
    assert [entry.state for entry in history.entries] == ["live"] * 10


def test_pruned_copies_are_joined_once_although_a_compaction_after_them_was_undone() -> None:
    agent = HermesInMemory()
    agent.turns(8)
    live = agent.live()
    agent.mark({row.id for row in live}, "under")
    for row in live:
        agent.rows.append(replace(row, id=len(agent.rows) + 1))
    before = {row.id for row in agent.live()}
    agent.undo(agent.compact(1, 3), before)
    agent.turns(2, "later")
    history = build(agent.rows)
    assert [len(entry.rows) for entry in history.entries] == [2] * 8 + [1] * 2


@given(
    st.lists(
        st.tuples(st.integers(2, 15), st.integers(0, 3), st.integers(1, 9), st.booleans(), st.booleans()),
        min_size=1,
        max_size=5,
    )
)
def test_each_message_once_in_order_whatever_was_compacted(
    story: list[tuple[int, int, int, bool, bool]],
) -> None:
    """Any run of turns, compactions and undos: every message once, in the order it was said."""
    agent = HermesInMemory()
    said = 0
    for turns, head, tail, oldest_way, undone in story:
        for number in range(turns):
            agent.say("user" if number % 2 == 0 else "assistant", f"message {said}")
            said += 1
        live = agent.live()
        if head + tail + 2 > len(live):
            continue
        before = {row.id for row in live}
        block = agent.compact(head, tail, oldest_way=oldest_way)
        if undone:
            agent.undo(block, before)
    history = build(agent.rows)
    shown = [text for text in texts(history, agent.rows) if text != "|"]
    assert shown == [f"message {number}" for number in range(said)]
    carrying = {row_id for row_id in history.ids if history.message_of(row_id) is not None}
    assert {row_id for entry in history.entries for row_id in entry.rows} == carrying
    live_ids = {row.id for row in agent.live() if not row.handoff}
    assert {entry.newest_id for entry in history.entries if entry.state == "live"} == live_ids


def test_the_work_grows_with_the_rows_and_not_with_their_square(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pure talk with lost times, where only texts can tell. Counted in comparisons, not seconds."""
    counts: list[int] = []

    def counted(row: LightRow, other: LightRow) -> bool:
        counts[-1] += 1
        return related(row, other)

    monkeypatch.setattr("viewer.stores.hermes.names.placing.related", counted)
    for size in (200, 400):
        agent = HermesInMemory()
        for number in range(size):
            agent.say("user" if number % 2 == 0 else "assistant", f"word {number}")
        agent.without_times(agent.compact(2, size // 4, oldest_way=True))
        counts.append(0)
        assert len(build(agent.rows).entries) == size
    assert 0 < counts[1] < 2.5 * counts[0]


def test_entries_and_boundaries_are_plain_values() -> None:
    agent = HermesInMemory()
    agent.turns(8)
    agent.compact(1, 3)
    assert {type(item) for item in build(agent.rows).items} == {HistoryEntry, Boundary}
