"""An index says what History says, also from the bytes it was kept as, and however it came to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agents.hermes.in_memory import HermesInMemory
from viewer.stores.conversation import MessageRow
from viewer.stores.hermes.history import build
from viewer.stores.hermes.known import KnownBlock
from viewer.stores.hermes.records import LightRow
from viewer.stores.packing import VERSION, HistoryParts, extended, from_bytes, pack, to_bytes, with_counts_of
from viewer.stores.transcript import HistoryEntry, TranscriptIndex

Step = Callable[[HermesInMemory], object]


def take_back(agent: HermesInMemory, count: int) -> None:
    agent.mark({row.id for row in agent.live()[-count:]}, "out")


def compact(agent: HermesInMemory, head: int, tail: int, lost: bool) -> None:
    if len(agent.live()) > head + tail + 1:
        agent.compact(head, tail, **({"time": 0.0} if lost else {}))  # type: ignore[arg-type]


def undo(agent: HermesInMemory) -> None:
    """The newest block goes, what it was made from comes back."""
    handoffs = [row.id for row in agent.rows if row.handoff == "standalone" and row.state == "live"]
    if handoffs:
        agent.undo([row.id for row in agent.live()], {row.id for row in agent.rows if row.state == "under"})


turns: st.SearchStrategy[Step] = st.builds(
    lambda count, word: lambda agent: agent.turns(count, word), st.integers(1, 6), st.sampled_from(["a", "b"])
)
tools: st.SearchStrategy[Step] = st.builds(
    lambda count: lambda agent: agent.tool_turn(*"xyz"[:count]), st.integers(1, 3)
)
takes: st.SearchStrategy[Step] = st.builds(lambda count: lambda agent: take_back(agent, count), st.integers(1, 4))
compacts: st.SearchStrategy[Step] = st.builds(
    lambda head, tail, lost: lambda agent: compact(agent, head, tail, lost),
    st.integers(0, 3), st.integers(0, 6), st.booleans(),
)  # fmt: skip
steps = st.lists(st.one_of(turns, turns, tools, takes, compacts, st.just(undo)), max_size=12)


def told(taken: list[Step]) -> list[LightRow]:
    agent = HermesInMemory()
    for step in taken:
        step(agent)
    return agent.rows


@given(steps)
def test_it_is_the_same_from_its_bytes(taken: list[Step]) -> None:
    rows = told(taken)
    index = build(rows)
    again = from_bytes(to_bytes(index))
    assert again == index and again.items == index.items
    assert index.in_context == sum(entry.state == "live" for entry in index.entries)
    assert list(index.live_ids) == [row.id for row in rows if row.state == "live"]


@given(steps)
def test_each_row_of_a_message_and_each_place_lead_to_it(taken: list[Step]) -> None:
    index = build(told(taken))
    assert [item for item in index.items if isinstance(item, HistoryEntry)] == [*index.entries]
    assert [entry.id for entry in index.entries] == sorted({entry.id for entry in index.entries})
    for place, entry in enumerate(index.entries):
        assert index.place_of(entry.id) == place and index.message_of(entry.newest_id) is not None
        assert all(index.message_of(row_id) in (entry.id, *_others(index, row_id)) for row_id in entry.rows)
    for boundary in index.boundaries:
        cut = boundary.handoff_id if boundary.cut_id is None else boundary.cut_id
        assert boundary.place == sum(entry.id < cut for entry in index.entries)


def _others(index: TranscriptIndex, row_id: int) -> list[int]:
    """The messages that a row carries: several, where they were merged into it."""
    return [entry.id for entry in index.entries if row_id in entry.rows]


def test_messages_that_nothing_links_to_are_history_and_neither_in_context_nor_summarised() -> None:
    states: list[Literal["live", "lost"]] = ["lost", "lost", "live", "lost"]
    entries = tuple(HistoryEntry(at, (at,), at, at, state, shortened=False) for at, state in enumerate(states))
    rows = [MessageRow(at, "user", state, 1.0, 4) for at, state in enumerate(states)]
    index = pack(HistoryParts(entries, (), {at: at for at in range(4)}, settled=False), rows)
    assert from_bytes(to_bytes(index)) == index and index.entries == entries
    assert (index.messages, index.in_context, index.unlinked, list(index.live_ids)) == (4, 1, 3, [2])


@st.composite
def appended(draw: st.DrawFn) -> list[dict[str, object]]:
    """Rows that an agent may write next, with times that may tell nothing."""
    return [
        {
            "role": draw(st.sampled_from(["user", "assistant", "tool", "session_meta"])),
            "text": draw(st.sampled_from(["a 0", "b 1", "said now", ""])),
            "after": draw(st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0, -1.0])),
            "scaffold": draw(st.booleans()),
            "tool_call_id": draw(st.sampled_from(["", "x"])),
        }
        for _ in range(draw(st.integers(1, 4)))
    ]


def written(rows: list[LightRow], new: list[dict[str, object]]) -> list[LightRow]:
    newest, first = max((row.time for row in rows), default=1000.0), len(rows) + 1
    return [
        LightRow(
            id=first + at,
            role=str(each["role"]),
            state="live",
            time=newest + float(str(each["after"])),
            text=str(each["text"]),
            size=len(str(each["text"])),
            tool_call_id=str(each["tool_call_id"]),
            scaffold=bool(each["scaffold"]),
        )
        for at, each in enumerate(new)
    ]


@given(steps, appended(), appended())
def test_extending_is_making_it_anew(
    taken: list[Step], first: list[dict[str, object]], second: list[dict[str, object]]
) -> None:
    """Twice, because what is open after the first rows may be settled, or not, after the second."""
    rows = told(taken)
    index: TranscriptIndex | None = build(rows)
    for new in (first, second):
        more = written(rows, new)
        index = extended(index, more) if index is not None else None
        rows = [*rows, *more]
        made = build(rows)
        assert index is None or index == made
        index = made


@pytest.mark.parametrize("compactions", [0, 1, 2])
def test_what_is_said_extends_it(compactions: int) -> None:
    """The usual case must not need all rows: only the first message behind an agent's compaction does."""
    agent = HermesInMemory()
    agent.turns(12)
    for _ in range(compactions):
        agent.compact(2, 4)
        agent.turns(6, f"after {len(agent.rows)}")
    index = build(agent.rows)
    known = len(agent.rows)
    agent.turns(3, "new")
    assert extended(index, agent.rows[known:]) == build(agent.rows)


def test_our_own_compaction_leaves_nothing_open() -> None:
    agent = HermesInMemory()
    agent.turns(12)
    before = [row.id for row in agent.rows]
    block = agent.compact(2, 4)
    handoff = agent.rows[block[0] + 1]
    kept = [*before[:2], *before[-4:]]
    copies = dict(zip([row_id for row_id in block if row_id != handoff.id], kept, strict=True))
    ours = [KnownBlock(7, handoff.id, handoff.handoff_key, copies, undone=False)]
    index, known = build(agent.rows, ours), len(agent.rows)
    agent.turns(3, "new")
    assert extended(index, agent.rows[known:]) == build(agent.rows, ours)


@pytest.mark.parametrize(
    "change",
    [
        {"handoff": "standalone", "handoff_key": "k"},
        {"handoff": "merged", "handoff_key": "k"},
        {"state": "under"},
        {"state": "out"},
        {"of_compaction": True},
        {"time": 0.0},
        {"time": 1001.0},
    ],
)
def test_what_may_be_more_than_a_message_does_not_extend_it(change: dict[str, object]) -> None:
    agent = HermesInMemory()
    agent.turns(6)
    index = build(agent.rows)
    row = agent.say("user", "new")
    assert extended(index, [row]) is not None
    assert extended(index, [replace(row, **change)]) is None  # type: ignore[arg-type]
    assert extended(index, []) is None


def test_counts_go_with_rows_whose_text_has_the_size_it_had() -> None:
    agent = HermesInMemory()
    agent.turns(6)
    counted = build(agent.rows).counted({row.id: row.id * 10 for row in agent.rows})
    assert (counted.tokens_live, counted.context.about) == (210, False)
    agent.rows[2] = agent.say("user", "another text")
    agent.rows = [*agent.rows[:2], *agent.rows[3:6]]
    made = with_counts_of(build(agent.rows), counted)
    assert [made.tokens_of(row_id) for row_id in (1, 2, 4)] == [10, 20, 40]
    assert made.tokens_of(3) is None
    assert list(counted.uncounted()) == []


def test_what_is_not_counted_is_estimated_and_said_to_be() -> None:
    agent = HermesInMemory()
    for _ in range(40):
        agent.say("user", "x" * 100)
    index = build(agent.rows)
    assert index.tokens_live is None
    half = index.counted(dict.fromkeys(range(1, 31), 50))
    assert half.context.about
    assert 1_900 < half.context.tokens < 2_200
    assert list(half.uncounted()) == list(range(40, 30, -1))


def test_octets_that_cannot_be_read_are_none() -> None:
    agent = HermesInMemory()
    agent.turns(30)
    agent.compact(2, 4)
    octets = to_bytes(build(agent.rows))
    for at in range(0, len(octets), 7):
        damaged = bytearray(octets)
        damaged[at] ^= 0x55
        assert from_bytes(bytes(damaged)) is None
    other = octets.replace(bytes([VERSION]), bytes([VERSION + 1]), 1)
    for foreign in (b"", b"x", octets[:40], octets[:-1], octets + b"x", other, b"palimpsest outline", b"\x00" * 100):
        assert from_bytes(foreign) is None
