"""Clients that are slow on purpose, over real sockets: they hold no thread, and no connection for ever."""

import itertools
import json
import os
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest

from tests.processes import PATIENCE, StartedSite, cookie_of, until
from viewer.up import prepare, server

# The site, as it is started


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedSite]:
    running = StartedSite(tmp_path_factory.mktemp("slow") / "data")
    try:
        yield running.ready()
    finally:
        running.cut_down()


def connect(port: int, sent: str = "", **options: int) -> socket.socket:
    """A connection on which this much was sent."""
    made = socket.socket()
    for name, value in options.items():
        made.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
    made.connect(("127.0.0.1", port))
    made.sendall(sent.encode())
    return made


def slow_ones(site: StartedSite) -> list[str]:
    """What each kind of slow client sends before it stops."""
    names = json.loads((site.data / "static" / "staticfiles.json").read_text())["paths"]
    largest = max(names.values(), key=lambda name: (site.data / "static" / name).stat().st_size)
    post = "POST /sign-in/x HTTP/1.1\r\nHost: localhost\r\nCookie: palimpsest_csrf=" + "a" * 32
    form = "Content-Type: application/x-www-form-urlencoded\r\n"
    return [
        f"{post}\r\n{form}Content-Length: 1000\r\n\r\ncsrf",
        f"{post}; palimpsest={cookie_of(site)}\r\n{form}Content-Length: 1000\r\n\r\ncsrf",
        f"{post}\r\n{form}Transfer-Encoding: chunked\r\n\r\n100\r\ncsrf",
        f"{post}\r\n{form}Content-Length: 100000000000\r\n\r\ncsrf",
        f"{post}\r\n{form}Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n",
        post,
        "",
        "GET /sign-in/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        f"GET /static/{largest} HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100,
    ]


def ask(site: StartedSite) -> float:
    """Seconds that an ordinary request takes."""
    started = time.monotonic()
    answer = whole(connect(site.port, "GET /sign-in/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
    assert answer.startswith(b"HTTP/1.1 200 ")
    return time.monotonic() - started


@pytest.mark.slow
def test_slow_clients_hold_up_nobody(site: StartedSite) -> None:
    kinds, alone = slow_ones(site), max(ask(site) for _ in range(5))
    with ExitStack() as kept:
        for sent in itertools.islice(itertools.cycle(kinds), 200):
            kept.enter_context(closing(connect(site.port, sent, SO_RCVBUF=2048)))
        trickling = [connect(site.port, kinds[0]) for _ in range(20)]
        closed = kept.enter_context(trickle(trickling))
        for _ in range(20):
            assert not closed.is_set()
            assert ask(site) < max(2, 10 * alone)


@contextmanager
def trickle(connections: list[socket.socket]) -> Iterator[threading.Event]:
    """Four times a second an octet goes out on each, inside the block. The event says that one of them was closed."""
    closed, end = threading.Event(), threading.Event()

    def send() -> None:
        while not end.wait(0.25):
            try:
                for each in connections:
                    each.send(b"a")
            except OSError:
                closed.set()

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield closed
    finally:
        end.set()
        thread.join()
        for each in connections:
            each.close()


def whole(connection: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    connection.settimeout(PATIENCE)
    with connection:
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.slow
def test_a_body_that_is_too_large_is_refused_in_the_words_of_the_site(site: StartedSite) -> None:
    call = "POST /api/v1/stores/demo/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    token = site.own("from viewer.access import new_token; print(new_token('large', ['write']))")
    for length in ("Content-Length: 3000000\r\nExpect: 100-continue", "Content-Length: 3000000"):
        answer = whole(connect(site.port, f"{call}Authorization: Bearer {token}\r\n{length}\r\n\r\n"))
        assert answer.startswith(b"HTTP/1.1 413 "), answer
        assert re.search(rb'"code": ?"too_large"', answer), answer
        assert whole(connect(site.port, f"{call}{length}\r\n\r\n")).startswith(b"HTTP/1.1 401 ")


# The server alone, with less patience


class Gate:
    """Answers of 40 MB, of which an `/export` and `/waits` wait before they begin."""

    def __init__(self) -> None:
        self.open, self.made = threading.Event(), threading.Event()

    def answer(self, path: str) -> Iterator[bytes]:
        if path.endswith(("/export", "/waits")):
            self.open.wait(PATIENCE)
        for _ in range(40):
            yield b"a" * 1_000_000
        self.made.set()


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch, gate: Gate) -> Iterator[Callable[..., int]]:
    """Start the server with limits of the test's own; its port. It answers with the length of the body it was given."""
    running: list[tuple[Any, threading.Thread]] = []

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] != "/":
            start("200 OK", [])
            return gate.answer(environ["PATH_INFO"])
        said = f"{environ.get('CONTENT_LENGTH')} {len(environ['wsgi.input'].read())}".encode()
        start("200 OK", [("Content-Length", str(len(said)))])
        return [said]

    def begin(listening: socket.socket | None = None, **limits: int) -> int:
        for name, value in limits.items():
            monkeypatch.setattr(server, name, value)
        listening = listening or prepare.listening("127.0.0.1", 0)
        port = int(listening.getsockname()[1])
        made: Any = server.server(answer, listening, os.getppid())
        thread = threading.Thread(target=lambda: made.asyncore.loop(0.1, map=made._map, use_poll=True))
        thread.start()
        running.append((made, thread))
        return port

    yield begin
    gate.open.set()
    for made, thread in running:
        made.task_dispatcher.shutdown()
        made.exporting.shutdown()
        made.trigger.pull_trigger(lambda made=made: made.asyncore.close_all(made._map))
        thread.join()


def is_closed(connection: socket.socket) -> bool:
    """By the other side, whatever it had said before."""
    try:
        while select.select([connection], [], [], 0)[0]:
            if not connection.recv(65536):
                return True
    except ConnectionResetError:
        return True
    return False


@pytest.mark.slow
def test_a_busy_server_leaves_connections_to_the_others_of_its_socket(serve: Callable[..., int]) -> None:
    with prepare.listening("127.0.0.1", 0) as listening, ExitStack() as kept:
        port = serve(listening.dup(), THREADS=1, WAITING=1)
        for _ in range(2):  # one for the thread, one that waits for it
            kept.enter_context(closing(connect(port, "GET /waits HTTP/1.1\r\nHost: a\r\n\r\n")))
            time.sleep(0.3)
        quick = connect(port, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        time.sleep(0.3)
        serve(listening.dup())
        assert whole(quick).endswith(b"None 0")


BEGUN = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\na"


@pytest.mark.slow
def test_an_unfinished_request_is_given_up_also_when_it_trickles(serve: Callable[..., int]) -> None:
    port = serve(REQUEST_SECONDS=1)
    with closing(connect(port)) as silent, closing(connect(port, BEGUN)) as body, closing(connect(port, "GET")) as head:
        trickling = connect(port, BEGUN)
        with trickle([trickling]) as closed:
            until(lambda: is_closed(body) and is_closed(head), "the end of what stopped")
            until(closed.is_set, "the end of what trickles")
        assert not is_closed(silent)


@pytest.mark.slow
def test_a_silent_connection_is_closed(serve: Callable[..., int]) -> None:
    port = serve(SILENCE_SECONDS=1)
    with closing(connect(port)) as silent, closing(connect(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")) as kept:
        assert kept.recv(100).startswith(b"HTTP/1.1 200 ")
        until(lambda: is_closed(silent) and is_closed(kept), "the end of both")


def test_of_too_many_connections_the_longest_waited_for_is_closed(serve: Callable[..., int]) -> None:
    port = serve(CONNECTIONS=10)
    with ExitStack() as kept:
        first, *others = [kept.enter_context(closing(connect(port, BEGUN))) for _ in range(10)]
        for _ in range(5):
            answer = whole(connect(port, "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 1\r\n\r\na"))
            assert answer.endswith(b"1 1")
        until(lambda: is_closed(first), "the end of the first")
        assert not is_closed(others[-1])


@pytest.mark.slow
def test_a_large_answer_that_nobody_reads_holds_no_thread(serve: Callable[..., int], gate: Gate) -> None:
    with closing(connect(serve(), "GET /large HTTP/1.1\r\nHost: a\r\n\r\n", SO_RCVBUF=2048)):
        assert gate.made.wait(PATIENCE)


def test_exports_wait_in_threads_of_their_own(serve: Callable[..., int], gate: Gate) -> None:
    port = serve(THREADS=1)
    with ExitStack() as kept:
        for _ in range(6):
            kept.enter_context(closing(connect(port, "GET /a/export HTTP/1.1\r\nHost: a\r\n\r\n")))
        with closing(connect(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")) as ordinary:
            ordinary.settimeout(PATIENCE)
            assert ordinary.recv(100).startswith(b"HTTP/1.1 200 ")
        assert not gate.made.is_set()
        gate.open.set()
        assert gate.made.wait(PATIENCE)


def test_unfinished_bodies_are_bounded_together(serve: Callable[..., int]) -> None:
    port = serve(UNFINISHED_BYTES=100_000)
    sent = BEGUN.replace("1000", "99999") + "a" * 60_000
    with closing(connect(port, sent)) as first, closing(connect(port, sent)) as second:
        until(lambda: is_closed(first), "the end of the first")
        assert not is_closed(second)


@pytest.mark.parametrize("length", ["Content-Length: 5000", "Transfer-Encoding: chunked"])
def test_a_body_that_is_too_large_is_not_read(serve: Callable[..., int], length: str) -> None:
    port = serve(BODY_BYTES=1000)
    sent = f"POST / HTTP/1.1\r\nHost: a\r\n{length}\r\n\r\n" + ("1389\r\n" if "chunked" in length else "") + "a" * 1500
    assert re.search(rb"\r\n\r\n(5000|1001) 0$", whole(connect(port, sent)))


def test_the_limit_of_a_body_is_the_one_the_site_states(settings: Any) -> None:
    assert settings.DATA_UPLOAD_MAX_MEMORY_SIZE == server.BODY_BYTES
