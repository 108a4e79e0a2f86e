"""Forty sessions damaged at random (entries cut, glued, doubled, shuffled, moved, with other ids, parents and types),
and what OpenClaw 2026.9.6 loaded of each for a turn: that is what is shown as sent, or the session is not written to.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest

from tests.agents.openclaw import views
from tests.agents.openclaw.by_hand import OpenClawByHand
from tests.agents.openclaw.recorded import DATA
from tests.agents.reading import history, opened
from viewer.stores.message import for_model

DAMAGED: list[dict[str, Any]] = json.loads(gzip.decompress((DATA / "damaged.json.gz").read_bytes()))


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> OpenClawByHand:
    """A store with all of them, as keys and sessions of their numbers."""
    made = OpenClawByHand(tmp_path_factory.mktemp("damaged") / "home")
    with made.connected() as con:
        con.execute("BEGIN")
        for at, each in enumerate(DAMAGED):
            con.execute("INSERT INTO session_nodes (session_key, current_session_id, entry_json, updated_at)"
                        " VALUES (?, ?, '{}', 1)", (f"agent:main:{at}", str(at)))  # fmt: skip
            con.execute("INSERT INTO session_windows (session_id, session_key, created_at, updated_at)"
                        " VALUES (?, ?, 1, 1)", (str(at), f"agent:main:{at}"))  # fmt: skip
            told = [(str(at), seq, row) for seq, row in enumerate(each["rows"])]
            con.executemany("INSERT INTO transcript_events (session_id, seq, event_json, created_at)"
                            " VALUES (?, ?, ?, 1)", told)  # fmt: skip
        con.execute("COMMIT")
    return made


@pytest.mark.parametrize("number", range(len(DAMAGED)))
def test_what_is_sent_is_shown_or_nothing_is_written(agent: OpenClawByHand, number: int) -> None:
    case, session = DAMAGED[number], str(number)
    with opened(agent) as reader:
        refused = reader.refusal(session)
        read = views.read(for_model(reader.live(session)))
        ids = [row.id for row in reader.raw(session, before=None, limit=1_000)]
        index = history(reader, session)
    assert ids == list(range(len(case["rows"]))), "each entry is there, once, in order"
    assert list(index.ids) == sorted(set(index.ids))
    if case["error"]:
        assert refused is not None and "does not open this session" in refused.message
        return
    built = [replace(each, role="user") if each.role == "custom" else each for each in views.built(case["messages"])]
    assert read == built or refused is not None


def test_most_of_them_say_something() -> None:
    """Or else the sample would be no test of what is shown."""
    assert sum(bool(case["messages"]) for case in DAMAGED) >= 25
