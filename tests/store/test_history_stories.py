"""History and undo of sessions that the real agent wrote (`tests/agents/hermes/stories.py`), against what was said.

Each file in `tests/data/stories` is one in as few steps as History or undo got wrong before; no Hermes is needed here.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.agents.hermes.recorded import ledger_of, load, restore
from tests.agents.hermes.told import Row, history_faults, row_of, undo_faults
from tests.factories.histories import boundary_of
from tests.factories.locks import turn_lease
from viewer.stores import lock_owners
from viewer.stores.base import Store
from viewer.stores.hermes import messages as hermes_messages
from viewer.stores.hermes import presence, undo
from viewer.stores.hermes.codec import decode_content
from viewer.stores.hermes.known import KnownBlock, KnownUndone
from viewer.stores.hermes.reader import open_store
from viewer.stores.hermes.undo import check_undo, undoing_of_boundary
from viewer.stores.message import HistoryMessage
from viewer.stores.transcript import TranscriptIndex

RECORDED = sorted((Path(__file__).parents[1] / "data" / "stories").glob("*.json"))
SESSION = "story"


def of_the_agent(story: dict[str, Any]) -> list[dict[str, Any]]:
    """The newest compaction, or the one whose undo went wrong, if it is the agent's and its handoff is still there."""
    stored = {row["id"] for row in story["rows"]["messages"]}
    newest = [each for each in story["compactions"] if not each["undone"] or each["handoff_id"] == story["undone_last"]]
    return [each for each in newest[-1:] if not each["known"] and each["handoff_id"] in stored]


def recorded(paths: list[Path]) -> pytest.MarkDecorator:
    """Of these stories, each second of which is slow."""
    cases = [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (at % 2)) for at, path in enumerate(paths)]
    return pytest.mark.parametrize("story", cases, indirect=True)


@pytest.fixture
def story(request: pytest.FixtureRequest) -> dict[str, Any]:
    return load(request.param)


@pytest.fixture
def store(story: dict[str, Any], tmp_path: Path) -> Store:
    restore(story, tmp_path / "state.db")
    return Store("story", f"sqlite:///{tmp_path / 'state.db'}", "configured")


def rows(tmp_path: Path) -> list[Row]:
    with closing(sqlite3.connect(tmp_path / "state.db")) as con:
        con.row_factory = sqlite3.Row
        stored = [dict(row) for row in con.execute("SELECT * FROM messages ORDER BY id")]
    return [row_of({**row, "content": decode_content(row["content"])}) for row in stored]


def history_of(store: Store, story: dict[str, Any]) -> tuple[TranscriptIndex, list[Row]]:
    """The History, and the messages it shows."""
    made = [each["known"] for each in story["compactions"] if each["known"]]
    known = [KnownBlock(**each | {"copies": {int(a): b for a, b in each["copies"].items()}}) for each in made]
    with open_store(store) as reader:
        undone = {
            each["handoff_id"]: KnownUndone(*each.get("noted", ())) for each in story["compactions"] if each["undone"]
        }
        undone.pop(story["undone_last"], None)  # the file is the one before
        history = hermes_messages.read_history(reader, SESSION, known, undone)
        shown = hermes_messages.history_messages(reader, history.items)
    messages = [each for each in shown if isinstance(each, HistoryMessage)]
    return history, [
        row_of({
            "id": each.row.id, "role": each.row.role, "content": each.content, "tool_calls": each.row.tool_calls,
            "tool_call_id": each.row.tool_call_id, "timestamp": each.row.timestamp,
        })
        for each in messages
    ]  # fmt: skip


@recorded(RECORDED)
def test_each_message_once_with_its_fullest_text(story: dict[str, Any], store: Store, tmp_path: Path) -> None:
    _, shown = history_of(store, story)
    assert history_faults(shown, rows(tmp_path), ledger_of(story)) == []


@recorded([path for path in RECORDED if path.stem.endswith("undo-refused")])
def test_undo_is_offered_where_the_rows_tell_what_it_brings_back(story: dict[str, Any], store: Store) -> None:
    undoing = undoing_of_boundary(SESSION, boundary_of(history_of(store, story)[0], story["undone_last"]))
    with open_store(store) as reader:
        assert check_undo(reader, undoing).refusal == ""


@recorded([path for path in RECORDED if of_the_agent(load(path))])
def test_undo_puts_back_what_was_live(story: dict[str, Any], store: Store, tmp_path: Path) -> None:
    """Only where rows have no names it may be refused."""
    made, before = of_the_agent(story)[0], rows(tmp_path)
    undoing = undoing_of_boundary(SESSION, boundary_of(history_of(store, story)[0], made["handoff_id"]))
    with open_store(store) as reader:
        refusal = check_undo(reader, undoing).refusal
    if refusal:
        assert "message_uid" not in story["columns"]["messages"]
        return
    holder = lock_owners.new_holder()
    presence.take_lock(store, SESSION, holder)
    with turn_lease(store, SESSION) as lease:
        undo.undo(store, undoing, lock_holder=holder, lease_holder=lease)
    wanted = story["live_wanted_after_last_undo"] if made["undone"] else made["live_before"]
    since = max(undoing.block_ids)
    expected = [row for row in before if row.id in wanted or (row.state == "live" and row.id > since)]
    assert undo_faults(expected, [row for row in rows(tmp_path) if row.state == "live"], ledger_of(story)) == []
