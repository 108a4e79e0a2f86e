"""History with blocks that are known for certain, in stories that times and texts cannot tell: no uid, as in schema 21.

Every row says one of two things, mostly without a time; each story shows first that lining up alone gets it wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agents.hermes.in_memory import HermesInMemory
from viewer.stores.hermes.history import build
from viewer.stores.hermes.known import KnownBlock
from viewer.stores.hermes.records import LightRow
from viewer.stores.transcript import TranscriptIndex


class Site(HermesInMemory):
    """An agent with whom we share a store: `ours` compacts and keeps the map, as a run does."""

    def __init__(self) -> None:
        super().__init__()
        self.known: list[KnownBlock] = []
        self.said: dict[int, int] = {}  # row -> message: the truth
        self.back: set[int] = set()  # messages taken back

    def turns_alike(self, count: int) -> None:
        for _ in range(count):
            self.say("user", "continue", time=0.0)
            self.say("assistant", "done", time=0.0)

    def say(self, role: str, text: str, **more: object) -> LightRow:
        row = super().say(role, text, **more)
        if not row.handoff:
            self.said[row.id] = row.id
        return row

    def block(self, head: int, tail: int, *, merged: bool, oldest_way: bool) -> tuple[list[int], dict[int, int]]:
        """A compaction, its handoff alone or in the first row of the tail: the block's ids, and copy -> original."""
        live = [row.id for row in self.live()]
        ids = self.compact(head, tail, oldest_way=oldest_way)
        if merged:
            handoff = self.rows.pop(ids[head] - 1)
            self.rows = [replace(row, id=row.id - 1) if row.id > handoff.id else row for row in self.rows]
            self.rows[ids[head] - 1] = replace(
                self.rows[ids[head] - 1], handoff="merged", handoff_key=handoff.handoff_key
            )
            ids = ids[:-1]
        copies = dict(zip(ids if merged else ids[:head] + ids[head + 1 :], live[:head] + live[-tail:], strict=True))
        self.said |= {copy: self.said[row_id] for copy, row_id in copies.items() if row_id in self.said}
        return ids, copies

    def theirs(self, head: int, tail: int, *, merged: bool = False) -> list[int]:
        return self.block(head, tail, merged=merged, oldest_way=True)[0]

    def ours(self, head: int, tail: int, *, merged: bool = False) -> KnownBlock:
        ids, copies = self.block(head, tail, merged=merged, oldest_way=False)
        key = self.rows[ids[head] - 1].handoff_key
        self.known.append(KnownBlock(len(self.known) + 1, ids[head], key, copies, undone=False))
        return self.known[-1]

    def take_back(self, ids: set[int]) -> None:
        self.mark(ids, "out")
        self.back |= {self.said[row_id] for row_id in ids if row_id in self.said}

    def undo_ours(self, block: KnownBlock, before: set[int]) -> None:
        """Rows before come back through their copies: one whose copy was taken back since stays down."""
        live = {row.id for row in self.live()}
        gone = {source for copy, source in block.copies.items() if copy not in live}
        self.mark(gone, "out")
        self.undo([block.handoff_id, *block.copies], before - gone)
        self.known = [replace(each, undone=each.undone or each is block) for each in self.known]

    def history(self) -> TranscriptIndex:
        return build(self.rows, self.known)

    def wrong(self, history: TranscriptIndex) -> str:
        """What History gets wrong, "" for nothing: each message once, where it was said, by its own rows, its state."""
        live = {self.said[row.id] for row in self.live() if row.id in self.said}
        truth = [(each, "live" if each in live else "under") for each in sorted({*self.said.values()} - self.back)]
        shown = [(entry.id, entry.state) for entry in history.entries]
        mixed = [entry.rows for entry in history.entries if len({self.said.get(row_id) for row_id in entry.rows}) > 1]
        return f"rows of several messages {mixed}, {shown} instead of {truth}" if mixed or shown != truth else ""


def test_what_is_said_again_behind_a_merged_handoff_is_a_message_of_its_own() -> None:
    site = Site()
    site.turns_alike(10)
    block = site.ours(2, 4, merged=True)
    site.turns_alike(2)
    assert site.wrong(build(site.rows))
    assert not site.wrong(site.history())
    (boundary,) = site.history().boundaries
    assert (boundary.run, boundary.handoff_id, boundary.cut_id) == (1, block.handoff_id, 17)
    assert (boundary.messages_before, boundary.messages_after) == (20, 6)
    assert dict(boundary.copies) == block.copies


def test_a_block_that_was_undone_is_none_although_everything_was_taken_back_since() -> None:
    site = Site()
    site.turns_alike(6)
    before = {row.id for row in site.live()}
    site.undo_ours(site.ours(2, 4), before)
    site.take_back({row.id for row in site.live()})
    assert len(build(site.rows).boundaries) == 1
    assert not site.history().items


def test_the_same_merged_handoff_written_again_after_an_undo_is_a_boundary() -> None:
    """The summariser without a model writes the same words, and the carrier keeps its time."""
    site = Site()
    site.turns_alike(6)
    before = {row.id for row in site.live()}
    site.undo_ours(site.ours(0, 3, merged=True), before)
    again = site.ours(0, 3, merged=True)
    site.rows = [replace(row, handoff_key="words") if row.handoff else row for row in site.rows]
    site.known = [replace(block, handoff_key="words") for block in site.known]
    assert not site.wrong(site.history())
    assert [boundary.handoff_id for boundary in site.history().boundaries] == [again.handoff_id]


def test_an_agents_block_of_which_we_kept_the_head_was_not_undone() -> None:
    """Its handoff and tail were taken back; the copies of the head stayed in context, and then we superseded them."""
    site = Site()
    site.turns(10)
    theirs = site.theirs(2, 4)
    site.take_back(set(theirs[2:]))
    site.turns(6, "later")
    site.ours(2, 2)
    assert site.wrong(build(site.rows))
    assert not site.wrong(site.history())
    assert [boundary.run for boundary in site.history().boundaries] == [None, 1]


def test_what_is_said_next_is_no_copy_of_what_came_while_the_agent_summarised() -> None:
    """Schema 21 archives that too, and copies none of it."""
    site = Site()
    site.turns(12)
    before = {row.id for row in site.live()}
    site.say("user", "next")
    site.say("assistant", "next")
    late = {row.id for row in site.live()} - before
    site.mark(late, "out")
    theirs = site.theirs(0, 2, merged=True)
    site.turns(4, "next")
    site.undo(theirs, before | late)
    site.ours(0, 6)
    assert not site.wrong(build(site.rows))
    assert not site.wrong(site.history())


def test_no_row_of_ours_is_taken_for_a_copy_of_an_agents_compaction() -> None:
    site = Site()
    site.turns_alike(10)
    site.theirs(2, 4, merged=True)
    block = site.ours(2, 3)
    assert dict(build(site.rows).boundaries[-1].copies) != block.copies
    assert dict(site.history().boundaries[-1].copies) == block.copies


def test_an_agents_handoff_that_we_kept_as_it_stands_is_no_message() -> None:
    site = Site()
    site.turns(10)
    site.theirs(0, 4)
    block = site.ours(0, 5)
    assert not site.wrong(site.history())
    assert [boundary.handoff_id for boundary in site.history().boundaries][-1] == block.handoff_id


# -- what the rows no longer bear out ----------------------------------------------------------------------------------


def deleted(site: Site, block: KnownBlock) -> None:
    site.rows = [row for row in site.rows if row.id not in {block.handoff_id, *block.copies}]


def another_summary(site: Site, block: KnownBlock) -> None:
    site.rows = [replace(row, handoff_key="theirs") if row.id == block.handoff_id else row for row in site.rows]


def another_message(site: Site, block: KnownBlock) -> None:
    last = max(block.copies)
    site.rows = [replace(row, time=9e9, text="said since") if row.id == last else row for row in site.rows]


def another_file(site: Site, block: KnownBlock) -> None:
    site.rows = []
    site.turns(40, "elsewhere")


@pytest.mark.parametrize("happens", [deleted, another_summary, another_message, another_file])
def test_a_block_that_is_not_what_was_written_is_left_aside(happens: Callable[[Site, KnownBlock], None]) -> None:
    site = Site()
    site.turns_alike(10)
    block = site.ours(2, 4, merged=True)
    site.turns_alike(2)
    assert site.history() != build(site.rows)
    happens(site, block)
    assert site.history() == build(site.rows)


@pytest.mark.parametrize("gone", ["originals", "copies"])
def test_rows_deleted_on_one_side_of_the_map_hide_no_message(gone: str) -> None:
    site = Site()
    site.turns_alike(10)
    block = site.ours(2, 4)
    site.turns_alike(2)
    ids = list(block.copies.values() if gone == "originals" else block.copies)[1:3]
    site.rows = [row for row in site.rows if row.id not in ids]
    history = site.history()
    assert [boundary.run for boundary in history.boundaries] == [1]
    assert {row.id for row in site.live() if not row.handoff} <= {
        row for row in history.ids if history.message_of(row) is not None
    }


def test_of_two_runs_that_claim_one_handoff_the_newer_is_believed() -> None:
    """After a restored backup the same compaction may be made again, here without a message that came meanwhile."""
    site = Site()
    site.turns_alike(10)
    block = site.ours(2, 4)
    again = replace(block, run=7, copies={copy: row for copy, row in block.copies.items() if row != 20})
    assert build(site.rows, [again, block]).boundaries[0].run == 1
    assert build(site.rows, [block, again]).boundaries[0].run == 7


# -- any story ---------------------------------------------------------------------------------------------------------

STORY = st.tuples(
    st.integers(1, 6), st.integers(0, 3), st.integers(1, 7), st.booleans(), st.integers(0, 4), st.booleans()
)


@given(st.lists(STORY, min_size=1, max_size=5))
def test_our_own_compactions_need_no_evidence_at_all(story: list[tuple[int, int, int, bool, int, bool]]) -> None:
    """No times, two texts: turns, our compactions standalone or merged, take-backs, undo; every message once."""
    site = Site()
    for turns, head, tail, merged, back, undone in story:
        site.turns_alike(turns)
        before = {row.id for row in site.live()}
        if head + tail + 2 > len(before) or (merged and site.live()[-tail].handoff):
            continue  # nothing is merged into an earlier handoff, which is no turn
        block = site.ours(head, tail, merged=merged)
        kept = [row.id for row in site.live()]
        site.take_back(set(kept[len(kept) - min(back, tail - 1) :]))
        if undone:
            site.undo_ours(block, before)
    assert not site.wrong(site.history())
