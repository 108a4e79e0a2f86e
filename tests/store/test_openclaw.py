"""OpenClaw's databases and files: rewinds, forks, sub-agents, compressed rows, cold archives, schemas, what breaks."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.agents.openclaw.by_hand import SECRET, OpenClawByHand
from tests.agents.pi.by_hand import said, wrapped
from tests.agents.reading import history, opened, sent, shown, store_of
from tests.agents.talk import heard, talk
from tests.listed import newest_ids
from viewer.stores.errors import StoreUnavailable
from viewer.stores.openclaw import database, records
from viewer.stores.registry import agent_of, remarks, version_of
from viewer.stores.trees.records import entry_of


@pytest.fixture
def agent(tmp_path: Path) -> OpenClawByHand:
    return OpenClawByHand(tmp_path / ".openclaw")


def ask(agent: OpenClawByHand, text: str, **more: Any) -> str:
    """A request; the id of its entry."""
    return str(agent.append("s", "message", message=said({"role": "user", "content": text}), **more)["id"])


# -- compactions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", database.KNOWN_SCHEMAS)
def test_a_compaction_of_each_schema(tmp_path: Path, schema: int) -> None:
    agent = OpenClawByHand(tmp_path / "home", schema)
    agent.write("s", talk(1))
    kept = ask(agent, "kept")
    agent.append(
        "s", "compaction", summary="One.", firstKeptEntryId=kept, tokensBefore=90, tokensAfter=9, fromHook=True
    )
    ask(agent, "next")
    with opened(agent) as reader:
        session = agent.id_of("s")
        assert sent(reader, session) == [("user", wrapped("One.")), ("user", "kept"), ("user", "next")]
        assert shown(reader, session)[-3:] == ["|", "kept", "next"]
        assert reader.capabilities().schema == schema


def test_a_compaction_without_what_it_keeps_from_is_none(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1))
    agent.append("s", "compaction", summary="One.", tokensBefore=90)
    with opened(agent) as reader:
        assert sent(reader, agent.id_of("s")) == heard(talk(1))
        assert not history(reader, agent.id_of("s")).boundaries
        assert len(reader.raw(agent.id_of("s"), before=None, limit=50)) == len(talk(1)) + 3, "it is still a row"


def test_a_reset_is_a_boundary_without_a_summary(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1))
    agent.append("s", "reset", reason="daily")
    ask(agent, "next")
    with opened(agent) as reader:
        session = agent.id_of("s")
        assert [row.role for row in reader.live(session)] == ["session_meta", "user"]
        index = history(reader, session)
        (boundary,) = index.boundaries
        assert (boundary.messages_before, boundary.messages_after, len(index.live)) == (5, 0, 1)
        (handoff,) = reader.shown(session, [boundary])
        assert "reset here (daily)" in handoff.summary  # type: ignore[union-attr]


def test_a_result_without_its_call_is_left_out(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1)[:2])
    agent.say("s", {"role": "tool", "content": "?", "tool_call_id": "nobody"})
    with opened(agent) as reader:
        assert [row.role for row in reader.live(agent.id_of("s"))] == ["user", "assistant"]
        notes = [each.name for each in reader.additions(agent.id_of("s"), [], end=True)]
        assert notes == ["results of calls that were not finished", "internal context"]


def test_what_the_client_adds_on_the_wire_is_named(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1))
    with opened(agent) as reader:
        ids = [row.id for row in reader.live(agent.id_of("s"))]
        added = reader.additions(agent.id_of("s"), ids, end=True)
        assert [each.name for each in added] == ["system prompt", "run time context", "internal context"]
        assert [each.before for each in added] == [ids[0], ids[0], None]
        assert not any(each.is_sent for each in added)


# -- keys and their transcripts ----------------------------------------------------------------------------------------


def test_a_rewind_is_one_conversation(agent: OpenClawByHand) -> None:
    agent.write("s", talk(2))
    old = agent.id_of("s")
    agent.take_back("s")
    ask(agent, "instead")
    new = agent.id_of("s")
    with opened(agent) as reader:
        assert [each.id for each in reader.listing.files()] == [new]  # type: ignore[attr-defined]
        assert reader.newest_part(old) == reader.newest_part(new) == new
        assert sent(reader, new) == [*heard(talk(1)), ("user", "instead")]
        (branch,) = reader.abandoned(new)
        assert len(branch.ids) == len(talk(1)), "what was left is in the copy"
        assert sent(reader, old) == heard(talk(2)), "the old one can be looked at"
        assert reader.session(new).parent == "" and reader.children([new]) == []
    assert agent_of(store_of(agent)).resume_command(old) == ""
    assert agent_of(store_of(agent)).resume_command(new) == "openclaw tui --session agent:main:s"


def begun_anew(agent: OpenClawByHand) -> str:
    """The session that the key goes on with after a reset."""
    new = "7b2f0d64-0000-4000-8000-000000000001"
    agent.window(agent.key("s"), new, previous_session_id=agent.id_of("s"), reason="reset")
    agent.sql("UPDATE session_nodes SET current_session_id = ?, updated_at = updated_at + 1", new)
    ask(agent, "anew")
    return new


def test_what_a_reset_began_anew_is_another_conversation(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1))
    old, new = agent.id_of("s"), begun_anew(agent)
    with opened(agent) as reader:
        assert {each.id for each in reader.listing.files()} == {old, new}  # type: ignore[attr-defined]
        assert reader.newest_part(old) == old
        assert reader.session(new).parent == old and reader.session(new).branched_from == ""
        assert [(each.id, each.kind) for each in reader.children([old])] == [(new, "")]
        assert reader.session(old).title == "", "the name is that of the newer one"


def test_a_rewind_and_then_a_reset(agent: OpenClawByHand) -> None:
    """What was rewound leads to its copy, and not to what its key went on with after that."""
    agent.write("s", talk(2))
    old = agent.id_of("s")
    agent.take_back("s")
    copy, new = agent.id_of("s"), begun_anew(agent)
    with opened(agent) as reader:
        assert {each.id for each in reader.listing.files()} == {copy, new}  # type: ignore[attr-defined]
        assert reader.newest_part(old) == copy and reader.newest_part(copy) == copy
        refused = reader.refusal(old)
        assert refused and "goes on in another session" in refused.message


def test_forks_and_sub_agents_are_linked(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1))
    parent = agent.id_of("s")
    agent.begin("agent:main:dashboard:1", "fork", {"sessionId": "fork"}, fork_source_session_id=parent)
    agent.begin("agent:main:subagent:1", "helper", {"sessionId": "helper", "spawnedBy": agent.key("s")})
    with opened(agent) as reader:
        fork, helper = reader.session("fork"), reader.session("helper")
        assert (fork.parent, fork.branched_from, fork.delegated_from) == (parent, parent, "")
        assert (helper.parent, helper.branched_from, helper.delegated_from) == (parent, "", parent)
        assert {(each.id, each.kind) for each in reader.children([parent])} == {
            ("fork", "branch"),
            ("helper", "delegate"),
        }
        assert (fork.source, helper.source) == ("main:dashboard", "main:subagent")


def test_several_agents(agent: OpenClawByHand, tmp_path: Path) -> None:
    agent.write("s", talk(1))
    other = OpenClawByHand(tmp_path / "elsewhere", agent="work")
    other.write("t", [{"role": "user", "content": "from work"}])
    other.sql("UPDATE session_windows SET session_id = ?", agent.id_of("s"))
    other.sql("UPDATE session_nodes SET current_session_id = ?", agent.id_of("s"))
    other.sql("UPDATE transcript_events SET session_id = ?", agent.id_of("s"))
    os.rename(tmp_path / "elsewhere" / "agents" / "work", agent.root / "agents" / "work")
    with opened(agent) as reader:
        name = f"work/{agent.id_of('s')}"
        assert {each.id for each in reader.listing.files()} == {agent.id_of("s"), name}  # type: ignore[attr-defined]
        assert sent(reader, name) == [("user", "from work")]
        assert sent(reader, agent.id_of("s")) == heard(talk(1))
        assert reader.session(name).source == "work:t"


def test_what_lists_say(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1))
    node = "UPDATE session_nodes SET updated_at = updated_at + 1"
    agent.sql(f"{node}, label = 'Garden', pinned_at = 5, archived_at = 6")
    with opened(agent) as reader:
        facts = reader.listing.sessions([agent.id_of("s")])[agent.id_of("s")]
        assert (facts.title, facts.model, facts.window, facts.source) == ("Garden", "test-model", 200_000, "main:s")
        assert facts.pinned and facts.archived and facts.cwd == "/home/user/work"
        assert reader.session(agent.id_of("s")).first_words.startswith("request0")
        assert reader.usage(agent.id_of("s")).tokens == 135
    agent.sql(f"{node}, label = NULL")
    with opened(agent) as reader:
        assert reader.session(agent.id_of("s")).title == "s", "the name of its entry"


def test_the_entry_of_a_session_is_never_shown(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1))
    with opened(agent) as reader:
        session = agent.id_of("s")
        everything = [
            reader.raw(session, before=None, limit=50), reader.session(session), reader.live(session),
            reader.listing.sessions([session]), [each.text for each in reader.listing.files()],  # type: ignore[attr-defined]
            reader.additions(session, [], end=True), reader.searchable(session, ""),
        ]  # fmt: skip
        assert "report on the system prompt" in SECRET and SECRET not in repr(everything)


def test_the_shared_database_is_not_opened(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1))
    state = agent.root / "state"
    state.mkdir()
    (state / "openclaw.sqlite").write_bytes(b"secrets")
    place = agent.root / "agents" / "liar" / "agent"
    place.mkdir(parents=True)
    (place / database.NAME).symlink_to(state / "openclaw.sqlite")
    assert [name for name, _ in database.databases(agent.root)] == ["main"]
    with opened(agent) as reader:
        assert reader.capabilities().sessions == 1


# -- rows --------------------------------------------------------------------------------------------------------------


def test_compressed_rows(agent: OpenClawByHand, monkeypatch: pytest.MonkeyPatch) -> None:
    agent.write("s", [])
    for message in talk(2):
        agent.append("s", "message", packed=True, message=said(message))
    agent.append("s", "custom", packed=True, customType="x", data="y" * 2000)
    read: list[int] = []
    whole = records.unpacked

    def noted(blob: Any, size: int) -> Any:
        read.append(size)
        return whole(blob, size)

    monkeypatch.setattr(records, "unpacked", noted)
    with opened(agent) as reader:
        assert history(reader, agent.id_of("s")).messages == len(talk(2))
        replies = [each for each in talk(2) if each["role"] == "assistant"]
        assert len(read) == len(replies) + 1, "what was asked and what tools said is not unpacked for the tree"
        assert sent(reader, agent.id_of("s")) == heard(talk(2))
        assert [row.tool_call_id for row in reader.live(agent.id_of("s")) if row.role == "tool"][0] == "call_0_0"


def test_compressed_rows_that_are_damaged(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1))
    agent.append("s", "message", packed=True, message=said({"role": "user", "content": "gone " * 500}))
    agent.append("s", "message", packed=True, message=said(talk(1)[-1]))
    agent.sql("UPDATE transcript_events SET event_zstd = x'28b52ffd0000' WHERE event_zstd IS NOT NULL")
    with opened(agent) as reader:
        raw = reader.raw(agent.id_of("s"), before=None, limit=2)
        assert [row.extra for row in raw] == [{"line": "no JSON object"}] * 2
        assert all("damaged" in str(row.content) for row in raw)
        assert [content for _, content in sent(reader, agent.id_of("s"))][:5] == [text for _, text in heard(talk(1))]


def test_a_row_that_is_much_larger_than_it_says_is_not_unpacked(agent: OpenClawByHand) -> None:
    import zstandard

    assert records.unpacked(zstandard.ZstdCompressor(1).compress(b" " * 40_000_000 + b"{}"), 10) is None
    assert records.unpacked(zstandard.ZstdCompressor(1).compress(b'{"a":1}'), 7) == {"a": 1}


def test_a_row_that_was_rewritten_is_read_anew(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1))
    agent.append("s", "compaction", summary="One.", firstKeptEntryId="none", tokensBefore=90)
    ask(agent, "later")
    entries = agent.entries("s")
    at = next(at for at, each in enumerate(entries) if each["type"] == "compaction")
    with opened(agent) as reader:
        before = reader.change_token(agent.id_of("s"))
        assert sent(reader, agent.id_of("s"))[0] == ("user", wrapped("One."))
    agent.rewrite("s", at, json.dumps({**entries[at], "type": "custom"}))
    with opened(agent) as reader:
        assert reader.change_token(agent.id_of("s")) != before
        assert sent(reader, agent.id_of("s")) == [*heard(talk(1)), ("user", "later")]


def test_rows_that_were_appended_are_read_alone(agent: OpenClawByHand, monkeypatch: pytest.MonkeyPatch) -> None:
    agent.write("s", talk(4))
    with opened(agent) as reader:
        assert sent(reader, agent.id_of("s")) == heard(talk(4))
    ask(agent, "more")
    made: list[Any] = []

    def noted(*given: Any) -> Any:
        made.append(given)
        return entry_of(*given)

    monkeypatch.setattr(records, "entry_of", noted)
    with opened(agent) as reader:
        assert sent(reader, agent.id_of("s")) == [*heard(talk(4)), ("user", "more")]
    assert len(made) == 1


def test_a_cold_archive_is_listed_and_said_to_be_one(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1))
    session = agent.id_of("s")
    agent.sql("DELETE FROM transcript_events")
    agent.sql("INSERT INTO session_transcript_cold_archives VALUES (?, 'g', 'a.jsonl.zst', 5)", session)
    with opened(agent) as reader:
        assert [each.id for each in reader.listing.files()] == [session]  # type: ignore[attr-defined]
        assert history(reader, session).messages == 0
        (note, *_) = reader.additions(session, [], end=True)
        assert note.name == "cold archive" and "restored" in note.text
        refusal = reader.refusal(session)
        assert refusal is not None and "cold archive" in refusal.message


# -- schemas and what breaks -------------------------------------------------------------------------------------------


def test_an_unknown_schema_is_browsed_and_says_so(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1))
    agent.sql("PRAGMA user_version = 99")
    agent.sql("ALTER TABLE transcript_events ADD COLUMN novelty TEXT")
    with opened(agent) as reader:
        assert sent(reader, agent.id_of("s")) == heard(talk(1))
        assert str(reader.refusal(None)).startswith(
            "The database of this OpenClaw has schema 99, which is not known here"
        )
    agent.sql("DROP TABLE session_windows")
    agent.sql("DROP TABLE transcript_event_identities")
    with opened(agent) as reader:
        assert sent(reader, agent.id_of("s")) == heard(talk(1))


def test_a_database_without_sessions_says_so(agent: OpenClawByHand) -> None:
    agent.sql("DROP TABLE transcript_events")
    with opened(agent) as reader, pytest.raises(StoreUnavailable, match="no sessions in a form that is known"):
        reader.session("s")


def test_nothing_is_written(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1))
    session = agent.id_of("s")
    before = sorted((path, path.stat().st_mtime_ns) for path in agent.root.rglob("*"))
    with opened(agent) as reader:
        reader.live(session)
        assert reader.refusal(None) is None
    assert sorted((path, path.stat().st_mtime_ns) for path in agent.root.rglob("*")) == before


def test_a_database_that_is_locked(agent: OpenClawByHand, monkeypatch: pytest.MonkeyPatch) -> None:
    agent.write("s", talk(1))
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    holding = agent.connected()
    holding.execute("PRAGMA locking_mode = EXCLUSIVE")
    holding.execute("BEGIN IMMEDIATE")
    holding.execute("UPDATE session_nodes SET updated_at = updated_at")
    try:
        with pytest.raises(StoreUnavailable, match="locked by another program"), opened(agent) as reader:
            newest_ids(reader), reader.session(agent.id_of("s"))
    finally:
        holding.close()


def test_a_database_that_is_none(agent: OpenClawByHand) -> None:
    for name in (database.NAME, f"{database.NAME}-wal", f"{database.NAME}-shm"):
        (agent.database.parent / name).unlink(missing_ok=True)
    agent.database.write_bytes(b"not a database, but long enough to be taken for one " * 100)
    with pytest.raises(StoreUnavailable, match="not a database"), opened(agent) as reader:
        reader.session("s")


@pytest.mark.parametrize("content", [b"", b"not a database, but long enough to be taken for one " * 100])
def test_a_database_that_is_none_takes_no_other_agent_with_it(agent: OpenClawByHand, content: bytes) -> None:
    agent.write("s", talk(1))
    broken = agent.root / "agents" / "garden" / "agent" / database.NAME
    broken.parent.mkdir(parents=True)
    broken.write_bytes(content)
    file = agent.root / "agents" / "garden" / "sessions" / "11111111-0000-4000-8000-000000000000.jsonl"
    file.parent.mkdir()
    file.write_text('{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"of old"}}\n')
    session = agent.id_of("s")
    with opened(agent) as reader:
        assert sent(reader, session) == heard(talk(1))
        assert {each.id for each in reader.listing.files()} == {session, file.stem}  # type: ignore[attr-defined]
        assert reader.refusal(None) is None and reader.capabilities().schema == 23
    (said,) = remarks(store_of(agent))
    assert said.startswith("The sessions of agent garden are left out:") and str(broken) in said


VIEW = "CREATE VIEW {table} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {columns} FROM n"


@pytest.mark.parametrize(
    "table", ["session_nodes", "session_windows", "transcript_events", "transcript_event_identities",
              "transcript_rewrite_watermarks", "session_transcript_cold_archives"]
)  # fmt: skip
def test_a_view_without_an_end_is_no_table(agent: OpenClawByHand, table: str) -> None:
    agent.write("s", talk(1))
    columns = ", ".join(f"i AS {row[1]}" for row in agent.sql(f"PRAGMA table_info({table})"))
    agent.sql(f"DROP TABLE {table}")
    agent.sql(VIEW.format(table=table, columns=columns))
    session = agent.id_of("s") if table != "session_nodes" else ""
    if table in database.NEEDED:
        with opened(agent) as reader, pytest.raises(StoreUnavailable, match="no sessions in a form that is known"):
            newest_ids(reader)
        return
    with opened(agent) as reader:
        assert len(newest_ids(reader)) == 1
        assert sent(reader, session) == heard(talk(1))


def test_rows_of_any_kind(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1))
    window = agent.id_of("s")
    big = {"type": "message", "id": "big", "parentId": None, "message": {"content": "x" * 10_000_000}}
    wrong = {"type": "message", "id": "x", "parentId": None, "message": 7}
    odd = ["", "null", "[]", "{broken", '"text"', "\x00", json.dumps(wrong), json.dumps(big)]
    for at, text in enumerate(odd):
        agent.sql("INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?, ?, ?, 0)",
                  window, 1_000 + at, text)  # fmt: skip
    agent.sql("UPDATE session_nodes SET entry_json = '{broken', updated_at = updated_at + 1")
    with opened(agent) as reader:
        raw = reader.raw(window, before=None, limit=50)
        assert len(raw) == len(talk(1)) + 2 + len(odd)
        assert sum(row.extra.get("line") == "no JSON object" for row in raw) == 6
        history(reader, window), reader.usage(window), reader.searchable(window, ""), reader.abandoned(window)
        assert reader.session(window).model == "test-model"


def test_versions_change_with_each_write(agent: OpenClawByHand) -> None:
    agent.write("s", talk(1))
    store, session = store_of(agent), agent.id_of("s")
    before = version_of(store), version_of(store, session)
    assert before == (version_of(store), version_of(store, session))
    ask(agent, "more")
    after = version_of(store), version_of(store, session)
    assert before[0] != after[0] and before[1] != after[1]
    assert version_of(store, "nobody") == ""


def test_an_sqlite_without_octet_length(agent: OpenClawByHand) -> None:
    assert database.octet_length("né") == 3 and database.octet_length(None) is None
    agent.write("s", talk(1))
    with database.connected(agent.database) as con:
        assert con.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    writing = agent.connected()
    writing.execute("UPDATE session_nodes SET updated_at = updated_at + 1")
    assert Path(f"{agent.database}-wal").exists()
    with database.connected(agent.database) as con, pytest.raises(sqlite3.OperationalError, match="readonly"):
        con.execute("DELETE FROM session_nodes")
    writing.close()
