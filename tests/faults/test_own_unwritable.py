"""The site's own database cannot be written: whatever only reads is answered at once, what must write says why not."""

from __future__ import annotations

import http.client
import json
import re
import resource
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from urllib.parse import urlsplit

import psycopg
import pytest
from django.urls.resolvers import URLPattern

from tests.faults.conftest import RunningSite
from tests.faults.ledger import query
from tests.faults.site import locked
from viewer.api import api
from viewer.pages import urls as pages
from viewer.web import own_database

AT_MOST = own_database.PATIENCE / 2  # seconds that an answer may take longer than it did before: it waits for nothing
Ask = Callable[[str, str], tuple[int, str]]


def addresses(values: dict[str, object]) -> list[str]:
    """Every address of a page and of a call that reads, with these values in it; one without a value fails."""
    found = [f"/{pattern.pattern}" for pattern in pages.urlpatterns if isinstance(pattern, URLPattern)]
    calls = api.get_openapi_schema(path_prefix="/api/v1/")["paths"]
    found += [path for path, ways in calls.items() if "get" in ways]
    assert len(found) > 40
    named = [re.sub(r"<(?:\w+:)?(\w+)>|{(\w+)}", lambda at: str(values[at[1] or at[2]]), path) for path in found]
    return [f"{path}?q=harbour" if path.endswith(("/search", "/find")) else path for path in named]


class Browser:
    """One that is signed in, and a program with a token."""

    def __init__(self, running_site: RunningSite) -> None:
        self.site, self.cookies = running_site.site, {"palimpsest_mask": "0"}
        self.links = [urlsplit(link).path for link in self.site.manage("signin", "signin").split()]
        form = self.ask("GET", self.links[0])[1]
        assert self.ask("POST", self.links.pop(0), self.form(form))[0] == 302

    @staticmethod
    def form(page: str) -> str:
        found = re.search(r'csrfmiddlewaretoken" value="(\w+)"', page)
        assert found, page[:2000]
        return f"csrfmiddlewaretoken={found[1]}"

    def ask(self, method: str, path: str, body: str | None = None) -> tuple[int, str]:
        with closing(http.client.HTTPConnection("127.0.0.1", self.site.port, timeout=60)) as con:
            is_call = path.startswith("/api/")
            headers = {"Host": "localhost", "Cookie": "; ".join(map("=".join, self.cookies.items()))}
            headers["Content-Type"] = "application/json" if is_call else "application/x-www-form-urlencoded"
            if is_call:
                headers = {**headers, "Authorization": f"Bearer {self.site.token}"}
            con.request(method, path, body, headers)
            answer = con.getresponse()
            for cookie in answer.headers.get_all("Set-Cookie", []):
                name, _, value = cookie.partition(";")[0].partition("=")
                self.cookies[name] = value
            return answer.status, answer.read().decode()


@contextmanager
def held(running_site: RunningSite) -> Iterator[None]:
    """Another program has the own database locked for writing."""
    if not running_site.site.on_postgres:
        with locked(running_site.place / "own.sqlite3"):
            yield
        return
    with psycopg.connect(running_site.site.database) as con:
        tables = con.execute("SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'").fetchall()
        con.execute(f"LOCK TABLE {', '.join(name for (name,) in tables)} IN EXCLUSIVE MODE".encode())
        yield
        con.rollback()


@contextmanager
def full(running_site: RunningSite) -> Iterator[None]:
    """The server finds no room on any disk: no file of its may grow, or be made with anything in it."""
    assert running_site.site.web
    found = subprocess.run(["pgrep", "-g", str(running_site.site.web.pid)], capture_output=True, text=True).stdout
    before = [(int(pid), resource.prlimit(int(pid), resource.RLIMIT_FSIZE)) for pid in found.split()]
    assert before
    for pid, (_, hard) in before:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        for pid, limits in before:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)


def walk(visitor: Browser, paths: list[str]) -> dict[str, tuple[int, float]]:
    found: dict[str, tuple[int, float]] = {}
    for path in paths:
        began = time.monotonic()
        status, _ = visitor.ask("GET", path)
        found[path] = status, time.monotonic() - began
    return found


@pytest.fixture(autouse=True)
def manifest(running_site: RunningSite) -> None:
    if running_site.site.name_static_files():
        assert running_site.site.web
        running_site.site.web.kill()
        running_site.site.serve()


@pytest.fixture
def compacted(running_site: RunningSite) -> dict[str, object]:
    """A session with a compaction of ours, for every kind of address."""
    running_site.workers(1)
    session_id = running_site.take()
    run_id = running_site.site.start_run(session_id, "small")
    assert running_site.site.closed(run_id)["status"] == "applied"
    handoff = running_site.site.row(run_id)["handoff_id"]
    [(row_id,)] = query(running_site.path(), "SELECT MIN(id) FROM messages WHERE session_id = ?", session_id)
    return {
        "store": "small", "session_id": session_id, "run_id": run_id, "handoff_id": handoff, "row_id": row_id,
        "provider": "openai", "event_id": 1, "token_id": 1,
    }  # fmt: skip


def change(running_site: RunningSite, session_id: str) -> None:
    """What every list and page that shows the session would note."""
    sql = "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', 'And now?', ?)"
    query(running_site.path(), sql, session_id, time.time())


def write(visitor: Browser, sessions: list[str]) -> list[tuple[int, str]]:
    """What comes of all that must write: a run by API, one by the page, settings, a sign-in, each asked at once."""
    form = visitor.form(visitor.ask("GET", "/settings")[1])
    asked = [
        (f"/api/v1/stores/small/sessions/{sessions[0]}/runs", '{"apply": false}'),
        (f"/stores/small/sessions/{sessions[1]}/compact", form),
        ("/settings/openai", f"{form}&model=m{time.time_ns()}"),
        (visitor.links[0], form),
    ]
    with ThreadPoolExecutor(len(asked)) as pool:
        return list(pool.map(lambda each: visitor.ask("POST", *each), asked))


def check(
    running_site: RunningSite, values: dict[str, object], trouble: Callable[[RunningSite], AbstractContextManager[None]]
) -> None:
    """Answers to whatever reads are the same and come as soon; what must write is refused in a sentence."""
    visitor, sessions = Browser(running_site), [running_site.take(), running_site.take()]
    paths = addresses(values)
    before = walk(visitor, paths)
    change(running_site, str(values["session_id"]))
    with trouble(running_site), ThreadPoolExecutor(1) as beside:
        writing = beside.submit(write, visitor, sessions)
        after = walk(visitor, paths)
        refused = writing.result()
        listed = visitor.ask("GET", "/")[1]
    wrong = {
        path: (status, after[path])
        for path, (status, took) in before.items()
        if after[path][0] != status or after[path][1] > took + AT_MOST
    }
    assert wrong == {}, f"{wrong}\n{running_site.site.logs()}"
    assert sum(status == 200 for status, _ in after.values()) > 35, after
    assert [status for status, _ in refused] == [503] * len(refused), refused
    assert json.loads(refused[0][1])["error"]["code"] == "own_database_unavailable"
    assert all("own database cannot be used just now" in said for _, said in refused)
    assert "What happened since may be missing here" in listed
    assert [status for status, _ in write(visitor, sessions)] == [202, 302, 302, 302]


def test_while_somebody_has_it_locked(running_site: RunningSite, compacted: dict[str, object]) -> None:
    check(running_site, compacted, held)


@pytest.mark.parametrize("own_database", ["sqlite"], indirect=True)  # that of a server has a disk of its own
def test_while_the_disk_is_full(running_site: RunningSite, compacted: dict[str, object]) -> None:
    running_site.workers(0)
    running_site.site.leave()  # nobody but the server has it open
    check(running_site, compacted, full)
