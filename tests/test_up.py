"""`manage.py up` with real processes: what it makes, what it serves, and that nothing of it outlives it."""

import http.cookiejar
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from tests.processes import PATIENCE, ROOT, StartedSite, free_port, processes, until
from viewer.serve import prepare, supervisor
from viewer.serve.supervisor import Child

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory as the first start leaves it."""
    data = tmp_path_factory.mktemp("first") / "data"
    site = StartedSite(data)
    try:
        site.ready()
        assert f"Made the demo store {data / 'demo.db'}" in site.output
        assert "Collected static files" in site.output
        site.process.send_signal(signal.SIGTERM)
        assert site.process.wait(PATIENCE) == 0
        assert site.is_gone()
    finally:
        site.cut_down()
    return data


@pytest.fixture
def start(prepared: Path, tmp_path: Path) -> Iterator[Callable[..., StartedSite]]:
    """A function that starts a site on a copy of the prepared directory, and cuts it down after the test."""
    sites: list[StartedSite] = []

    def begin(command: list[str] | None = None, **environment: str) -> StartedSite:
        data = tmp_path / "data"
        shutil.copytree(prepared, data, dirs_exist_ok=True)
        sites.append(StartedSite(data, command, **environment))
        return sites[-1]

    yield begin
    for site in sites:
        site.cut_down()


def refusal(**environment: str) -> str:
    """What `up` says, on one line, when it does not start."""
    done = subprocess.run(
        [sys.executable, "manage.py", "up"],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    return done.stderr.strip()


# Refusals


def test_own_database_that_cannot_be_opened(tmp_path: Path) -> None:
    said = refusal(PALIMPSEST_DATABASE_URL=f"sqlite:///{tmp_path / 'none' / 'own.db'}", PORT=str(free_port()))
    assert "PALIMPSEST_DATABASE_URL" in said


def test_own_database_that_is_none(tmp_path: Path) -> None:
    own, content = tmp_path / "own.db", b"SQLite format 3\0" + b"\xff" * 9_000
    own.write_bytes(content)
    said = refusal(PALIMPSEST_DATABASE_URL=f"sqlite:///{own}", PORT=str(free_port()))
    assert "PALIMPSEST_DATABASE_URL" in said and "database" in said.split(":")[-1]
    assert own.read_bytes() == content


def test_own_database_of_a_newer_version(prepared: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(prepared, data)
    own = data / "palimpsest.sqlite3"
    with closing(sqlite3.connect(own)) as con, con:
        con.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('runs', '0999_of_tomorrow', '2030-01-01')"
        )
    before = own.read_bytes()
    said = refusal(PALIMPSEST_DATA_DIR=str(data), PORT=str(free_port()))
    assert "newer version" in said and "runs.0999_of_tomorrow" in said
    assert own.read_bytes() == before


# Serving


def test_a_second_start_changes_nothing_and_the_link_signs_in(start: Callable[..., StartedSite]) -> None:
    site = start()
    before = {path: path.stat().st_mtime_ns for path in (site.data / "static").rglob("*")}
    site.ready()
    assert "Made" not in site.output
    assert "Collected" not in site.output
    assert re.search(r"^  demo +\S+/demo.db  schema \d+, \d+ sessions, can compact$", site.output, re.MULTILINE)
    assert {path: path.stat().st_mtime_ns for path in (site.data / "static").rglob("*")} == before
    browser = _sign_in(site)
    _fetch_static(site)
    _replace_own_database(site, browser)
    site.process.send_signal(signal.SIGHUP)
    assert site.process.wait(PATIENCE) == 0
    assert site.is_gone()


def test_a_start_without_a_link_behind_a_proxy_that_a_second_ctrl_c_ends_at_once(
    start: Callable[..., StartedSite],
) -> None:
    proxied = {"PALIMPSEST_BASE_PATH": "/below", "PALIMPSEST_TRUSTED_PROXIES": "127.0.0.1"}
    site = start(PALIMPSEST_START_LINK="0", **proxied).ready()
    assert "manage.py signin prints a link" in site.output and "/sign-in/" not in site.output
    address = f"http://127.0.0.1:{site.port}"
    assert f"Serving {address}/below;" in site.output
    for path in ("/below", "/below/stores", "/stores"):  # whether or not the proxy takes the base path off
        assert urllib.request.urlopen(address + path).geturl() == f"{address}/below/sign-in/"
    link = site.own("from viewer.web import auth; print(auth.new_link())")
    for said, secure in (("https", True), ("http", False)):
        asked = urllib.request.Request(address + link, headers={"X-Forwarded-Proto": said})
        cookie = urllib.request.urlopen(asked).headers["Set-Cookie"]
        assert "; Path=/below" in cookie and ("; Secure" in cookie) is secure
    site.begin_run()
    site.process.send_signal(signal.SIGINT)
    until(lambda: "Waiting for the running compaction" in site.output, "the notice")
    site.process.send_signal(signal.SIGINT)
    assert site.process.wait(PATIENCE) == 1
    assert not site.wrote_run()
    assert site.is_gone()


def _sign_in(site: StartedSite) -> urllib.request.OpenerDirector:
    """A browser that is signed in."""
    browser, other = (
        urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())) for _ in range(2)
    )
    address = f"http://127.0.0.1:{site.port}/"
    assert browser.open(address).geturl() == f"{address}sign-in/"
    forms = [who.open(site.link).read().decode() for who in (browser, other, browser)]
    fields = [re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', form)[0] for form in forms]
    answer = browser.open(site.link, f"csrfmiddlewaretoken={fields[2]}".encode())
    assert (answer.status, answer.geturl()) == (200, address)
    with pytest.raises(urllib.error.HTTPError, match="410"):
        other.open(site.link, f"csrfmiddlewaretoken={fields[1]}".encode())
    assert other.open(address).geturl() == f"{address}sign-in/"
    return browser


def _fetch_static(site: StartedSite) -> None:
    names = json.loads((site.data / "static" / "staticfiles.json").read_text())["paths"]
    address = f"http://127.0.0.1:{site.port}/static/{names['django_htmx/htmx-2.min.js']}"
    answer = urllib.request.urlopen(urllib.request.Request(address, headers={"Accept-Encoding": "gzip"}))
    assert answer.headers["Content-Encoding"] == "gzip"
    assert "immutable" in answer.headers["Cache-Control"]


def _replace_own_database(site: StartedSite, browser: urllib.request.OpenerDirector) -> None:
    """The new file is asked from then on: threads keep connections, which would go on with the one that is gone."""
    address = f"http://127.0.0.1:{site.port}/stores"

    def led_to() -> set[str]:
        """Where the browser is led, by so many requests that they meet every thread."""
        return {browser.open(address).geturl() for _ in range(40)}

    assert led_to() == {address}
    path, other = site.data / "palimpsest.sqlite3", site.data / "other.sqlite3"
    with closing(sqlite3.connect(path)) as con, closing(sqlite3.connect(other)) as copy:
        con.backup(copy)
        copy.execute("DELETE FROM django_session")
        copy.commit()
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    os.replace(other, path)
    assert address not in led_to()


# Ending


def test_ctrl_c_ends_everything_after_the_running_compaction_also_with_postgres(
    start: Callable[..., StartedSite], postgres: str
) -> None:
    site = start(PALIMPSEST_DATABASE_URL=postgres).ready()
    _sign_in(site)
    site.begin_run()
    site.process.send_signal(signal.SIGINT)
    site.process.send_signal(signal.SIGTERM)  # a service manager signals make too, which passes it on: still one
    until(lambda: "Waiting for the running compaction" in site.output, "the notice")
    site.end_turn()
    assert site.process.wait(PATIENCE) == 0
    assert site.wrote_run()
    assert site.is_gone()


def test_sigkill_of_the_parent_ends_everything_after_the_running_compaction(start: Callable[..., StartedSite]) -> None:
    site = start().ready()
    site.begin_run()
    server, worker = site.child("viewer.serve.server"), site.child("viewer worker")
    site.process.kill()
    until(lambda: server not in processes(), "the end of the server")
    assert worker in processes()
    site.end_turn()
    until(site.is_gone, "the end of all processes")
    assert site.wrote_run()


def test_server_and_worker_come_back_however_often_they_are_killed(start: Callable[..., StartedSite]) -> None:
    """And the worker takes up lost runs."""
    site = start(["sh", "-c", f"{sys.executable} -W error manage.py up --with-parent; true"]).ready()
    site.own(LOST_RUN)
    seen: set[int] = set()
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
        killed = {site.child("viewer.serve.server"), site.child("viewer worker")}
        for pid in killed:
            os.kill(pid, number)
        # Nobody is refused meanwhile: a connection waits for the next server.
        with urllib.request.urlopen(f"http://127.0.0.1:{site.port}/sign-in/", timeout=PATIENCE) as answer:
            assert answer.status == 200
        until(lambda killed=killed: not killed & set(site.family()), "the end of the killed")  # type: ignore[misc]
        until(lambda: site.family("viewer.serve.server") and site.family("viewer worker"), "both again")
        seen |= killed
    assert len(seen) == 6
    assert site.output.count("; starting it again.") == 6, site.output
    assert "The worker ended unexpectedly (exit code -9); starting it again." in site.output
    with closing(sqlite3.connect(site.data / "palimpsest.sqlite3", timeout=20)) as own:
        until(lambda: own.execute("SELECT status FROM runs_run").fetchall() == [("failed",)], "recovery")
    assert site.output.count("Sign in: ") == 1
    site.pids = site.family()
    site.process.kill()
    until(site.is_gone, "the end of all with the caller")


def test_a_child_is_started_again_but_not_all_the_time() -> None:
    child = Child("child", ["-c", "raise SystemExit(3)"])
    started: list[float] = []
    end = time.monotonic() + 2.5 * supervisor.START_SECONDS
    while time.monotonic() < end or len(started) < 2:
        assert time.monotonic() < end + PATIENCE
        if child.started_at not in started:
            started.append(child.started_at)
        child.restart_if_ended()
        time.sleep(0.01)
    child.kill()
    assert len(started) <= 3
    assert min(later - before for before, later in pairwise(started)) > supervisor.START_SECONDS


# Large blocks, of which the last stays: on one heap it would keep all of them.
GIVES_BACK = """
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
del [bytearray(30_000_000)][:]
before, blocks = resident(), [bytearray(b"a" * 1_000_000) for _ in range(100)]
del blocks[:99]
raise SystemExit(resident() - before > 20_000_000)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="of Linux and its glibc")
def test_a_child_gives_back_what_large_messages_took() -> None:
    child = Child("child", ["-c", GIVES_BACK])
    code = child.process.wait(PATIENCE)
    child.kill()
    assert code == 0


def test_a_server_that_cannot_start_ends_it(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Of no use to start it again: somebody has to look."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    monkeypatch.setattr(sys, "executable", "false")
    too_long = threading.Timer(60, os.kill, (os.getpid(), signal.SIGTERM))
    too_long.start()
    try:
        with prepare.listening("127.0.0.1", 0) as listening:
            assert supervisor.run(listening, on_answer=lambda: pytest.fail("answered")) == 1
    finally:
        too_long.cancel()
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert "The server ended (exit code 1)." in capfd.readouterr().err


# A run whose worker died an hour ago, in a store that is not there any more.
LOST_RUN = """
from datetime import timedelta
from django.utils import timezone
from viewer.runs.models import Run
Run.objects.create(
    store="gone", session_id="x", strategy="summary", summarizer="offline", apply=True, status="summarizing",
    holder="pid=1:dead", heartbeat_at=timezone.now() - timedelta(hours=1),
)
"""


# A child and its parent


STUBBORN = """
import signal
from viewer.serve import parent
signal.signal(signal.SIGTERM, lambda *_: print("asked", flush=True))
signal.alarm(60)
parent.end_with_it()
print("started", flush=True)
while True:
    signal.pause()
"""


def test_a_child_whose_input_ends_is_asked_once_and_may_take_its_time() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STUBBORN], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        assert process.stdout.readline() == "started\n"
        process.stdin.close()
        assert process.stdout.readline() == "asked\n"
        time.sleep(1)
        assert process.poll() is None
        process.kill()
        assert process.stdout.read() == ""
