"""How long sessions of Claude Code take: one file of 600 MB with 100,000 lines, and a tree of 3,000 files with 2 GB.

`python -m tests.bench.claude_code`; the files are made once under the cache directory, of invented text.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from viewer.stores.claude_code.encode import stamp

CACHE = Path(os.environ.get("PALIMPSEST_CACHE_DIR") or Path.home() / ".cache" / "palimpsest")
LINES, LINE_BYTES = 100_000, 6_000
FILES, FILE_LINES = 3_000, 110
WORDS = ("harbour", "lantern", "copper", "meadow", "signal", "orchard", "granite", "ribbon", "velvet", "willow")


def main() -> None:
    if sys.argv[1:] == ["worker"]:
        _work()
        return
    large, tree = CACHE / "claude-code-large", CACHE / "claude-code-tree"
    session_id = _made(large, 1, LINES)[0]
    many = _made(tree, FILES, FILE_LINES)
    with tempfile.TemporaryDirectory() as data:
        os.environ["PALIMPSEST_DATA_DIR"] = data
        os.environ["PALIMPSEST_STORES"] = f"large=claude-code://{large},tree=claude-code://{tree}"
        os.environ["DJANGO_SETTINGS_MODULE"] = "viewer.settings"
        set_up()
        _measure_session("large", session_id, large)
        _measure_tree("tree", many)
    print(f"  peak memory of the process that showed pages {peak():.0f} MB")


def _work() -> None:
    """What a worker does for stores that it has not seen, in a process of its own."""
    import django

    django.setup()
    from viewer.catalog import sync_worker
    from viewer.stores.registry import all_stores, is_here, open_store

    size = 0
    for store in filter(is_here, all_stores()):
        with open_store(store) as reader:
            size += reader.capabilities().size
    began = time.perf_counter()
    sync_worker.sync_all()
    seconds = time.perf_counter() - began
    done = f"{size / 1e6:.0f} MB in {seconds:.0f} s, {size / 1e6 / seconds:.1f} MB/s"
    print(f"  a worker listed, counted and indexed {done}")
    print(f"  peak memory of the worker {peak():.0f} MB", flush=True)


def peak() -> float:
    """The most memory of this process, in MB. What `getrusage` says begins with that of the process before it."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


def set_up() -> None:
    """Django and its own database, for the stores that the environment names."""
    import django
    from django.conf import settings
    from django.core.management import call_command

    django.setup()
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]
    call_command("migrate", verbosity=0)


# -- making ------------------------------------------------------------------------------------------------------------


def _made(root: Path, files: int, lines: int) -> list[str]:
    ids = [str(UUID(int=(1 << 100) + number)) for number in range(files)]
    project = root / "projects" / "-home-user-work"
    if not project.is_dir():
        print(f"Making {root.name}, once ...", flush=True)
        project.mkdir(parents=True)
        for session_id in ids:
            with (project / f"{session_id}.jsonl").open("w") as file:
                file.writelines(json.dumps(line) + "\n" for line in _lines(session_id, lines))
    return ids


def _lines(session_id: str, count: int) -> Iterator[dict[str, Any]]:
    dice, parent = random.Random(session_id), None
    now = datetime(2026, 8, 1, tzinfo=UTC) + timedelta(seconds=dice.uniform(0, 7e6))
    for number in range(count):
        uuid = str(UUID(int=(2 << 100) + number))
        around = {
            "uuid": uuid, "parentUuid": parent, "isSidechain": False, "sessionId": session_id, "cwd": "/home/user/work",
            "version": "2.1.330", "timestamp": stamp(now.timestamp()), "userType": "external",
        }  # fmt: skip
        yield _said(dice, number) | around
        parent, now = uuid, now + timedelta(seconds=dice.uniform(1, 20))


def _said(dice: random.Random, number: int) -> dict[str, Any]:
    text = " ".join(dice.choices(WORDS, k=60)) + f" number{number} "
    call = f"toolu_{number - number % 4}"
    if number % 4 == 0:
        return {"type": "user", "message": {"role": "user", "content": text}}
    if number % 4 == 2:
        block = {"type": "tool_result", "tool_use_id": call, "content": text * (4 * LINE_BYTES // len(text))}
        return {"type": "user", "message": {"role": "user", "content": [block]}}
    tool = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"ls {number}"}}
    message = {
        "id": f"msg_{number}", "role": "assistant", "model": "claude-opus-4-6", "type": "message",
        "content": [{"type": "text", "text": text} if number % 4 == 3 else tool],
        "usage": {"input_tokens": 1_000, "output_tokens": 100}, "stop_reason": "end_turn",
    }  # fmt: skip
    return {"type": "assistant", "message": message}


# -- measuring ---------------------------------------------------------------------------------------------------------


def timed(what: str, work: Callable[[], Any]) -> Any:
    """Do it, and print how long it took."""
    began = time.perf_counter()
    done = work()
    print(f"  {what:52} {(time.perf_counter() - began) * 1000:10.1f}ms", flush=True)
    return done


def _measure_session(name: str, session_id: str, root: Path) -> None:
    from tests.clients import signed_in_client

    path = root / "projects" / "-home-user-work" / f"{session_id}.jsonl"
    print(f"\none session, {path.stat().st_size / 1e6:.0f} MB, {LINES:,} lines")
    client, address = signed_in_client(), f"/stores/{name}/sessions/{session_id}"

    def get(query: str = "") -> None:
        assert client.get(f"{address}{query}").status_code == 200

    timed("first look: its page, nothing known yet", get)
    timed("its newest window again", get)
    timed("once more", get)
    timed("a window in the middle", lambda: get("/context?start=40000"))
    size, line = path.stat().st_size, json.dumps({"type": "mode", "mode": "default"}) + "\n"
    with path.open("a") as file:
        file.write(line)
    timed("its page behind one appended line", get)
    os.truncate(path, size)


def _measure_tree(name: str, ids: list[str]) -> None:
    from tests.clients import signed_in_client
    from viewer.stores.registry import get_store, open_store, version_of

    store = get_store(name)
    with open_store(store) as reader:
        size = reader.capabilities().size
    print(f"\n{len(ids):,} sessions, {size / 1e6:.0f} MB")
    client = signed_in_client()
    timed("the list, first look", lambda: client.get(f"/?store={name}"))
    timed("what tells whether anything was written", lambda: version_of(store))
    subprocess.run([sys.executable, "-m", "tests.bench.claude_code", "worker"], check=True)
    timed("the list", lambda: client.get(f"/?store={name}"))
    timed("a search for one message", lambda: client.get(f"/search?store={name}&q=number101"))
    timed("a search for a common word", lambda: client.get(f"/search?store={name}&q=lantern"))


if __name__ == "__main__":
    main()
