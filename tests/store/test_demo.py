"""The demo store: everything promised is in it, it is made once and whole, and its sessions read as they should."""

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import compaction
from compaction.handoff import CURRENT_HEADER, END_MARKER, HYPHEN_HEADER, LEGACY_HEADER, PRIOR_HEADER
from compaction.tokens import message_tokens
from tests.cost import calls
from tests.factories.odd_demo import make_odd_demo
from viewer.demo import ensure_demo
from viewer.stores.base import Store
from viewer.stores.errors import NotFound, StoreUnavailable
from viewer.stores.hermes import codec, messages
from viewer.stores.hermes.columns import read_columns
from viewer.stores.hermes.paths import get_session
from viewer.stores.hermes.practice import copy_session
from viewer.stores.hermes.reader import HermesReader as Reader
from viewer.stores.message import StoredMessage, message_of

NOW = 1_795_300_000.0
ODD = "Odd rows: what no reader expects"
PROJECT = Path(__file__).resolve().parents[2]
CHILD = "import sys, pathlib, viewer.demo as demo; print(demo.ensure_demo(pathlib.Path(sys.argv[1])))"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo store with the odd sessions in it."""
    path = tmp_path_factory.mktemp("demo") / "demo.db"
    make_odd_demo(path, now=NOW)
    return path


@pytest.fixture(scope="module")
def demo(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        yield connection


def session_id(demo: sqlite3.Connection, title: str) -> str:
    (found,) = demo.execute("SELECT id FROM sessions WHERE title = ?", (title,)).fetchone()
    return str(found)


def rows(demo: sqlite3.Connection, where: str, *values: Any) -> list[StoredMessage]:
    cursor = demo.execute(f"SELECT * FROM messages WHERE {where} ORDER BY id", values)
    names = [column[0] for column in cursor.description]
    return [codec.decode_row(dict(zip(names, row, strict=True))) for row in cursor.fetchall()]


# -- made once, whole, and the same every time -----------------------------------------------------------------------


@pytest.mark.slow
def test_the_file_is_sound(demo: sqlite3.Connection) -> None:
    assert demo.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert demo.execute("PRAGMA foreign_key_check").fetchall() == []


def test_a_second_call_changes_nothing(path: Path) -> None:
    before = path.read_bytes()
    assert ensure_demo(path, now=NOW + 5000) is False
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir() if not file.name.endswith(("-shm", "-wal"))] == ["demo.db"]


@pytest.mark.slow
def test_the_first_start_is_not_held_up(tmp_path: Path) -> None:
    made: list[bool] = []
    assert calls(lambda: made.append(ensure_demo(tmp_path / "demo.db", now=NOW))) < 3_000_000
    assert made == [True]


@pytest.mark.slow
def test_a_visitor_meets_nothing_that_is_there_for_tests(tmp_path: Path) -> None:
    ensure_demo(tmp_path / "demo.db", now=NOW)
    with closing(sqlite3.connect(tmp_path / "demo.db")) as plain:
        for kind in ("empty", "hostile title"):
            assert plain.execute(f"SELECT title FROM sessions WHERE {SESSION_KINDS[kind][0]}").fetchall() == []
        assert plain.execute("SELECT id FROM sessions WHERE title = ?", (ODD,)).fetchall() == []
        columns = [row[1] for table in ("sessions", "messages") for row in plain.execute(f"PRAGMA table_info({table})")]
    assert not [name for name in columns if name.startswith("x_")]


@pytest.mark.slow
def test_it_is_the_same_every_time(path: Path, demo: sqlite3.Connection, tmp_path: Path) -> None:
    make_odd_demo(tmp_path / "again.db", now=NOW)
    with closing(sqlite3.connect(tmp_path / "again.db")) as again:
        for table in ("sessions", "messages", "system_prompts"):
            query = f"SELECT * FROM {table} ORDER BY 1"
            assert again.execute(query).fetchall() == demo.execute(query).fetchall()


@pytest.mark.slow
def test_a_killed_start_leaves_nothing_half_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "demo.db"
    unfinished = path.with_name("demo.db.unfinished")
    with subprocess.Popen([sys.executable, "-c", CHILD, path], cwd=PROJECT, stdout=subprocess.DEVNULL) as child:
        while not unfinished.exists():
            assert child.poll() is None
            time.sleep(0.002)
        child.kill()
    assert not path.exists() and unfinished.exists()
    assert ensure_demo(path, now=NOW) is True
    assert [file.name for file in path.parent.iterdir()] == ["demo.db"]


@pytest.mark.slow
def test_of_two_starts_one_makes_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path / "demo.db")]
    starts = [subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(start.communicate()[0].strip() for start in starts) == ["False", "True"]


# -- what is in it ---------------------------------------------------------------------------------------------------


def holding(text: str) -> str:
    """The condition that `text` is in the content, which SQLite's own LIKE reads only up to its first NUL."""
    return f"hex(content) LIKE '%{text.encode().hex()}%'"


SESSION_KINDS = {  # a condition on sessions, and how many at least meet it
    "about 30": ("1", 30),
    "live, active seconds ago": (f"ended_at IS NULL AND last_activity_at BETWEEN {NOW - 60} AND {NOW}", 1),
    "cron": ("source = 'cron' AND end_reason = 'cron_complete'", 1),
    "sub-agent": ("source = 'subagent' AND json_extract(model_config, '$._delegate_from') = parent_session_id", 1),
    "archived": ("archived = 1", 1),
    "without title": ("title IS NULL", 2),
    "empty": ("id NOT IN (SELECT session_id FROM messages)", 1),
    "3,000 messages": ("(SELECT COUNT(*) FROM messages WHERE session_id = sessions.id) = 3000", 1),
    "hostile title": ("title LIKE '<script>%onmouseover=%'", 1),
    "unknown column": ("x_mood IS NOT NULL", 1),
}

MESSAGE_KINDS = {  # a condition on messages, and how many at least meet it
    "three parallel calls": ("json_valid(tool_calls) AND json_array_length(tool_calls) = 3", 5),
    "thinking": ("reasoning <> ''", 8),
    "tool error, JSON": ("role = 'tool' AND content LIKE '{\"error\"%'", 1),
    "tool error, text": ("role = 'tool' AND content LIKE 'Fatal:%'", 1),
    "picture": (holding("data:image/png;base64,iVBOR"), 5),
    "repeated call id": ("tool_call_id = 'call_0'", 500),
    "unified diff": ("role = 'tool' AND content LIKE '%--- a/%+++ b/%@@ -%'", 4),
    "patch tool": ("tool_name = 'patch'", 4),
    "colours": ("role = 'tool' AND instr(content, char(27) || '[31m')", 2),
    "JSON result": ("role = 'tool' AND json_valid(content)", 50),
    "huge result": ("role = 'tool' AND length(content) > 200000", 1),
    "Markdown table": ("role = 'assistant' AND content LIKE '%|---%'", 8),
    "Markdown code": ("role = 'assistant' AND content LIKE '%```python%'", 2),
    "Markdown list": ("role = 'assistant' AND content LIKE '%' || char(10) || '1. %'", 8),
    "Japanese": ("content LIKE '%京都%'", 2),
    "Chinese": ("content LIKE '%周报%'", 1),
    "Korean": ("content LIKE '%냉장고%'", 2),
    "Arabic and Hebrew": ("content LIKE '%الشارع%' AND content LIKE '%רחוב%'", 2),
    "emoji": ("content LIKE '%👩‍👩‍👧‍👦%' OR content LIKE '%🇫🇮%'", 2),
    "hostile user text": ("role = 'user' AND content LIKE '%<script>%onerror=%javascript:%'", 1),
    "hostile assistant text": ("role = 'assistant' AND content LIKE '%](javascript:%<iframe%'", 1),
    "hostile result": ("role = 'tool' AND content LIKE '%<script>alert(%'", 2),
    "hostile arguments": ("tool_calls LIKE '%<script>alert(%'", 1),
    "hostile thinking": ("reasoning LIKE '%<script>alert(%'", 1),
    "unknown role": ("role IN ('oracle', 'developer', 'function')", 3),
    "unknown block": (holding('"type": "hologram"'), 1),
    "unknown column": ("x_confidence IS NOT NULL", 1),
    "broken JSON": ("hex(content) LIKE '006A736F6E3A%' AND content NOT LIKE '%]' AND content NOT LIKE '%}'", 1),
    "empty content": ("content = ''", 3),
    "no content": ("content IS NULL AND tool_calls IS NULL", 1),
    "session_meta": ("role = 'session_meta'", 1),
    "system": ("role = 'system'", 1),
    "steering": ("role = 'user' AND display_kind = 'steer'", 1),
    "hidden scaffolding": ("role = 'user' AND display_kind = 'hidden'", 2),
    "summarised away": ("active = 0 AND compacted = 1", 100),
    "superseded": ("active = 0 AND compacted = 0", 20),
    "shortened copy": (
        "role = 'tool' AND EXISTS (SELECT 1 FROM messages AS original WHERE original.id < messages.id"
        " AND original.message_uid = messages.message_uid AND length(original.content) > length(messages.content))",
        2,
    ),
}


@pytest.mark.parametrize("kind", SESSION_KINDS)
def test_every_promised_kind_of_session_is_there(demo: sqlite3.Connection, kind: str) -> None:
    condition, least = SESSION_KINDS[kind]
    assert demo.execute(f"SELECT COUNT(*) FROM sessions WHERE {condition}").fetchone()[0] >= least


@pytest.mark.parametrize("kind", MESSAGE_KINDS)
def test_every_promised_kind_of_message_is_there(demo: sqlite3.Connection, kind: str) -> None:
    condition, least = MESSAGE_KINDS[kind]
    assert demo.execute(f"SELECT COUNT(*) FROM messages WHERE {condition}").fetchone()[0] >= least


def test_counters_are_those_of_the_live_rows(demo: sqlite3.Connection) -> None:
    for session, counted, asked in demo.execute("SELECT id, message_count, tool_call_count FROM sessions").fetchall():
        live = rows(demo, "session_id = ? AND active = 1", session)
        assert (counted, asked) == (len(live), sum(len(row.tool_calls) for row in live))


def test_nothing_happened_in_the_future(demo: sqlite3.Connection) -> None:
    query = "SELECT MAX(MAX(started_at), MAX(last_activity_at), MAX(ended_at)), MAX(timestamp) FROM sessions, messages"
    assert all(moment <= NOW for moment in demo.execute(query).fetchone())


def test_one_session_is_far_above_its_threshold(demo: sqlite3.Connection) -> None:
    live = rows(demo, "session_id = ? AND active = 1", session_id(demo, "Stocktaking, ten warehouses"))
    count = compaction.counter_for("gpt-4o")
    tokens = sum(message_tokens(message_of(row), count) for row in live)
    assert 0.75 * 128_000 < tokens < 128_000  # Hermes' highest threshold for its window, and the window


def test_search_finds_words_in_both_indexes(demo: sqlite3.Connection) -> None:
    query = (
        "SELECT DISTINCT title FROM {0} AS found, messages AS m, sessions AS s"
        " WHERE m.id = found.rowid AND s.id = m.session_id AND {0} MATCH ?"
    )
    lisbon, kyoto = "Lisbon in October, five people and a dog", "Kyoto, two days in autumn (京都の週末プラン 🍁)"
    assert demo.execute(query.format("messages_fts"), ("beagle",)).fetchall() == [(lisbon,)]
    assert demo.execute(query.format("messages_fts_trigram"), ("湯豆腐",)).fetchall() == [(kyoto,)]


# -- handoffs and blocks ---------------------------------------------------------------------------------------------

HANDOFFS = [  # title, live handoff's role, kinds of its parts, start of its directive or ""
    ("Lisbon in October, five people and a dog", "assistant", ["summary"], CURRENT_HEADER),
    ("Reading list on soil carbon", "assistant", ["summary"], HYPHEN_HEADER),
    ("Moving the cupboard server to new disks", "user", ["summary"], LEGACY_HEADER),
    ("Rota planner: swapping shifts", "user", ["summary", "live"], CURRENT_HEADER),
    ("Pottery shop: glaze, kiln and a crack", "user", ["summary", "live"], CURRENT_HEADER),
    ("Choir tour, the spreadsheet that eats names", "user", ["prior", "summary"], CURRENT_HEADER),
    ("Beehive scales and a strange night", "user", ["summary"], ""),
]


@pytest.mark.parametrize(("title", "role", "kinds", "header"), HANDOFFS)
def test_every_layout_of_a_handoff_is_there(
    demo: sqlite3.Connection, title: str, role: str, kinds: list[str], header: str
) -> None:
    handoff = live_handoff(demo, title)
    parts = compaction.split(handoff.content, flagged=handoff.flagged)
    assert (handoff.role, [part.kind for part in parts]) == (role, kinds)
    (summary,) = [part for part in parts if part.kind == "summary"]
    assert summary.directive.startswith(header) and bool(summary.directive) == bool(header)
    assert summary.text and END_MARKER not in summary.text


def is_handoff(row: StoredMessage) -> bool:
    return compaction.is_handoff(message_of(row))


def live_handoff(demo: sqlite3.Connection, title: str) -> StoredMessage:
    live = rows(demo, "session_id = ? AND active = 1", session_id(demo, title))
    (handoff,) = filter(is_handoff, live)
    return handoff


def test_handoffs_are_merged_into_a_picture_and_into_tool_calls(demo: sqlite3.Connection) -> None:
    pictured = live_handoff(demo, "Pottery shop: glaze, kiln and a crack")
    assert [part["type"] for part in pictured.content] == ["text", "text", "image_url"]
    calling = live_handoff(demo, "Invoice import keeps choking")
    assert (calling.role, len(calling.tool_calls)) == ("assistant", 2)
    assert calling.content.startswith(PRIOR_HEADER)


def test_handoffs_with_and_without_the_flag(demo: sqlite3.Connection) -> None:
    assert {row.flagged for row in rows(demo, "role <> 'tool'") if is_handoff(row)} == {True, False}


def test_the_split_conversation_piles_up_its_handoffs(demo: sqlite3.Connection) -> None:
    titles = ["Museum audio guide", "Museum audio guide #2", "Museum audio guide #3", "Museum audio guide #4"]
    parts = [session_id(demo, title) for title in titles]
    assert [sum(map(is_handoff, rows(demo, "session_id = ?", part))) for part in parts] == [0, 1, 2, 3]
    chain = demo.execute("SELECT parent_session_id, end_reason FROM sessions WHERE title LIKE 'Museum%' ORDER BY title")
    assert chain.fetchall() == [
        (None, "compression"), (parts[0], "compression"), (parts[1], "compression"), (parts[2], None)
    ]  # fmt: skip


BOUNDARIES = {  # live messages before and after each compaction, as its transcript says
    "Lisbon in October, five people and a dog": [(20, 8)],
    "Moving the cupboard server to new disks": [(21, 7), (20, 5)],
    "Reading list on soil carbon": [(13, 4)],
    "Rota planner: swapping shifts": [(12, 1)],
    "Invoice import keeps choking": [(15, 10)],
    "Choir tour, the spreadsheet that eats names": [(12, 2)],
    "Beehive scales and a strange night": [(7, 4)],
    "Grant application for the reading room": [],
    "A name for the boat": [],
    "Pottery shop: glaze, kiln and a crack": [(9, 1)],
    "Museum audio guide #4": [(8, 6), (10, 6), (10, 8)],
}


@pytest.mark.parametrize("title", BOUNDARIES)
def test_history_shows_each_message_once_around_its_boundaries(demo: sqlite3.Connection, title: str) -> None:
    reader = Reader(Store("demo", "sqlite:///demo.db", "demo"), demo, read_columns(demo))
    history = messages.read_history(reader, session_id(demo, title))
    assert [(found.messages_before, found.messages_after) for found in history.boundaries] == BOUNDARIES[title]
    name = title.split(" #")[0]
    said = {
        uid
        for row in rows(demo, "session_id IN (SELECT id FROM sessions WHERE title LIKE ? || '%')", name)
        if [part.kind for part in compaction.split(row.content, flagged=row.flagged)] != ["summary"]
        for uid in [row.extra["message_uid"]]
    }
    assert len(history.entries) == len(said) - (4 if title == "A name for the boat" else 0)  # four were taken back


def test_every_result_has_its_call_and_every_call_its_result(demo: sqlite3.Connection) -> None:
    for (session,) in demo.execute("SELECT id FROM sessions WHERE title IS NOT ?", (ODD,)).fetchall():
        waiting: list[str] = []
        for row in rows(demo, "session_id = ? AND active = 1", session):
            if row.role == "tool":
                assert row.tool_call_id == waiting.pop(0)
            else:
                assert waiting == []
                waiting = [call["id"] for call in row.tool_calls]
                assert all(json.loads(call["function"]["arguments"]) is not None for call in row.tool_calls)
        assert waiting == []


# -- practise on a copy ----------------------------------------------------------------------------------------------


@pytest.fixture
def own(path: Path, tmp_path: Path) -> Path:
    return Path(shutil.copyfile(path, tmp_path / "own.db"))


def table(path: Path, query: str, *values: Any) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query, values).fetchall()]


def reading_from(connection: sqlite3.Connection) -> Reader:
    return Reader(Store("source", "sqlite:///source.db", "configured"), connection, read_columns(connection))


def copied(source: Path, session: str, own: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The session row and the message rows of a new copy."""
    with closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as connection:
        copy = copy_session(reading_from(connection), session, own, now=NOW)
    (row,) = table(own, "SELECT * FROM sessions WHERE id = ?", copy)
    return row, table(own, "SELECT * FROM messages WHERE session_id = ? ORDER BY id", copy)


@pytest.mark.parametrize(("version", "title"), [
    (16, "Airline desk, week 30"), (16, "Airline desk, week 29"), (21, "Airline desk, week 29"),
    (21, "Merged carrier 98"), (31, "Airline desk, week 29"), (31, "Merged carrier 92"),
])  # fmt: skip
def test_a_copy_of_a_real_session_has_its_rows_flags_and_order(
    small_hermes_copy: Callable[[int], Path], own: Path, version: int, title: str
) -> None:
    source = small_hermes_copy(version)
    (session,) = table(source, "SELECT * FROM sessions WHERE title = ?", title)
    rows = table(source, "SELECT * FROM messages WHERE session_id = ? ORDER BY id", session["id"])
    others = table(own, "SELECT * FROM messages ORDER BY id")
    copy, messages = copied(source, session["id"], own)
    names = set(messages[0]) - {"id", "session_id", "display_order"}
    names -= set() if "message_uid" in rows[0] else {"message_uid"}  # minted where the source has none
    zero = {"compacted": 0, "_compressed_summary": 0}
    assert [[row.get(name, zero.get(name)) for name in names] for row in rows] == [
        [message[name] for name in names] for message in messages
    ]
    assert copy["title"] == f"{title} (practice copy)"
    assert (copy["parent_session_id"], copy["ended_at"], copy["end_reason"]) == (None, None, None)
    assert (copy["message_count"], copy["last_activity_at"]) == (session["message_count"], NOW)
    assert (copy["model"], copy["source"]) == (session["model"], session["source"])
    assert table(own, "SELECT * FROM messages WHERE session_id <> ? ORDER BY id", copy["id"]) == others
    assert table(own, "PRAGMA integrity_check") == [{"integrity_check": "ok"}]


def test_the_system_prompt_comes_along_by_hash_and_inline(path: Path, own: Path, tmp_path: Path) -> None:
    query = "SELECT prompt FROM system_prompts WHERE hash = ?"
    source = tmp_path / "old.db"
    with closing(sqlite3.connect(source)) as old, old:
        old.execute("CREATE TABLE sessions (id TEXT, source TEXT, started_at REAL, title TEXT, system_prompt TEXT)")
        old.execute("CREATE TABLE messages (id INTEGER, session_id TEXT, role TEXT, content TEXT, timestamp REAL)")
        old.execute("INSERT INTO sessions VALUES ('old', 'cli', 5.0, NULL, 'Be an owl.')")
        old.execute("INSERT INTO messages VALUES (7, 'old', 'user', 'Hoo?', 6.0)")
    copy, messages = copied(source, "old", own)
    assert table(own, query, copy["system_prompt_hash"]) == [{"prompt": "Be an owl."}]
    assert (copy["title"], messages[0]["active"], messages[0]["compacted"]) == ("Untitled (practice copy)", 1, 0)
    (newer,) = table(path, "SELECT * FROM sessions WHERE title = 'Museum audio guide #3'")
    copy, _ = copied(path, newer["id"], own)
    assert copy["system_prompt_hash"] == newer["system_prompt_hash"] is not None


def test_a_copy_has_the_history_of_its_original(path: Path, own: Path) -> None:
    title = "Moving the cupboard server to new disks"
    (session,) = table(path, "SELECT id FROM sessions WHERE title = ?", title)
    copy, _ = copied(path, session["id"], own)
    with closing(sqlite3.connect(own)) as connection:
        reader = Reader(Store("demo", f"sqlite:///{own}", "demo"), connection, read_columns(connection))
        found = messages.read_history(reader, copy["id"]).boundaries
    assert [(boundary.messages_before, boundary.messages_after) for boundary in found] == BOUNDARIES[title]


def test_a_copy_of_a_conversation_in_parts_has_all_its_parts(
    small_hermes_copy: Callable[[int], Path], own: Path
) -> None:
    source = small_hermes_copy(16)
    (newest,) = table(source, "SELECT id FROM sessions WHERE title = 'Airline desk, week 30 #4'")
    copy, _ = copied(source, newest["id"], own)
    with closing(sqlite3.connect(own)) as connection:
        reader = reading_from(connection)
        session, history = get_session(reader, copy["id"]), messages.read_history(reader, copy["id"])
    assert (session.name, session.parts, session.end_reason) == ("Airline desk, week 30 (practice copy)", 4, "")
    assert [(b.messages_before, b.messages_after) for b in history.boundaries] == [(416, 126), (234, 122), (246, 79)]
    assert len(history.entries) == 758


def test_titles_of_copies_are_unique_and_short_enough(path: Path, own: Path) -> None:
    with closing(sqlite3.connect(own)) as connection, connection:
        connection.execute("UPDATE sessions SET title = ? WHERE title = 'Nightly backup report'", ("m" * 100,))
    (session,) = table(own, "SELECT id FROM sessions WHERE title LIKE 'mmm%'")
    titles = [copied(own, session["id"], own)[0]["title"] for _ in range(3)]
    endings = [" (practice copy)", " (practice copy 2)", " (practice copy 3)"]
    assert titles == ["m" * (95 - len(ending)) + ending for ending in endings]


def test_a_copied_sub_agent_has_no_parent_left(path: Path, own: Path) -> None:
    (session,) = table(path, "SELECT id FROM sessions WHERE source = 'subagent'")
    copy, _ = copied(path, session["id"], own)
    assert (copy["parent_session_id"], json.loads(copy["model_config"])) == (None, {})


def test_an_unknown_session_and_a_missing_store_are_refused(path: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(path)) as source:
        with pytest.raises(NotFound, match="no session nobody"):
            copy_session(reading_from(source), "nobody", tmp_path / "none.db", now=NOW)
        (session,) = source.execute("SELECT id FROM sessions LIMIT 1").fetchone()
        with pytest.raises(StoreUnavailable, match="none.db is not there"):
            copy_session(reading_from(source), session, tmp_path / "none.db", now=NOW)
    assert not (tmp_path / "none.db").exists()
