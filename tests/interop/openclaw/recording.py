"""Makes the databases of older clients in `tests/data/openclaw`: `python -m tests.interop.openclaw.recording`.

Each is what the real client of that version left of a few sessions of invented text, without what it noted of its own
system prompt, and beside it, as JSON, what it sent of each session in each turn but the first: the session, how many
entries it had then, and the messages of the request without the system prompt.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.agents.base import Json
from tests.interop.chat_service import ChatService

from .client import OLDER, OLDEST, program
from .playing import OpenClawCase, OpenClawStage, stage
from .scenarios import play

PLACE = Path("/tmp/garden")  # it stands in what the client writes
TARGET = Path(__file__).resolve().parents[2] / "data" / "openclaw"
PLAYED = ("tools", "compacted-twice", "rewound")
REPORTS = ("systemPromptReport", "skillsSnapshot")  # of a session's entry: most of it


def main() -> None:
    """Make all anew."""
    TARGET.mkdir(exist_ok=True)
    for version in (OLDEST, OLDER):
        shutil.rmtree(PLACE, ignore_errors=True)
        with ChatService() as service:
            made = stage(program(version), PLACE, service)
            with made.gateway():
                for name in PLAYED:
                    play(made, name)
            found = [recorded(each) for each in made.cases]
            save(made, TARGET / f"{version}.sqlite.gz")
        (TARGET / f"{version}.json").write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n")
        print(version, len(found), (TARGET / f"{version}.sqlite.gz").stat().st_size)
    shutil.rmtree(PLACE)


def recorded(case: OpenClawCase) -> Json:
    """A case without its database."""
    (database,) = case.state.glob("agents/*/agent/openclaw-agent.sqlite")
    with closing(sqlite3.connect(database)) as con:
        query = "SELECT max(seq) + 1 FROM transcript_events WHERE session_id = ?"
        ((entries,),) = con.execute(query, (case.session_id,)).fetchall()
    sent = [each for each in case.sent if each["role"] not in ("system", "developer")]
    return {"name": case.name, "session": case.session_id, "entries": entries, "sent": sent}


def save(made: OpenClawStage, target: Path) -> None:
    """Keep the client's database, without reports and free pages."""
    copied = made.copy_state(made.place / "kept")
    with closing(sqlite3.connect(copied, isolation_level=None)) as con:
        con.create_function("octet_length", 1, lambda value: None if value is None else len(str(value).encode()))
        names = ", ".join(f"'$.{name}'" for name in REPORTS)
        con.execute(f"UPDATE session_nodes SET entry_json = json_remove(entry_json, {names})")
        con.execute("UPDATE session_nodes SET entry_valid = 1")
        con.execute("DELETE FROM trajectory_runtime_events")  # what its runs did, with paths of the machine
        con.execute("PRAGMA journal_mode = DELETE")
        con.execute("VACUUM")
    target.write_bytes(gzip.compress(copied.read_bytes(), mtime=0))


if __name__ == "__main__":
    main()
