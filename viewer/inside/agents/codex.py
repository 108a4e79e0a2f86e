"""Codex: a block at the end of its `config.toml`, with one hook and the server of recall."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from viewer.inside.changes import Change, NotInstallable, TextBlock

from .agent import DoorOptions, InstalledAgent, Way

NOTE_SECONDS = 1  # after which it goes on without the hook; the door ends long before
START_SECONDS = 60  # of the server, on a busy machine; it takes three
LISTING_SECONDS = 20.0  # that it may take to say what its hooks are
DEAD = "http://127.0.0.1:9"  # a proxy for a process that has nothing to ask of anybody
EVENT, IN_KEY = "SessionStart", "session_start"


class InsideCodex(InstalledAgent):
    name, label, scheme = "codex", "Codex", "codex"
    notes = "Sent when the session is resumed, or compacted by Codex."
    recall = "Its tools search_history and read_history find what was summarised away."

    def changes(self, home: Path, own: Path, way: Way, options: DoorOptions) -> Iterator[Change]:
        path = home / "config.toml"
        plain = _without_ours(path)
        tables = [_hook(way)] if options.notes else []
        if options.recall:
            tables.append(_server(way))
        if options.notes:
            tables += _trust(path, plain, "\n".join(tables))
        block = TextBlock(str(path), "\n".join(tables))
        _parsed(path, block.put(plain), "would not be valid TOML with what is to be added: write it by hand")
        yield block

    def next_steps(self, home: Path, options: DoorOptions) -> list[str]:
        if options.notes and shutil.which("codex") is None:
            return ["Start Codex, type /hooks and trust the hook: it runs none that nobody trusts."]
        if options.notes:
            return ["Restart Codex; its /hooks shows that it trusts the hook."]
        return super().next_steps(home, options)


def _hook(way: Way) -> str:
    return (
        f'[[hooks.{EVENT}]]\nmatcher = "resume|compact"\n[[hooks.{EVENT}.hooks]]\ntype = "command"\n'
        f"command = {_quoted(shlex.join([*way.door, EVENT]))}\ntimeout = {NOTE_SECONDS}\n"
    )


def _server(way: Way) -> str:
    command, *arguments = way.mcp
    return (
        f"[mcp_servers.palimpsest]\ncommand = {_quoted(command)}\nargs = [{', '.join(map(_quoted, arguments))}]\n"
        f"startup_timeout_sec = {START_SECONDS}\n"
        'default_tools_approval_mode = "approve"\n'  # the server has only tools that read
    )


def _trust(path: Path, plain: str, tables: str) -> list[str]:
    """The tables that say that our hook is trusted; none where Codex is not here to say which it is."""
    hooks = _parsed(path, plain).get("hooks", {})
    number = len(hooks.get(EVENT, []))
    key = f"{os.path.realpath(path.parent)}/{path.name}:{IN_KEY}:{number}:0"  # it names its home without links
    digest = _digest(shutil.which("codex"), TextBlock(str(path), tables).put(plain), number)
    if not digest or key in hooks.get("state", {}):  # of an earlier hook in its place
        return []
    return [f"[hooks.state.{_quoted(key)}]\ntrusted_hash = {_quoted(digest)}\nenabled = true\n"]


def _without_ours(path: Path) -> str:
    """The settings without an earlier block. Raises NotInstallable if a server of this name is in them, or no TOML."""
    try:
        plain = TextBlock(str(path), "").without(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as problem:
        raise NotInstallable(f"{path} cannot be read: {problem}.") from None
    if "palimpsest" in _parsed(path, plain, "is not valid TOML: mend it first").get("mcp_servers", {}):
        raise NotInstallable(f"{path} has [mcp_servers.palimpsest] already, which is not ours: remove it there first.")
    return plain


def _parsed(path: Path, text: str, otherwise: str = "") -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise NotInstallable(f"{path} {otherwise} ({problem}).") from None


@lru_cache(maxsize=20)
def _digest(program: str | None, settings: str, number: int) -> str:
    """What Codex calls the SessionStart hook of this number in these settings, "" if it does not say."""
    if program is None:
        return ""
    with tempfile.TemporaryDirectory(prefix="palimpsest-codex-", ignore_cleanup_errors=True) as home:
        Path(home, "config.toml").write_text(settings, encoding="utf-8")
        listed = _listed(program, home)
    return next((hook["currentHash"] for hook in listed if hook["key"].endswith(f":{IN_KEY}:{number}:0")), "")


def _listed(program: str, home: str) -> list[dict[str, Any]]:
    """The hooks of a home, as its app server lists them; [] if it does not."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"), DEAD)
    calls = (
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "palimpsest", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [home]}},
    )
    try:
        process = subprocess.Popen(
            [program, "app-server"], cwd=home, env={**os.environ, **proxies, "CODEX_HOME": home}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return []
    with process:
        ending = threading.Timer(LISTING_SECONDS, process.kill)
        ending.start()
        try:
            assert process.stdin and process.stdout
            process.stdin.write("".join(f"{json.dumps(call)}\n" for call in calls))
            process.stdin.flush()
            answer = next(each for each in map(json.loads, process.stdout) if each.get("id") == 2)
            return [hook for place in answer["result"]["data"] for hook in place["hooks"]]
        except (OSError, ValueError, KeyError, StopIteration):
            return []
        finally:
            ending.cancel()
            process.kill()


def _quoted(text: str) -> str:
    """A basic string of TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


AGENT = InsideCodex()
