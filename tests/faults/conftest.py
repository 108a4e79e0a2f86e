"""One site on SQLite and one on PostgreSQL, with stores of invented talk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.factories import many_sessions
from tests.faults import ledger
from tests.faults.site import Process, SiteProcesses, until

RUNS = int(os.environ.get("PALIMPSEST_TEST_RUNS") or 16)  # that workers race for
KILLS = int(os.environ.get("PALIMPSEST_TEST_KILLS") or 3)  # at random moments
RUNS_A_KILL = 3
SMALL = RUNS + RUNS_A_KILL * KILLS + 100  # sessions of 24 messages: each run is quick
LONG = 10 + KILLS // 10  # sessions of 1,000 messages: planning and summarising take long enough to be met


@dataclass
class RunningSite:
    """A running site and what its stores held at first. `take` gives a session that no test has used yet."""

    site: SiteProcesses
    place: Path
    before: dict[str, ledger.Look]
    unused: dict[str, list[str]]

    def take(self, store: str = "small") -> str:
        return self.unused[store].pop(0)

    def path(self, store: str = "small") -> Path:
        return self.site.stores[store]

    def workers(self, count: int) -> list[Process]:
        """Exactly so many workers, all of them running."""
        for process in self.site.workers()[count:]:
            process.kill()
        while len(self.site.workers()) < count:
            self.site.worker()
        return self.site.workers()

    def check(self, store: str = "small") -> None:
        """Nothing is held, left over, deleted or damaged."""
        until(lambda: self.site.unfinished() == 0, self.site.logs)
        until(lambda: self.free(store), self.site.logs)
        ledger.check_kept(self.before[store], ledger.look(self.path(store)))
        ledger.check_sound(self.path(store), self.place)

    def free(self, store: str) -> bool:
        try:
            ledger.check_free(self.path(store))
        except AssertionError:
            return False
        return True

    def check_session(self, session_id: str, run_ids: list[int], appended: list[str] | None = None) -> bool:
        """One session after its runs: as before, or as after exactly one of them. Whether it was compacted."""
        store = next(name for name, look in self.before.items() if session_id in look.live)
        now = ledger.live(self.path(store), session_id)
        done = ledger.check_as_before_or_after(self.before[store].live[session_id], now, appended or [])
        assert [self.site.status(run_id) for run_id in run_ids].count("applied") == done
        return done


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, list[str]]]:
    """Stores to copy: name -> file and session ids."""
    place = tmp_path_factory.mktemp("originals")
    return {
        name: (place / f"{name}.db", many_sessions.make(place / f"{name}.db", sessions, messages, name))
        for name, sessions, messages in [("small", SMALL, 24), ("long", LONG, 1_000), ("rollback", 8, 24)]
    }


# Where nothing is written to the site's own database at the moment that counts.
on_sqlite_alone = pytest.mark.parametrize("own_database", ["sqlite"], indirect=True)


@pytest.fixture(params=["sqlite", "postgres"])
def own_database(request: pytest.FixtureRequest) -> str:
    """What the site itself keeps its rows in."""
    return str(request.param)


@pytest.fixture(scope="package")
def running_sites() -> Iterator[dict[str, RunningSite]]:
    """The sites there are, by their own database; all files here share them."""
    made: dict[str, RunningSite] = {}
    yield made
    for running_site in made.values():
        running_site.site.end()


@pytest.fixture
def running_site(
    own_database: str,
    running_sites: dict[str, RunningSite],
    originals: dict[str, tuple[Path, list[str]]],
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> RunningSite:
    """A site with a server, and with whatever workers the test before left."""
    if own_database not in running_sites:
        postgres = own_database == "postgres"
        address = fresh_database(request.getfixturevalue("postgres"), "faults") if postgres else ""
        place = tmp_path_factory.mktemp("site")
        files = {name: Path(shutil.copyfile(path, place / path.name)) for name, (path, _) in originals.items()}
        ledger.query(files["rollback"], "PRAGMA journal_mode = delete")  # as of real stores of schema 31
        before = {name: ledger.look(path) for name, path in files.items()}
        unused = {name: list(ids) for name, (_, ids) in originals.items()}
        running_sites[own_database] = RunningSite(SiteProcesses(place, files, address), place, before, unused)
    running_site = running_sites[own_database]
    if running_site.site.web is None or not running_site.site.web.alive:
        running_site.site.serve()
    return running_site


def fresh_database(server: str, name: str) -> str:
    """The address of a new database of this PostgreSQL server."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return server.replace("/postgres?", f"/{name}?")
