"""How much memory the web server takes for messages of ten megabytes; part of `make bench`.

`python -m tests.bench.memory` alone. Sizes are the kernel's own (`/proc`), so this prints nothing elsewhere.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

MESSAGES, OCTETS = 3, 10_000_000
EXPORTS = 12  # at once, of all formats
PAGES = ("", "/context", "/timeline", "/plan", "/rows")
IDLE_SECONDS = 5


def main() -> None:
    """Print what the server takes before, at most and afterwards, of pages and of exports at once, twice each."""
    from tests.processes import StartedSite, cookie_of

    if not sys.platform.startswith("linux"):
        return
    with tempfile.TemporaryDirectory(prefix="palimpsest-memory-") as name:
        path = Path(name) / "large.db"
        make(path)
        site = StartedSite(Path(name) / "data", HERMES_HOME=name, PALIMPSEST_STORES=f"large=sqlite:///{path}")
        try:
            web = site.ready().family("viewer.serve.server")
            headers = {"Cookie": cookie_of(site)}
            print(f"\nmemory of the web server, a session of {MESSAGES} messages of {OCTETS / 1e6:.0f} MB")
            print(f"  {'':34} {'before':>9} {'peak':>9} {'after':>9}")
            page = "/stores/large/sessions/large"
            forms = [f"{page}/export?format={kind}" for kind in ("md", "html", "json", "jsonl")]
            for _ in range(2):
                _measure("pages, one after the other", web, site.port, headers, [[page + each] for each in PAGES])
                _measure(f"{EXPORTS} exports at once", web, site.port, headers, [forms * (EXPORTS // len(forms))])
        finally:
            site.cut_down()


def make(path: Path) -> None:
    """A store with one session of large messages: prose, lines, and one that is a single word."""
    from viewer.stores.hermes import schema

    schema.create(path)
    with closing(sqlite3.connect(path)) as con:
        con.execute("INSERT INTO sessions (id, source, started_at) VALUES ('large', 'cli', 1)")
        for number in range(MESSAGES):
            text = ("a line of output with some words 12345\n", "many words to read ", "é")[number % 3]
            role = ("user", "assistant", "tool")[number % 3] if number else "user"
            content = (text * (OCTETS // len(text)))[:OCTETS]
            con.execute(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('large', ?, ?, ?)",
                (role, content, float(number + 1)),
            )
        con.execute("UPDATE sessions SET message_count = ?", (MESSAGES,))
        con.commit()


def _measure(what: str, web: list[int], port: int, headers: dict[str, str], steps: Iterable[list[str]]) -> None:
    """Ask for the addresses of each step at once, one step after the other."""
    before, peak, ended = _resident(web), [0.0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.05):
            peak[0] = max(peak[0], _resident(web))

    watching = threading.Thread(target=watch)
    watching.start()
    started = time.monotonic()
    for step in steps:
        asking = [threading.Thread(target=_fetch, args=(port, headers, address)) for address in step]
        for each in asking:
            each.start()
        for each in asking:
            each.join()
    took = time.monotonic() - started
    time.sleep(IDLE_SECONDS)
    ended.set()
    watching.join()
    sizes = f"{before:6.0f} MB {peak[0]:6.0f} MB {_resident(web):6.0f} MB"
    print(f"  {what:34} {sizes}  in {took:.0f} s", flush=True)


def _fetch(port: int, headers: dict[str, str], address: str) -> None:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    with closing(connection):
        connection.request("GET", address, headers=headers)
        answer = connection.getresponse()
        while answer.read(1_000_000):
            pass
        if answer.status >= 400:
            print(f"  {answer.status} {address}")


def _resident(pids: list[int]) -> float:
    """Megabytes of all of them; what processes share is counted once (proportional set size)."""
    sizes = (Path(f"/proc/{pid}/smaps_rollup").read_text().split("Pss:")[1].split()[0] for pid in pids)
    return sum(map(int, sizes)) * 1024 / 1e6


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "viewer.settings")
    main()
