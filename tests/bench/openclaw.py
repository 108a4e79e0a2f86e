"""How long one session of 100,000 entries takes, in OpenClaw's database and in pi's file.

`python -m tests.bench.openclaw`. Both are made of invented text by the agents of `tests/agents`, each time anew.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from tests.agents.openclaw.by_hand import OpenClawByHand, stamp
from tests.agents.pi.by_hand import PiByHand, said
from tests.bench.claude_code import peak, set_up, timed
from tests.bench.codex import commit, planned

TURNS, NAME = 25_000, "long"
EVENT = "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?, ?, ?, ?)"
Line = dict[str, Any]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-openclaw-") as place:
        openclaw, pi = OpenClawByHand(Path(place) / "openclaw"), PiByHand(Path(place) / "pi")
        os.environ["PALIMPSEST_DATA_DIR"] = str(Path(place) / "data")
        os.environ["PALIMPSEST_STORES"] = f"openclaw={openclaw.url},pi={pi.url}"
        os.environ["DJANGO_SETTINGS_MODULE"] = "viewer.settings"
        set_up()
        fill_database(openclaw)
        fill_file(pi)
        measure("openclaw", openclaw)
        measure("pi", pi)
    print(f"  peak memory of this process {peak():.0f} MB")


# -- making ------------------------------------------------------------------------------------------------------------


def entries() -> list[Line]:
    """Turns of four entries: a request, a call, its result, a reply."""
    made: list[Line] = []
    for number in range(TURNS):
        call = {"id": f"c{number}", "function": {"name": "terminal", "arguments": json.dumps({"command": "ls"})}}
        for message in (
            {"role": "user", "content": f"What grows in bed {number}?"},
            {"role": "assistant", "content": "I look.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"Bed {number}: " + "roses and thyme. " * 6},
            {"role": "assistant", "content": f"Roses and thyme grow in bed {number}. " * 3},
        ):
            parent = made[-1]["id"] if made else None
            entry_id = str(uuid5(NAMESPACE_OID, str(len(made))))
            stamped = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(1_780_000_000 + len(made)))
            made.append(entry(entry_id, parent, stamped, message))
    return made


def entry(entry_id: str, parent: str | None, stamped: str, message: Line) -> Line:
    return {"type": "message", "id": entry_id, "parentId": parent, "timestamp": stamped, "message": said(message)}


def fill_database(agent: OpenClawByHand) -> None:
    agent.write(NAME, [])
    ((window,), made) = agent.sql("SELECT current_session_id FROM session_nodes")[0], entries()
    made[0]["parentId"] = agent.entries(NAME)[-1]["id"]
    first, now = len(agent.entries(NAME)), stamp()
    events = [(window, first + at, json.dumps(each), now) for at, each in enumerate(made)]
    identities = [(window, each["id"], first + at, "message", each["parentId"], now) for at, each in enumerate(made)]
    path = [(window, first - 1 + at, first + at, at, 1) for at in range(len(made))]
    with closing(agent.connected()) as con:
        con.execute("BEGIN")
        con.executemany(
            "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?, ?, ?, ?)", events
        )
        con.executemany(
            "INSERT INTO transcript_event_identities (session_id, event_id, seq, event_type, parent_id, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            identities,
        )
        con.executemany("INSERT INTO session_transcript_active_events VALUES (?, ?, ?, ?, ?)", path)
        con.execute(
            "UPDATE session_transcript_index_state SET indexed_seq = ?, leaf_event_id = ?, active_event_count = ?",
            (first + len(made) - 1, made[-1]["id"], first - 1 + len(made)),
        )
        con.execute("COMMIT")


def fill_file(agent: PiByHand) -> None:
    agent.write(NAME, [])
    made = entries()
    made[0]["parentId"] = agent.entries(NAME)[-1]["id"]
    with agent.path(NAME).open("a") as file:
        file.writelines(json.dumps(each) + "\n" for each in made)
    then = time.time() - 60
    os.utime(agent.path(NAME), (then, then))


# -- measuring ---------------------------------------------------------------------------------------------------------


def measure(store: str, agent: OpenClawByHand | PiByHand) -> None:
    from tests.clients import signed_in_client

    session = agent.id_of(NAME)
    print(f"\none session of {4 * TURNS:,} entries, {store}")
    client, address = signed_in_client(), f"/stores/{store}/sessions/{session}"

    def get(query: str = "") -> None:
        assert client.get(f"{address}{query}").status_code == 200

    timed("the list, nothing known yet", lambda: client.get(f"/?store={store}"))
    timed("first look: its page, nothing known yet", get)
    timed("its newest window again", get)
    timed("once more", get)
    timed("a window in the middle", lambda: get("/context?start=50000"))
    append(agent)
    timed("its page behind one appended entry", get)
    token, edits = timed("what a plan reads of it, and the plan", lambda: planned(store, session))
    locked = watch()
    timed("its commit", lambda: commit(store, session, token, edits))
    print(f"  {'of that, database or file locked':54} {sum(locked) * 1000:9.1f}ms")
    timed("its page behind the compaction", get)


def watch() -> list[float]:
    """Seconds that commits from now on keep others from writing."""
    from viewer.stores.openclaw import writer as openclaw_writer
    from viewer.stores.pi import writer as pi_writer

    found: list[float] = []

    def watched(plain: Callable[..., AbstractContextManager[Any]]) -> Any:
        @contextmanager
        def held(*given: Any, **named: Any) -> Iterator[Any]:
            with plain(*given, **named) as inside:
                began = time.perf_counter()
                yield inside
            found.append(time.perf_counter() - began)

        return held

    for module, name in ((openclaw_writer, "writing"), (pi_writer, "appending")):
        setattr(module, name, watched(getattr(module, name)))
    return found


def append(agent: OpenClawByHand | PiByHand) -> None:
    """One entry, without reading all of them as an agent of `tests/agents` does."""
    from viewer.stores.trees.encode import timestamp

    parent = str(uuid5(NAMESPACE_OID, str(4 * TURNS - 1)))
    added = entry("0" * 8, parent, timestamp(time.time()), {"role": "user", "content": "And now?"})
    if isinstance(agent, PiByHand):
        with agent.path(NAME).open("a") as file:
            file.write(json.dumps(added) + "\n")
        then = time.time() - 60
        os.utime(agent.path(NAME), (then, then))
        return
    window, now = agent.id_of(NAME), stamp()
    ((seq, count),) = agent.sql(
        "SELECT indexed_seq + 1, active_event_count FROM session_transcript_index_state WHERE session_id = ?", window
    )
    agent.sql(EVENT, window, seq, json.dumps(added), now)
    agent.sql("INSERT INTO session_transcript_active_events VALUES (?, ?, ?, ?, 1)", window, count, seq, count)
    state = "UPDATE session_transcript_index_state SET indexed_seq = ?, leaf_event_id = ?, active_event_count = ?"
    agent.sql(state, seq, added["id"], count + 1)
    agent.sql("UPDATE session_windows SET transcript_updated_at = ?", now)


if __name__ == "__main__":
    main()
