"""The MCP server on standard input and output.

It is written out here because an agent starts one with each session, and mostly asks nothing but for the tools: the SDK
takes a second of processor time to import, and what the tools do another one, which is imported at the first call.
Both eras of the protocol are served: with a handshake, and with a version in each request
(https://modelcontextprotocol.io/specification, 2025-11-25 and 2026-07-28).
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import IO, Any

from django.core.management import call_command
from django.db import Error, close_old_connections, connection

from viewer.web import own_database

from .tools import INSTRUCTIONS, NAME, Caller, tools_for

log = logging.getLogger(__name__)

HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # versions
IN_EACH = ("2026-07-28",)  # versions that a request names
_OURS = "io.modelcontextprotocol/"
NO_METHOD, WRONG_PARAMETERS, FAILED, UNKNOWN_VERSION = -32601, -32602, -32603, -32022
NOT_CACHED = {"ttlMs": 0, "cacheScope": "private"}
ABOUT = {"capabilities": {"tools": {"listChanged": False}}, "instructions": INSTRUCTIONS}
ITSELF = {"name": NAME, "version": ""}


class Refused(Exception):
    """A request that gets an error: its code, what is said and its data."""


def serve(caller: Caller) -> None:
    """Answer on standard input and output until the input ends. What else is printed goes to the standard error."""
    outgoing = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    StdioServer(caller, outgoing).answer_all(sys.stdin.buffer)
    with suppress(OSError):  # what nobody reads any more
        outgoing.close()


class StdioServer:
    """One client: its calls are answered one after the other, all else at once."""

    def __init__(self, caller: Caller, outgoing: IO[str]) -> None:
        self._caller, self._outgoing = caller, outgoing
        self._sending = threading.Lock()
        self._has_tables = False

    def answer_all(self, incoming: IO[bytes]) -> None:
        with ThreadPoolExecutor(1) as calls:
            for line in incoming:
                message: Any = None
                with suppress(ValueError, RecursionError):
                    message = json.loads(line)
                if not isinstance(message, dict) or not isinstance(message.get("method"), str):
                    continue  # no message, or an answer: we ask nothing
                if not isinstance(message.get("id"), str | int):
                    continue  # a notification: nothing waits for one
                if message["method"] == "tools/call":
                    calls.submit(self._answer, message)
                else:
                    self._answer(message)

    def _answer(self, message: dict[str, Any]) -> None:
        params = _object(message.get("params"))
        meta = _object(params.get("_meta"))
        try:
            sent = {"result": self._result(message["method"], params, meta)}
        except Refused as refused:
            code, said, *data = refused.args
            sent = {"error": {"code": code, "message": said, **({"data": data[0]} if data else {})}}
        except Exception:
            log.exception("The request %s failed.", message["method"])
            sent = {"error": {"code": FAILED, "message": "Internal error"}}
        text = json.dumps({"jsonrpc": "2.0", "id": message["id"], **sent})
        with self._sending, suppress(OSError):  # where nobody reads any more the input ends
            print(text, file=self._outgoing, flush=True)

    def _result(self, method: str, params: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
        version = meta.get(f"{_OURS}protocolVersion")
        if version is None:
            return self._result_after_handshake(method, params, meta)
        if version not in IN_EACH:
            data = {"supported": list(IN_EACH), "requested": version}
            raise Refused(UNKNOWN_VERSION, "Unsupported protocol version", data)
        done = {"resultType": "complete", "_meta": {f"{_OURS}serverInfo": ITSELF}}
        if method == "server/discover":
            return {**done, **ABOUT, **NOT_CACHED, "supportedVersions": list(IN_EACH)}
        if method == "tools/list":
            return {**done, **NOT_CACHED, "tools": self._tools()}
        if method == "tools/call":
            return {**done, **self._called(params, meta)}
        raise Refused(NO_METHOD, "Method not found", method)

    def _result_after_handshake(self, method: str, params: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            wanted = params.get("protocolVersion")
            version = wanted if wanted in HANDSHAKE else HANDSHAKE[0]
            return {**ABOUT, "protocolVersion": version, "serverInfo": ITSELF}
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": self._tools()}
        if method == "tools/call":
            return self._called(params, meta)
        raise Refused(NO_METHOD, "Method not found", method)

    def _tools(self) -> list[dict[str, Any]]:
        return [each.described() for each in tools_for(self._caller)]

    def _called(self, params: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict | None):
            raise Refused(WRONG_PARAMETERS, "Invalid request parameters")
        from . import answers

        close_old_connections()
        if problem := self._without_tables():
            given = answers.ToolAnswer(problem, is_error=True)
        else:
            given = answers.answer(self._caller.within(meta), name, arguments or {})
        return {"content": [{"type": "text", "text": given.text}], "isError": given.is_error}

    def _without_tables(self) -> str:
        """Why our own database cannot be asked; "" if it can: its tables are made if there are none yet."""
        if self._has_tables:
            return ""
        try:
            if not connection.introspection.table_names():
                call_command("migrate", verbosity=0, stdout=sys.stderr)
            elif own_database.is_behind():
                return own_database.BEHIND
        except Error as failure:
            refused = own_database.refusal(failure)
            log.warning("Our own database cannot be asked.", exc_info=True)
            return refused.message if refused else own_database.BEHIND
        self._has_tables = True
        return ""


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
