"""How long pages take when fifty clients read at once while twenty compactions run; part of `make bench`.

`python -m tests.bench.load [SECONDS]` alone. The site is the real one, with its worker; the clients are a process
beside it, on the same cores.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
CLIENTS, RUNS, SECONDS = 50, 20, 60
PAGES = ("/", "/?near=1", "/search?q=order", "/compactions", "/stores", "{page}", "{page}/context", "{page}/timeline")


def main(seconds: int = SECONDS) -> None:
    """Print percentiles, of each page and of all together."""
    from tests.processes import StartedSite

    if not sys.platform.startswith("linux"):
        return
    with tempfile.TemporaryDirectory(prefix="palimpsest-load-") as place:
        found = {f"v{version}": DATA / f"hermes-v{version}.db" for version in (21, 31)}
        stores = {name: shutil.copyfile(path, Path(place) / path.name) for name, path in found.items() if path.exists()}
        named = ",".join(f"{name}=sqlite:///{path}" for name, path in stores.items())
        site = StartedSite(Path(place) / "data", HERMES_HOME=place, PALIMPSEST_STORES=named)
        try:
            site.ready()
            _measure(site, seconds)
        finally:
            site.cut_down()


def _measure(site: Any, seconds: int) -> None:
    from tests.processes import cookie_of

    token = site.own("from viewer.web.auth import new_token; print(new_token('load', ['read', 'compact']))")
    headers = {"Cookie": cookie_of(site), "Authorization": f"Bearer {token}"}
    sessions = _sessions(site.port, headers)
    web = site.family("viewer.serve.server")
    before = _processor(web)
    took: dict[str, list[float]] = defaultdict(list)
    bad: list[str] = []
    end = time.monotonic() + seconds
    clients = [
        threading.Thread(target=_read, args=(site.port, headers, sessions, random.Random(n), end, took, bad))
        for n in range(CLIENTS)
    ]
    for each in clients:
        each.start()
    for at, (store, session_id) in enumerate(random.Random(1).sample(sessions, min(RUNS, len(sessions)))):
        _ask(site.port, headers, f"/api/v1/stores/{store}/sessions/{session_id}/runs", {"apply": True})
        time.sleep(max(0.0, seconds * 0.8 / RUNS * at - (time.monotonic() - end + seconds)))
    for each in clients:
        each.join()
    _say(took, bad, seconds)
    requests = sum(map(len, took.values()))
    used, load = _processor(web) - before, os.getloadavg()[0]
    print(f"  the server: {used / seconds:.0%} of a core, {used / requests * 1000:.0f} ms a request; load {load:.0f}")


def _processor(pids: list[int]) -> float:
    """Seconds of processor time these processes have had."""
    every = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(fields[11]) + int(fields[12]) for fields in every) / os.sysconf("SC_CLK_TCK")


def _sessions(port: int, headers: dict[str, str]) -> list[tuple[str, str]]:
    found = []
    for store in json.loads(_ask(port, headers, "/api/v1/stores")[1])["items"]:
        listed = json.loads(_ask(port, headers, f"/api/v1/stores/{store['name']}/sessions?limit=200")[1])["items"]
        found += [(store["name"], each["id"]) for each in listed]
    return found


def _read(
    port: int,
    headers: dict[str, str],
    sessions: list[tuple[str, str]],
    chance: random.Random,
    end: float,
    took: dict[str, list[float]],
    bad: list[str],
) -> None:
    while time.monotonic() < end:
        page = chance.choice(PAGES)
        store, session_id = chance.choice(sessions)
        started = time.monotonic()
        status, _ = _ask(port, headers, page.format(page=f"/stores/{store}/sessions/{session_id}"))
        took[page.partition("?")[0]].append(time.monotonic() - started)
        if status >= 400:
            bad.append(f"{status} {page}")


def _ask(port: int, headers: dict[str, str], path: str, body: Any = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    more = {"Content-Type": "application/json"} if body is not None else {}
    connection.request(
        "POST" if body is not None else "GET", path, json.dumps(body) if body is not None else None, headers | more
    )
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def _say(took: dict[str, list[float]], bad: list[str], seconds: int) -> None:
    every = [each for all_of in took.values() for each in all_of]
    print(
        f"\n{CLIENTS} clients for {seconds} s beside {RUNS} runs: {len(every):,} requests, {len(bad)} errors", bad[:3]
    )
    print(f"  {'':30} {'median':>8} {'p99':>8} {'worst':>8}")
    for name, times in [*sorted(took.items()), ("all", every)]:
        times = sorted(times)
        print(
            f"  {name:30} {times[len(times) // 2]:7.2f}s {times[int(len(times) * 0.99)]:7.2f}s {times[-1]:7.2f}s",
            flush=True,
        )


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "viewer.settings")
    main(*map(int, sys.argv[1:2]))
