"""`make bench`: how long the slow things take, printed; nothing is asserted.

Stores: the demo store; sample data (CONTRIBUTING.md) where present; and, with its `fill_store.py`, a store of
2,000 sessions and about 220,000 messages with one session of 20,000, and one of 100,000 sessions and 1,000,000
messages, made once under the cache directory.
"""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench import engine, export, insights, lines, load, memory, runs, sessions, texts, write
from viewer.stores.hermes import messages as hermes_messages
from viewer.stores.hermes import paths
from viewer.stores.message import for_model

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
CACHE = Path(os.environ.get("PALIMPSEST_CACHE_DIR") or Path.home() / ".cache" / "palimpsest")
REPEATS = 5


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as place:
        data = Path(place)
        found = dict(_stores(data))
        os.environ["PALIMPSEST_DATA_DIR"] = str(data / "own")
        os.environ["PALIMPSEST_STORES"] = ",".join(f"{name}=sqlite:///{path}" for name, path in found.items())
        os.environ["DJANGO_SETTINGS_MODULE"] = "viewer.settings"
        _set_up()
        print(f"{'what':58} {'median':>9} {'worst':>9}  of {REPEATS}")
        for name in [*found, "demo"]:
            _measure(name)
        sessions.main([name for name in found if name in ("hermes-v21", "filled")])
        write.main(data, CACHE)
        engine.main(found.get("filled"))
        if "filled" in found:
            export.main("filled", found["filled"])
            lines.main({"2,000 sessions": found["filled"], "100,000 sessions": _filled(100_000, 10, 0)})
        insights.main()
        texts.main()
        subprocess.run([sys.executable, "-m", "tests.bench.claude_code"], check=True)  # it has a site of its own
        subprocess.run([sys.executable, "-m", "tests.bench.codex"], check=True)
        subprocess.run([sys.executable, "-m", "tests.bench.openclaw"], check=True)
        memory.main()
        load.main()
        runs.main()
        print(f"\npeak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def _set_up() -> None:
    import django
    from django.conf import settings
    from django.core.management import call_command

    from viewer.demo import ensure_demo

    django.setup()
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]
    call_command("migrate", verbosity=0)
    ensure_demo(settings.DEMO_STORE)


def _stores(data: Path) -> Iterator[tuple[str, Path]]:
    """Fresh copies to work on: (name, path)."""
    for version in (21, 31):
        source = SHARED / "data" / f"hermes-v{version}.db"
        if source.exists():
            yield f"hermes-v{version}", Path(shutil.copyfile(source, data / source.name))
    if (SHARED / "tools" / "fill_store.py").exists():
        yield "filled", Path(shutil.copyfile(_filled(), data / "filled.db"))


def _filled(sessions: int = 2_000, mean: int = 100, big: int = 20_000) -> Path:
    """A store of so many sessions of `mean` messages, and one of `big`; made once."""
    path = CACHE / f"filled-{sessions}.db"
    if not path.exists():
        sys.path.insert(0, str(ROOT))
        from viewer.stores.hermes import schema

        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        schema.create(unfinished)
        print(f"Filling a store of {sessions:,} sessions, once ...", flush=True)
        numbers = map(str, (sessions, mean, big))
        subprocess.run([sys.executable, SHARED / "tools" / "fill_store.py", unfinished, *numbers], check=True)
        with sqlite3.connect(unfinished) as con:
            con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        con.close()
        unfinished.rename(path)
    return path


def _measure(name: str) -> None:

    from viewer.stores.hermes.change_tokens import read_marks
    from viewer.stores.hermes.reader import open_store
    from viewer.stores.registry import get_store

    store = get_store(name)
    with open_store(store) as reader:
        largest = paths.get_session(reader, _largest(reader, "week 29" if name.startswith("hermes") else ""))
        mark = read_marks(reader, [largest.id])[largest.id]
    print(f"\n{name}: “{largest.name}”, {mark.rows:,} rows, {mark.live:,} in context")
    _pages(name, largest.id)
    _reading(store, largest.id)
    _engine(store, largest)
    write.print_line("  write, a fifth kept", store.path, largest.id, mark.live // 5)


def _largest(reader: Any, words: str) -> str:
    """The id of the session with the most rows, of those whose title holds these words."""
    found = reader.con.execute(
        "SELECT m.session_id FROM messages m JOIN sessions s ON s.id = m.session_id WHERE COALESCE(s.title, '') LIKE ? "
        "GROUP BY m.session_id ORDER BY SUM(m.active) DESC LIMIT 1",
        [f"%{words}%"],
    )
    return str(found.fetchone()[0])


def _pages(name: str, session_id: str) -> None:
    from django.conf import settings
    from django.test import Client

    client = Client()
    session = client.session
    session["signed_in"] = True
    session.save()
    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key or ""
    page = f"/stores/{name}/sessions/{session_id}"
    for what, url in [
        ("sessions list", "/"),
        ("session, newest window", page),
        ("what the model sees", f"{page}/context"),
    ]:

        def get(url: str = url) -> str:
            answer = client.get(url)
            assert answer.status_code == 200, (url, answer.status_code)
            return f"{len(answer.content) / 1000:,.0f} kB"

        _time(f"  page: {what}", get)


def _reading(store: Any, session_id: str) -> None:

    from viewer.stores.hermes.reader import open_store

    def history() -> None:
        with open_store(store) as reader:
            hermes_messages.read_history(reader, session_id)

    _time("  History from rows", history)


def _engine(store: Any, session: Any) -> None:
    import compaction
    from viewer.stores.hermes.reader import open_store
    from viewer.stores.message import message_of
    from viewer.usage import counting

    with open_store(store) as reader:
        messages = [message_of(row) for row in for_model(hermes_messages.live_context(reader, session.id))]
    count = counting.counter_for(session.model)
    policy = compaction.Policy(context_window=counting.context_window(session.model), handoff="hermes")
    made: list[Any] = []
    _time("  engine: plan", lambda: made.append(compaction.plan(messages, policy, count)))
    plan = made[-1]
    _time("  engine: offline summary", lambda: made.append(compaction.summarize(plan, compaction.offline.summarize)))
    summary = made[-1]
    _time("  engine: apply", lambda: made.append(compaction.apply(plan, summary)))
    result = made[-1]
    print(f"    {len(messages):,} messages, {plan.tokens_before:,} -> {result.tokens_after:,} tokens")


def _time(what: str, do: Callable[[], object]) -> None:
    """Do it `REPEATS` times; a text it returns is printed as a note."""
    taken: list[float] = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        done = do()
        taken.append(time.perf_counter() - started)
    _print(what, taken, done if isinstance(done, str) else "")


def _print(what: str, taken: list[float], note: str = "") -> None:
    print(f"{what:58} {median(taken) * 1000:7.1f}ms {max(taken) * 1000:7.1f}ms  {note}", flush=True)


if __name__ == "__main__":
    main()
