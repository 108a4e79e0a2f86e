"""Names for rows that have none from the agent: what History gets, and that it need not ask again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.agents.hermes.in_memory import HermesInMemory
from viewer.stores.hermes.known import NOTHING_NOTED, KnownUndone, borne_out
from viewer.stores.hermes.names import Write, named
from viewer.stores.hermes.records import LightRow


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


def grown(named_since: int) -> list[LightRow]:
    """Rows of a file that grew into schema 31, each with a name of the database, and rows named by the agent since."""
    agent, _ = compacted()
    rows = [replace(row, uid=f"{row.id:032x}") for row in agent.rows]
    for number in range(named_since):
        row = agent.say("user" if number % 2 == 0 else "assistant", f"since {number}")
        rows.append(replace(row, uid=f"name {row.id}", named=True))
    return rows


@pytest.mark.parametrize("number", [3, 4])
def test_names_like_the_agents_count_where_four_rows_in_a_row_have_one(number: int) -> None:
    """One in 64 names of the database looks like one of the agent's."""
    rows = grown(number)
    assert [row.named for row in named(rows, NOTHING_NOTED).rows[-number:]] == [number > 3] * number


def test_the_name_of_a_copy_is_a_name_of_its_message() -> None:
    """The database gave copies other names; the agent lists them where it merges the copies."""
    rows = grown(1)
    copy = next(row for row in rows if row.text == "turn 9" and row.state == "live")
    request = replace(rows[-1], absorbed=(copy.uid,), restated=True, scaffold=True)
    assert named([*rows[:-1], request], NOTHING_NOTED).rows[-1].absorbed == (f"{10:032x}",)
