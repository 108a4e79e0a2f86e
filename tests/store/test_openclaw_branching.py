"""What a branch of a session of OpenClaw's or pi's holds, row by row and line by line, and of which none is made."""

from __future__ import annotations

import errno
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agents.base import Agent
from tests.agents.openclaw.by_hand import OpenClawByHand, OpenClawFilesByHand, tables
from tests.agents.openclaw.recorded import SCHEMAS, Kept
from tests.agents.pi.by_hand import PiByHand, said
from tests.agents.reading import opened, sent, store_of
from tests.agents.talk import heard, talk
from tests.agents.writing import compacted
from tests.slow import slow
from viewer.runs import branching
from viewer.stores.base import Store
from viewer.stores.errors import NotBranchable, SessionBusy, StoreError, StoreReadOnly
from viewer.stores.openclaw import database, session_index
from viewer.stores.registry import open_store, writer_of
from viewer.stores.trees.branch import Branch

KINDS = {"openclaw": OpenClawByHand, "files": OpenClawFilesByHand, "pi": PiByHand}
ASKED = {"role": "user", "content": "And now?"}


@pytest.fixture(params=KINDS)
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return KINDS[request.param](tmp_path / "home")


@pytest.fixture
def openclaw(tmp_path: Path) -> OpenClawByHand:
    made = OpenClawByHand(tmp_path / "home")
    made.write("s", talk(3))
    return made


def live(store: Store, session_id: str) -> list[int]:
    with open_store(store) as reader:
        return [row.id for row in reader.live(session_id)]


def branched(agent: Agent, ids: list[int]) -> str:
    return writer_of(store_of(agent)).branch(agent.id_of("s"), ids, now=time.time())


def said_in(agent: Agent, session_id: str) -> list[tuple[str, Any]]:
    """What is sent of a session by our reader, which the agent's rule has to agree with."""
    with opened(agent) as reader:
        found = sent(reader, session_id)
    assert agent.load(session_id) == found
    return found


# -- which messages ----------------------------------------------------------------------------------------------------


def test_a_part_of_what_is_in_context(agent: Any) -> None:
    agent.write("s", talk(3))
    before = agent.rows()
    ids = live(store_of(agent), agent.id_of("s"))
    made = branched(agent, ids[:5])
    assert said_in(agent, made) == heard(talk(1))
    changed = set(before) - set(agent.rows())
    assert {row[0] for row in changed} <= {"sessions.json"}, "the session stays as it was"
    with opened(agent) as reader:
        session = reader.session(made)
        assert session.branched_from == agent.id_of("s") and session.cwd == reader.session(agent.id_of("s")).cwd
        (child,) = reader.children([agent.id_of("s")])
        assert (child.id, child.kind) == (made, "branch")
        cost = reader.usage(made).cost
        assert cost is not None and cost.dollars == cost.inherited > 0, "nothing was asked in it yet"
        agent.say(made, talk(1)[-1])
    with opened(agent) as reader:
        more = reader.usage(made).cost
        assert more is not None and more.dollars > more.inherited == cost.inherited
        own = reader.usage(agent.id_of("s")).cost
        assert own is not None and own.inherited == 0


@pytest.mark.django_db
def test_the_context_before_a_compaction_and_behind_it(agent: Any) -> None:
    agent.write("s", talk(8))
    before = said_in(agent, agent.id_of("s"))
    commit = compacted(agent)
    agent.say("s", ASKED)
    after = said_in(agent, agent.id_of("s"))
    store = store_of(agent)
    old = branching.branch(store, agent.id_of("s"), commit.handoff_id)
    assert said_in(agent, old) == before
    new = branching.branch(store, agent.id_of("s"), None)
    assert said_in(agent, new) == after
    agent.say(new, ASKED)
    assert said_in(agent, new)[-2:] == heard([ASKED, ASKED]) and said_in(agent, agent.id_of("s")) == after


@pytest.mark.parametrize("count", [1, 3, *slow(2, 6)])
def test_an_end_within_what_a_compaction_keeps(agent: Any, count: int) -> None:
    """What is kept stands before the compaction, which then hangs on an earlier entry; of one message it is all."""
    agent.write("s", talk(8))
    compacted(agent)
    agent.say("s", ASKED)
    whole = said_in(agent, agent.id_of("s"))
    ids = live(store_of(agent), agent.id_of("s"))
    assert said_in(agent, branched(agent, ids[:count])) == whole[:count]


def test_a_second_branch_and_one_of_a_branch(agent: Any) -> None:
    agent.write("s", talk(3))
    store = store_of(agent)
    made = branching.branch(store, agent.id_of("s"), None)
    again = branching.branch(store, made, None)
    assert said_in(agent, again) == said_in(agent, made) == said_in(agent, agent.id_of("s"))
    with opened(agent) as reader:
        assert reader.session(again).branched_from == made


def test_messages_of_no_moment(agent: Any) -> None:
    agent.write("s", talk(3))
    ids, before = live(store_of(agent), agent.id_of("s")), agent.rows()
    for wrong in ([], ids[2:], [*ids, 10**9], ids[::-1]):
        with pytest.raises(NotBranchable):
            branched(agent, wrong)
    assert agent.rows() == before


def test_pi_and_what_an_edit_says(tmp_path: Path) -> None:
    agent = PiByHand(tmp_path / "pi")
    agent.write("s", [])
    asked = agent.append("s", "message", message=said({"role": "user", "content": "one"}))
    for text in ("1", "2"):
        agent.append("s", "message", message=said({"role": "assistant", "content": text}))
    agent.append("s", "context_edit", targetId=asked["id"], replacement={"content": "one, in other words"})
    ids = live(store_of(agent), agent.id_of("s"))
    made = branched(agent, ids[:2])
    with opened(agent) as reader:
        assert sent(reader, made) == [("user", "one, in other words"), ("assistant", "1")]


def test_bytes_stay_as_they_are(tmp_path: Path) -> None:
    """Numbers and escapes; a line whose parent is another one in the branch says the same."""
    agent = PiByHand(tmp_path / "pi")
    agent.write("s", talk(1))
    left = agent.append("s", "label", targetId=agent.active("s")[-1]["id"], label="left")
    asked = said({"role": "user", "content": "\x00 é"})
    odd = agent.append("s", "message", parentId=left["parentId"], message=asked, n=1e300)
    with agent.path("s").open("a") as file:
        start, end = '{"type" : "custom", "id":"f","parentId":"', '", "customType":"\\ud800", "n":0.10}\r\n'
        file.write(f"{start}{odd['id']}{end}")
    lines = agent.path("s").read_bytes().split(b"\n")
    made = branched(agent, live(store_of(agent), agent.id_of("s")))
    copied = agent.path(made).read_bytes().split(b"\n")
    assert copied[1:-3] == lines[1:-4] and copied[-2] == lines[-2].rstrip(b"\r")
    assert json.loads(copied[-3]) == odd | {"parentId": left["parentId"]}


# -- rows --------------------------------------------------------------------------------------------------------------


def entries_of(kept: Kept, session: str, count: int) -> dict[str, list[Any]]:
    """All rows about the first entries of a session but the times and ids that are its own."""
    head = f"session_id = '{session}' AND"
    ids = f"(SELECT event_id FROM transcript_event_identities WHERE {head} seq BETWEEN 1 AND {count})"
    return {
        "events": kept.sql(f"SELECT seq, event_json FROM transcript_events WHERE {head} seq BETWEEN 1 AND {count}"),
        "identities": kept.sql(
            "SELECT seq, event_id, event_type, parent_id, message_idempotency_key FROM transcript_event_identities"
            f" WHERE {head} seq BETWEEN 1 AND {count} ORDER BY seq"
        ),
        "path": kept.sql(
            "SELECT active_position, event_seq, message_position, context_eligible"
            f" FROM session_transcript_active_events WHERE {head} event_seq <= {count} ORDER BY active_position"
        ),
        "texts": kept.sql(
            "SELECT text, message_id, role, timestamp FROM session_transcript_fts"
            f" WHERE {head} message_id IN {ids} ORDER BY rowid"
        ),
    }


@pytest.mark.parametrize("version", SCHEMAS)
def test_the_rows_are_those_of_the_clients_own_fork(tmp_path: Path, version: str) -> None:
    kept = Kept(tmp_path, version)
    query = "SELECT current_session_id, fork_source_session_id, fork_source_entry_id FROM session_nodes"
    ((fork, source, entry),) = kept.sql(f"{query} WHERE fork_source_session_id IS NOT NULL")
    with open_store(kept.store) as reader:
        rows = reader.raw(source, before=None, limit=1_000)
        (cut,) = [each.id for each in rows if each.extra.get("id") == entry]
    ids = [each for each in live(kept.store, source) if each < cut]
    made = writer_of(kept.store).branch(source, ids, now=time.time())
    ((count,),) = kept.sql("SELECT max(seq) FROM transcript_events WHERE session_id = ?", made)
    assert count > 10 and entries_of(kept, made, count) == entries_of(kept, fork, count)
    assert all(entries_of(kept, made, count).values())
    headers = kept.sql("SELECT event_json FROM transcript_events WHERE seq = 0 AND session_id IN (?, ?)", made, fork)
    ours, theirs = (json.loads(text) for (text,) in headers)
    assert ours.keys() == theirs.keys() and {**ours, "id": 0, "timestamp": 0} == {**theirs, "id": 0, "timestamp": 0}
    state = "SELECT indexed_seq, needs_rebuild, active_event_count FROM session_transcript_index_state"
    assert kept.sql(f"{state} WHERE session_id = ?", made) == [(count, 0, count)]
    entries = dict(kept.sql("SELECT current_session_id, entry_json FROM session_nodes"))
    mine, forks = json.loads(entries[made]), json.loads(entries[fork])
    assert set(mine) <= set(forks), "the client knows each field"
    assert mine["forkSource"] == {name: forks["forkSource"][name] for name in ("sessionKey", "sessionId")}
    assert kept.sql("SELECT entry_valid FROM session_nodes WHERE current_session_id = ?", made) == [(1,)]
    assert kept.sql("PRAGMA quick_check") == [("ok",)] and kept.sql("PRAGMA foreign_key_check") == []


@pytest.mark.parametrize("schema", database.KNOWN_SCHEMAS)
def test_compressed_entries_and_searchable_texts(tmp_path: Path, schema: int) -> None:
    agent = OpenClawByHand(tmp_path / "home", schema)
    agent.write("s", talk(1))
    agent.append("s", "message", message=said(ASKED), packed=schema == 23)
    window, names = agent.id_of("s"), [each["id"] for each in agent.entries("s")[2:]]
    texts = [(window, name, f"text of {name}") for name in (names[0], names[-1])]
    for number, (session, name, text) in enumerate([("another", names[0], "not its"), *texts], start=7):
        if schema == 23:
            agent.sql("INSERT INTO session_transcript_fts_rows VALUES (?, ?, ?)", number, session, name)
        agent.sql(
            "INSERT INTO session_transcript_fts (rowid, text, session_id, message_id) VALUES (?, ?, ?, ?)",
            number, text, session, name,
        )  # fmt: skip
    made = branched(agent, live(store_of(agent), window))
    assert said_in(agent, made) == heard([*talk(1), ASKED])
    found = agent.sql("SELECT rowid, message_id, text FROM session_transcript_fts WHERE session_id = ?", made)
    assert [row[1:] for row in found] == [row[1:] for row in texts]
    if schema == 23:
        rows = agent.sql("SELECT id, message_id FROM session_transcript_fts_rows WHERE session_id = ?", made)
        assert rows == [row[:2] for row in found]
        packed = "SELECT event_zstd, event_utf8_bytes, navigation_json FROM transcript_events WHERE session_id = ?"
        assert agent.sql(f"{packed} ORDER BY seq DESC LIMIT 1", made) == agent.sql(
            f"{packed} ORDER BY seq DESC LIMIT 1", window
        )


def test_what_goes_over_to_a_branch(openclaw: OpenClawByHand) -> None:
    chosen = {"thinkingLevel": "high", "fastMode": False, "toolOverrides": {"deny": ["exec"]}, "modelOverride": "large"}
    noted = {"totalTokens": 9, "skillsSnapshot": {"a": 1}, "lastRunId": "r", "compactionCount": 3}
    note(openclaw, **chosen, **noted)
    made = branched(openclaw, live(store_of(openclaw), openclaw.id_of("s")))
    ((text, key),) = openclaw.sql(
        "SELECT entry_json, session_key FROM session_nodes WHERE current_session_id = ?", made
    )
    entry = json.loads(text)
    assert {name: entry[name] for name in chosen} == chosen and not entry.keys() & noted.keys()
    assert "parentSessionKey" not in entry, "the client wakes the parent of a session that goes on"
    assert entry["displayName"] == "s (branch)" and key.startswith("agent:main:dashboard:")
    note(openclaw, modelOverrideSource="auto")
    made = branched(openclaw, live(store_of(openclaw), openclaw.id_of("s")))
    ((text,),) = openclaw.sql("SELECT entry_json FROM session_nodes WHERE current_session_id = ?", made)
    assert "modelOverride" not in json.loads(text) and json.loads(text)["thinkingLevel"] == "high"


def note(agent: OpenClawByHand, **fields: Any) -> None:
    key = agent.key("s")
    ((text,),) = agent.sql("SELECT entry_json FROM session_nodes WHERE session_key = ?", key)
    agent.sql(
        "UPDATE session_nodes SET entry_json = ? WHERE session_key = ?", json.dumps(json.loads(text) | fields), key
    )
    agent.sql("UPDATE session_nodes SET entry_valid = 1")


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", [{"sandbox": "required"}, {"incognito": True}, {"acp": {"agent": "codex"}}])
def test_restrictions_stay_with_their_session(tmp_path: Path, field: dict[str, Any]) -> None:
    """A branch without them would be allowed more than the session."""
    openclaw, files = OpenClawByHand(tmp_path / "rows"), OpenClawFilesByHand(tmp_path / "files")
    for agent in (openclaw, files):
        agent.write("s", talk(2))
    note(openclaw, **field)
    files.note("s", **field)
    for each in (openclaw, files):
        before = each.rows()
        with pytest.raises(StoreReadOnly, match="only OpenClaw can pass on"):
            branched(each, live(store_of(each), each.id_of("s")))
        assert each.rows() == before
    assert len(openclaw.sql("SELECT * FROM session_nodes")) == 1


def test_an_index_that_is_behind_is_not_copied(openclaw: OpenClawByHand) -> None:
    ids = live(store_of(openclaw), openclaw.id_of("s"))
    openclaw.sql("DELETE FROM session_transcript_active_events WHERE active_position = 3")
    before = tables(openclaw)
    with pytest.raises(NotBranchable, match="did not read back"):
        branched(openclaw, ids)
    openclaw.sql("UPDATE session_transcript_index_state SET needs_rebuild = 1")
    with pytest.raises(StoreError, match="has not brought its own index"):
        branched(openclaw, ids)
    assert tables(openclaw) | {"session_transcript_index_state": 0} == before | {"session_transcript_index_state": 0}


@pytest.mark.parametrize("kind", ["openclaw", "files"])
def test_none_while_a_turn_runs(tmp_path: Path, kind: str) -> None:
    """Which writes what a branch is noted in."""
    agent: Any = KINDS[kind](tmp_path / "home")
    agent.write("s", talk(3))
    before = agent.rows()
    with agent.compacting("s"), pytest.raises(SessionBusy):
        branched(agent, live(store_of(agent), agent.id_of("s")))
    assert agent.rows() == before


def test_what_reads_back_otherwise_is_removed(agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    agent.write("s", talk(3))
    before = agent.rows()
    monkeypatch.setattr(Branch, "is_read_as_meant", lambda self, found: False)
    with pytest.raises(NotBranchable, match="did not read back"):
        branched(agent, live(store_of(agent), agent.id_of("s")))
    assert agent.rows() == before


def test_a_reset_session_has_no_branch(openclaw: OpenClawByHand) -> None:
    old = openclaw.id_of("s")
    openclaw.window(openclaw.key("s"), "another", previous_session_id=old, reason="reset")
    openclaw.sql("UPDATE session_nodes SET current_session_id = 'another'")
    with opened(openclaw) as reader:
        refused = reader.refusal(old, "branch")
    assert refused and "goes on in another session" in refused.message


def test_an_older_form_of_pi(tmp_path: Path) -> None:
    agent = PiByHand(tmp_path / "pi")
    agent.write("s", talk(1))
    header, rest = agent.path("s").read_text().split("\n", 1)
    agent.path("s").write_text(json.dumps(json.loads(header) | {"version": 2}) + "\n" + rest)
    with opened(agent) as reader:
        refused = reader.refusal(agent.id_of("s"), "branch")
    assert refused and "older form" in refused.message


def test_an_index_that_cannot_be_written_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = OpenClawFilesByHand(tmp_path / "home")
    agent.write("s", talk(2))
    ids = live(store_of(agent), agent.id_of("s"))
    before = agent.rows()

    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(session_index, "_replace", full)
    with pytest.raises(StoreError, match="could not be changed"):
        branched(agent, ids)
    assert agent.rows() == before


def test_a_directory_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system answers a user who may read it alone; tests may be run by one who may do anything."""
    agent = PiByHand(tmp_path / "pi")
    agent.write("s", talk(1))
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK and allowed(path, mode))
    with opened(agent) as reader:
        refused = reader.refusal(agent.id_of("s"), "branch")
    assert refused and f"{agent.directory} cannot be written" in refused.message
