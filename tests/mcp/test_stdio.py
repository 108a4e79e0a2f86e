"""`manage.py mcp` as an agent starts it: with the official client over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from mcp import Client, StdioServerParameters

from tests.factories.recalled import KEY, QUESTION, fill
from tests.factories.stores import EmptyStore, create_empty
from viewer.web import own_database

ROOT: Path = settings.BASE_DIR
pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path: Path) -> EmptyStore:
    path = tmp_path / "own.db"
    create_empty(path)
    return EmptyStore(path)


def environment(store: EmptyStore, **more: str) -> dict[str, str]:
    data = {"PALIMPSEST_DATA_DIR": str(store.path.parent / "data"), "PALIMPSEST_STORES": f"own=sqlite:///{store.path}"}
    return {**os.environ, **data, **more}


def talk(
    store: EmptyStore, calls: Sequence[tuple[str, dict[str, Any]]], *options: str, mode: str = "legacy", **more: str
) -> list[str]:
    """The names of the tools as one text, then the answers to the calls; the mode is the client's."""

    async def asked() -> list[str]:
        command = [str(ROOT / "manage.py"), "mcp", *options]
        started = StdioServerParameters(
            command=sys.executable, args=command, env=environment(store, **more), cwd=store.path.parent
        )
        async with Client(started, mode=mode) as client:
            names = " ".join(tool.name for tool in (await client.list_tools()).tools)
            answers = [await client.call_tool(name, arguments) for name, arguments in calls]
            return [names, *(answer.content[0].text for answer in answers)]  # type: ignore[union-attr]

    return asyncio.run(asked())


def test_an_agent_finds_again_what_was_summarised_away(store: EmptyStore) -> None:
    """The site never ran here: our own database is made."""
    ids = fill(store, "first", "One")
    fill(store, "second", "Two")
    names, hits, read, lost, seen, unknown = talk(
        store,
        [
            ("search_history", {"query": QUESTION}),
            ("read_history", {"around": ids["key"]}),
            ("what_was_lost", {}),
            ("what_the_model_sees", {"session": "second"}),
            ("search_history", {"query": QUESTION, "session": "third"}),
        ],
        CLAUDE_PROJECT_DIR="/work/first",
    )
    assert names == "search_history read_history what_was_lost what_the_model_sees list_sessions"
    assert hits.startswith('Session "One" (guessed: the newest in this directory; first)')
    assert "port 5433" in hits and "port is in the notes" not in hits
    assert KEY not in read and "[redacted: " in read
    assert "summarised 24 messages" in lost
    assert seen.startswith('Session "Two"\n') and "The host was moved." in seen
    assert 'There is no session "third"' in unknown


@pytest.mark.parametrize("mode", ["auto", "2026-07-28"])
def test_a_client_without_a_handshake_is_answered(mode: str, store: EmptyStore) -> None:
    fill(store)
    names, hits, wrong = talk(
        store, [("search_history", {"query": QUESTION}), ("search_history", {"words": QUESTION})], mode=mode
    )
    assert "read_history" in names and "port 5433" in hits and "These arguments cannot be used: query" in wrong


def test_a_store_that_is_not_there_is_said_at_the_first_call(store: EmptyStore) -> None:
    _, refused, again = talk(store, [("list_sessions", {})] * 2, "--store", "none")
    assert refused == again == "There is no store named 'none'."


def test_tables_of_another_version_are_said_at_the_first_call(store: EmptyStore) -> None:
    data = store.path.parent / "data"
    data.mkdir()
    with sqlite3.connect(data / "palimpsest.sqlite3") as ours:
        ours.execute("CREATE TABLE django_migrations (id INTEGER PRIMARY KEY, app TEXT, name TEXT, applied TEXT)")
    assert talk(store, [("list_sessions", {})])[1] == own_database.BEHIND


def test_compaction_is_offered_where_it_was_allowed(store: EmptyStore) -> None:
    fill(store)
    names, refused = talk(store, [("compact_session", {"session": "s"})], "--scopes", "read,compact", "--store", "own")
    assert "compact_session undo_compaction" in names
    assert "nothing" in refused.lower() or "few" in refused.lower() or "summarise" in refused.lower()


def test_nothing_but_the_protocol_is_written_and_the_end_of_input_ends_it(store: EmptyStore) -> None:
    fill(store)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "no json at all",
        '{"jsonrpc": "2.0", "id":2,"method": "tools/call", "params":{"name": "\\ud800", "arguments": {"\\u0000": 1}}}',
        json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}),
    ]
    done = subprocess.run(
        [sys.executable, "manage.py", "mcp"],
        cwd=ROOT, env=environment(store), input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    assert {1, 3} <= {answer.get("id") for answer in answers}


def test_a_start_imports_nothing_of_what_the_tools_do(store: EmptyStore) -> None:
    """Nor the API's package and what reads stores: an agent starts a server with each session."""
    heavy = ("ninja", "psycopg", "compaction", "viewer.recall", "viewer.runs.job", "viewer.stores.registry")
    code = (
        "import sys; sys.argv = ['manage.py', 'mcp']; from viewer.__main__ import main; main(); "
        f"print([each for each in {heavy} if each in sys.modules], file=sys.stderr)"
    )
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in asked)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env=environment(store), input=lines, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "tools" in json.loads(done.stdout.splitlines()[-1])["result"]
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--scopes", "all"], "Scopes are read, or read,compact."),
        (["--scopes", ""], "Scopes are read, or read,compact."),
    ],
)
def test_wrong_options_end_it_with_a_sentence(store: EmptyStore, options: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "mcp", *options],
        cwd=ROOT, env=environment(store), capture_output=True, text=True, input="", timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip().splitlines()[-1] == said


def test_the_site_does_not_load_the_sdk_when_it_starts() -> None:
    code = (
        "import django, sys; django.setup(); import viewer.urls; "
        "print([name for name in sys.modules if name == 'mcp' or name.startswith('mcp.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
