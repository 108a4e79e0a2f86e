"""The real OpenCode: it sends what we show, goes on from our compactions, and from the old context after an undo."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from tests.agents import chat_views
from tests.agents.base import Block, Json
from tests.clients import ApiClient
from tests.interop.chat_service import MODEL, ChatReply, ChatService, calls, says, tool
from tests.interop.fetched import NotInstalled, fetched, npm
from tests.interop.processes import WAIT, WITH_PARENT, ClientFailed, end, run
from tests.interop.real_agent import RealAgent
from tests.store_api import StoreApi
from viewer.stores.base import Store
from viewer.stores.registry import open_store

VERSION = "1.18.33"
PACKAGE = "opencode-linux-x64"
ASK = Block("user", "text", "What did we do so far?")
MUCH = "All that is known of this bed. " * 200  # so that a summary is worth while
SUMMARY = "[CONTEXT SUMMARY]"  # begins ours
OFF = "AUTOUPDATE MODELS_FETCH SHARE LSP_DOWNLOAD DEFAULT_PLUGINS EMBEDDED_WEB_UI CLAUDE_CODE"


class Model(ChatService):
    """Answers requests for titles, too."""

    kinds = ("turn", "summary", "title")  # type: ignore[assignment]

    def _kind(self, body: Json) -> str:
        told = "\n".join(chat_views.text_of(each) for each in body["messages"] if each["role"] == "system")
        if "You are a title generator" in told:
            return "title"
        return "summary" if "context summarization agent" in told else "turn"

    def _reply(self, kind: str, body: Json) -> ChatReply:
        return says("A garden") if kind == "title" else super()._reply(kind, body)


class OpenCode:
    """A client with a home and a working directory of its own, and a model of its own to talk to."""

    def __init__(self, program: Path, place: Path, model: Model) -> None:
        self.program, self.place, self.model, self.work = program, place, model, place / "work"
        self.data = place / "share" / "opencode"
        (place / "config" / "opencode").mkdir(parents=True)
        self.work.mkdir()
        (self.work / "beds.txt").write_text("roses\n")
        limits = {"limit": {"context": 200_000, "output": 8_192}, "tool_call": True, "name": "Ours"}
        provider = {
            "npm": "@ai-sdk/openai-compatible", "name": "Ours", "options": {"baseURL": model.url, "apiKey": "none"},
            "models": {MODEL: limits},
        }  # fmt: skip
        settings = {
            "autoupdate": False, "share": "disabled", "enabled_providers": ["ours"], "permission": "allow",
            "model": f"ours/{MODEL}", "small_model": f"ours/{MODEL}", "provider": {"ours": provider},
        }  # fmt: skip
        (place / "config" / "opencode" / "opencode.json").write_text(json.dumps(settings))

    def environment(self) -> dict[str, str]:
        """All that it is told: fetches nothing, reports to nobody."""
        homes = {f"XDG_{name.upper()}_HOME": str(self.place / name) for name in ("config", "state", "cache")}
        return {
            "PATH": os.defpath, "LANG": "C.UTF-8", "TERM": "dumb", "HOME": str(self.place), **homes,
            "XDG_DATA_HOME": str(self.place / "share"), "npm_config_registry": "http://127.0.0.1:9",
            **{f"OPENCODE_DISABLE_{name}": "1" for name in OFF.split()},
        }  # fmt: skip

    def run(self, session: str, prompt: str) -> None:
        """One turn in a process of its own."""
        run([self.program, "run", "-s", session, prompt], self.work, self.environment())

    @contextmanager
    def serving(self) -> Iterator[Server]:
        """A process that stays open."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        command = [*WITH_PARENT, self.program, "serve", "--hostname", "127.0.0.1", "--port", port]
        with subprocess.Popen(
            command, cwd=self.work, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        ) as process:  # fmt: skip
            try:
                assert process.stdout is not None
                if not any("listening" in line for line in process.stdout):
                    raise ClientFailed("opencode serve did not start")
                yield Server(f"http://127.0.0.1:{port}")
            finally:
                process.terminate()
                end(process)


class Server:
    """Its HTTP interface."""

    def __init__(self, url: str) -> None:
        self.url = url

    def call(self, path: str, method: str = "POST", **body: Any) -> Any:
        data, kind = json.dumps(body).encode(), {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}{path}", data, kind, method=method)
        with urllib.request.urlopen(request, timeout=WAIT) as answer:
            return json.loads(answer.read() or b"null")

    def new(self) -> str:
        return str(self.call("/session")["id"])

    def say(self, session: str, prompt: str) -> None:
        self.call(f"/session/{session}/message", parts=[{"type": "text", "text": prompt}])

    def compact(self, session: str) -> None:
        self.call(f"/session/{session}/summarize", providerID="ours", modelID=MODEL)


@pytest.fixture(scope="module")
def program() -> Path:
    """The program, installed once and kept in the cache directory."""

    def install(home: Path) -> None:
        npm("install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", home, f"{PACKAGE}@{VERSION}")

    try:
        return fetched(f"opencode-{VERSION}", f"node_modules/{PACKAGE}/bin/opencode", VERSION, install)
    except NotInstalled as missing:
        pytest.skip(f"OpenCode is not here: {missing}")


@pytest.fixture
def client(program: Path, tmp_path: Path) -> Iterator[OpenCode]:
    with Model() as model:
        yield OpenCode(program, tmp_path / "opencode", model)


@pytest.fixture
def store_api(
    client: OpenCode, api_client: ApiClient, transactional_db: None, at_once: None, settings: Settings, tmp_path: Path
) -> StoreApi:
    for name in ("HERMES_HOME", "CLAUDE_HOME", "CODEX_HOME", "OPENCLAW_HOME", "PI_HOME", "OPENCODE_HOME"):
        setattr(settings, name, tmp_path / "no-home")
    settings.DEMO_STORE = tmp_path / "no-demo.db"
    agent = RealAgent(f"opencode://{client.data}")
    settings.STORES = {"work": agent.url}
    return StoreApi(api_client, "work", agent)


def talk(client: OpenCode, server: Server) -> str:
    """A session of six turns, with calls at once, one that fails, and a command that exits with 3."""
    session = server.new()
    failing = tool("read", filePath=str(client.work / "none.txt"))
    for number in range(6):
        called = (tool("bash", command=f"echo {number}; exit {3 * (number == 1)}", description="say"), failing)
        client.model.replies += [calls(*called, text="I look.", reasoning="Hm."), says(f"{number}: {MUCH}")]
        server.say(session, f"What grows in bed {number}? {MUCH}")
    return session


def shown(client: OpenCode, session: str) -> list[Block]:
    """What we say that a model is sent, with the client's question before a summary."""
    with open_store(Store("work", f"opencode://{client.data}", "configured")) as reader:
        rows = reader.live(session)
        added = reader.additions(session, [row.id for row in rows], end=True)
    asked = {each.before for each in added if each.is_sent}
    return [block for row in rows for block in ([ASK] if row.id in asked else []) + chat_views.of_rows([row])]


def sent(client: OpenCode) -> list[Block]:
    """What the newest request sent, without its prompt."""
    blocks = chat_views.of_request(client.model.of("turn")[-1]["messages"])
    return blocks[:-1]


def compacted(store_api: StoreApi, session: str) -> int:
    run = store_api.run(session, apply=True, keep_last=5)
    assert run["status"] == "applied", run
    return int(run["id"])


def test_it_goes_on_from_our_summary_and_from_the_old_context(client: OpenCode, store_api: StoreApi) -> None:
    with client.serving() as server:
        session = talk(client, server)
        before = shown(client, session)
        number = compacted(store_api, session)
        after = shown(client, session)
        assert after[0] == ASK and SUMMARY in after[1].said and after[2:] == before[-len(after[2:]) :]
        server.say(session, "And now?")
        assert sent(client) == after
        said = shown(client, session)[len(after) :]
        assert store_api.api_client.call("POST", f"/runs/{number}/undo")[1]["status"] == "undone"
        server.say(session, "And then?")
        assert sent(client) == [*before, *said]
        more = shown(client, session)[len(before) + len(said) :]
        assert store_api.api_client.call("POST", f"/runs/{number}/redo")[1]["status"] == "applied"
    client.run(session, "And at last?")
    assert sent(client) == [*after, *said, *more]


def test_both_compact_on_top_of_each_other(client: OpenCode, store_api: StoreApi) -> None:
    with client.serving() as server:
        session = talk(client, server)
        number = compacted(store_api, session)
        server.compact(session)
        asked = client.model.of("summary")[-1]["messages"]
        assert SUMMARY in "".join(map(chat_views.text_of, asked))
        assert store_api.refusal("POST", f"/runs/{number}/undo") == "not_undoable"
        for turn in range(4):
            server.say(session, f"What grows behind bed {turn}? {MUCH}")
            assert sent(client) == shown(client, session)[: len(sent(client))]
        compacted(store_api, session)
        after = shown(client, session)
        server.say(session, "And now?")
        assert sent(client) == after and len(store_api.compactions(session)) == 3


def test_not_while_a_turn_runs(client: OpenCode, store_api: StoreApi) -> None:
    with client.serving() as server:
        session = talk(client, server)
        with client.model.held("turn"):
            asking = threading.Thread(target=server.say, args=(session, "And now?"))
            asking.start()
            client.model.wait_for("turn", 13)
            wanted = {"apply": True, "strategy": "summary", "keep_last": 5}
            assert store_api.refusal("POST", f"{store_api.at(session)}/runs", wanted) == "session_busy"
        asking.join()
        compacted(store_api, session)


def test_what_somebody_went_back_from(client: OpenCode, store_api: StoreApi) -> None:
    """The rows are there until the next prompt deletes them; a session in the archive is compacted as any other."""
    with client.serving() as server:
        session = talk(client, server)
        before = shown(client, session)
        server.say(session, "Never mind.")
        with closing(sqlite3.connect(client.data / "opencode.db")) as con:
            (newest,) = con.execute("SELECT id FROM message ORDER BY time_created DESC LIMIT 1 OFFSET 1").fetchone()
        server.call(f"/session/{session}/revert", messageID=newest)
        assert shown(client, session) == before
        wanted = {"apply": True, "strategy": "summary", "keep_last": 5}
        assert store_api.refusal("POST", f"{store_api.at(session)}/runs", wanted) == "session_busy"
        server.say(session, "Rather this.")
        assert sent(client) == before
        server.call(f"/session/{session}", "PATCH", time={"archived": 1_795_000_000_000})
        assert store_api.api_client.get(store_api.at(session))["archived"] is True
        compacted(store_api, session)
        after = shown(client, session)
        server.say(session, "And now?")
        assert sent(client) == after and after[0] == ASK
