"""Sessions whose old tool output we shortened, and whose transcript Hermes takes back in part and writes anew then."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.agents.hermes import ours
from tests.agents.hermes.conversations import write_session
from tests.agents.hermes.real import Hermes
from viewer.stores.hermes import messages
from viewer.stores.hermes.known import KnownBlock
from viewer.stores.hermes.reader import open_store
from viewer.stores.message import HistoryMessage

TURNS = 24


def shown(database: Path, session_id: str, known: list[KnownBlock]) -> list[str]:
    """The texts of the results in History."""
    with open_store(ours.store_of(database)) as reader:
        history = messages.read_history(reader, session_id, known)
        found = messages.history_messages(reader, history.items)
    rows = [each for each in found if isinstance(each, HistoryMessage) and each.row.role == "tool"]
    return [str(each.content) for each in rows]


@pytest.mark.parametrize("back", [0, 3, 20], ids="{} turns taken back".format)
def test_each_result_is_shown_once_and_whole(hermes: Hermes, database: Path, back: int) -> None:
    write_session(hermes, "pruned", TURNS, distinct_ids=True)
    done = ours.compact_at(database, "pruned", time.time(), "prune", 8_000)
    results = [row for row in hermes.rows("pruned") if row["role"] == "tool"]
    assert any(row["active"] and str(row["content"]).startswith("[") for row in results), "some are shortened"
    made = ours.known_of(done)
    hermes.resume("pruned")
    if back:
        hermes.ask("rewind", turns=back)
    hermes.ask("rewrite")
    hermes.append("pruned", "user", "And now?")
    for known in ([made], []):  # also where our own record of it is gone
        told = shown(database, "pruned", known)
        standing = [f"result {turn}.{part} " for turn in range(TURNS - back) for part in range(2)]
        found = [match[0] for text in told if (match := re.search(r"result \d+\.\d ", text))]
        assert found[: len(standing)] == standing
        assert len(told) == len(set(told)) == len(found)
