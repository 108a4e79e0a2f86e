"""Names for rows that have none from the agent: what History gets, and that it need not ask again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.agents.hermes.in_memory import HermesInMemory
from viewer.stores.hermes.known import NOTHING_NOTED, KnownUndone, borne_out
from viewer.stores.hermes.names import Write, named


def compacted(*, undone: bool = False) -> tuple[HermesInMemory, list[int]]:
    """Ten messages, a compaction, two more messages."""
    agent = HermesInMemory()
    agent.turns(10)
    before = {row.id for row in agent.live()}
    block = agent.compact(2, 4)
    agent.turns(2, "later")
    if undone:
        agent.undo(block, before)
    return agent, block


def test_copies_have_the_names_of_their_messages_and_a_block_its_rows() -> None:
    agent, block = compacted()
    names = named(agent.rows, NOTHING_NOTED)
    assert [row.id for row in names.rows] == [row.id for row in agent.rows]
    uids = {row.id: row.uid for row in names.rows}
    assert [uids[row_id] for row_id in (*block[:2], *block[3:])] == [uids[row_id] for row_id in (1, 2, 7, 8, 9, 10)]
    assert len({*uids.values()}) == 10 + 1 + 2
    assert names.writes == {block[2]: Write(tuple(block))} and names.openings == {block[2]}


def test_rows_with_names_of_the_agent_stay_as_they_are() -> None:
    agent, block = compacted()
    rows = [replace(row, uid=f"name {row.text or 'summary'}", named=True) for row in agent.rows]
    names = named(rows, NOTHING_NOTED)
    assert names.rows == rows
    assert not names.writes and names.openings == {block[2]}


@pytest.mark.parametrize("recorded", [True, False])
def test_a_write_says_that_its_block_was_undone(recorded: bool) -> None:
    agent, block = compacted(undone=True)
    noted = borne_out([], {block[2]: KnownUndone()}, agent.rows) if recorded else NOTHING_NOTED
    assert named(agent.rows, noted).writes == {block[2]: Write(tuple(block), undone=True)}


@pytest.mark.parametrize("head", [0, 2])
def test_a_write_says_that_its_block_was_taken_back_or_that_nothing_shows_it(head: int) -> None:
    agent, block = compacted()
    agent.mark({row.id for row in agent.live()}, "out")
    agent.turns(8, "anew")
    agent.compact(head, 4, oldest_way=True)
    write = named(agent.rows, NOTHING_NOTED).writes[block[2]]
    assert (write.undone, write.unsure) == ((False, False) if head else (True, True))


def test_a_write_next_to_a_copy_that_has_a_name_of_the_database_is_not_known() -> None:
    """Its rows may belong to the same block: names show where that ends."""
    agent, block = compacted()
    names = {row.text: f"{number:032x}" for number, row in enumerate(agent.rows[:10])}
    rows = [replace(row, uid=names.get(row.text, f"{row.id + 100:032x}")) for row in agent.rows]
    assert named(rows, NOTHING_NOTED).writes == {}
