"""Clients that are slow on purpose, over real sockets: they hold no thread, and a silent one no connection for ever."""

import itertools
import json
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest
from waitress.server import create_server

from tests.processes import PATIENCE, StartedSite, cookie_of, until
from viewer.serve import prepare, server

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
    post = f"POST /sign-in/x HTTP/1.1\r\nHost: localhost\r\nCookie: palimpsest_csrf_{site.port}={'a' * 32}"
    form = "Content-Type: application/x-www-form-urlencoded\r\n"
    return [
        f"{post}\r\n{form}Content-Length: 1000\r\n\r\ncsrf",
        f"{post}; {cookie_of(site)}\r\n{form}Content-Length: 1000\r\n\r\ncsrf",
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
    token = site.own("from viewer.web.auth import new_token; print(new_token('large', ['write']))")
    body = "Content-Length: 3000000\r\nConnection: close\r\n\r\n" + " " * 3_000_000
    answer = whole(connect(site.port, f"{call}Authorization: Bearer {token}\r\n{body}"))
    assert answer.startswith(b"HTTP/1.1 413 "), answer
    assert re.search(rb'"code": ?"too_large"', answer), answer
    assert whole(connect(site.port, call + body)).startswith(b"HTTP/1.1 401 ")


# The server's options alone


class Gate:
    """Answers of 40 MB."""

    def __init__(self) -> None:
        self.made = threading.Event()

    def answer(self) -> Iterator[bytes]:
        for _ in range(40):
            yield b"a" * 1_000_000
        self.made.set()


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def serve(gate: Gate) -> Iterator[Callable[..., int]]:
    """Start the server with some options of the test's own; its port. It answers with the length of the body, and
    `/large` with 40 MB.
    """
    running: list[tuple[Any, threading.Thread]] = []

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/large":
            start("200 OK", [])
            return gate.answer()
        said = str(len(environ["wsgi.input"].read())).encode()
        start("200 OK", [("Content-Length", str(len(said)))])
        return [said]

    def begin(**options: int) -> int:
        listening = prepare.listening("127.0.0.1", 0)
        port = int(listening.getsockname()[1])
        made: Any = create_server(answer, sockets=[listening], **server.OPTIONS | options)
        thread = threading.Thread(target=lambda: made.asyncore.loop(0.1, map=made._map, use_poll=True))
        thread.start()
        running.append((made, thread))
        return port

    yield begin
    for made, thread in running:
        made.task_dispatcher.shutdown()
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


BEGUN = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\na"


@pytest.mark.slow
def test_silent_connections_are_closed_and_make_room(serve: Callable[..., int]) -> None:
    port = serve(channel_timeout=1, cleanup_interval=1, connection_limit=10)
    with ExitStack() as kept:
        sent = ["", "GET", BEGUN, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"] * 5
        silent = [kept.enter_context(closing(connect(port, each))) for each in sent]
        last = "POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: 1\r\n\r\na"
        assert whole(connect(port, last)).endswith(b"\r\n1")
        until(lambda: all(map(is_closed, silent)), "the end of all")


@pytest.mark.slow
def test_a_large_answer_that_nobody_reads_holds_no_thread(serve: Callable[..., int], gate: Gate) -> None:
    with closing(connect(serve(), "GET /large HTTP/1.1\r\nHost: a\r\n\r\n", SO_RCVBUF=2048)):
        assert gate.made.wait(PATIENCE)


@pytest.mark.parametrize("length", ["Content-Length: 5242880", "Content-Length: 100000000000"])
def test_a_body_that_is_far_too_large_is_refused_before_it_is_read(serve: Callable[..., int], length: str) -> None:
    answer = whole(connect(serve(), f"POST / HTTP/1.1\r\nHost: a\r\n{length}\r\n\r\n"))
    assert answer.startswith(b"HTTP/1.1 413 ") and b"exceeds max_body of 5242880" in answer


def test_a_body_without_a_length_is_refused_once_it_is_too_large(serve: Callable[..., int]) -> None:
    sent = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1389\r\n" + "a" * 1500
    assert whole(connect(serve(max_request_body_size=1000), sent)).startswith(b"HTTP/1.1 413 ")


def test_the_site_itself_refuses_up_to_twice_its_limit(settings: Any) -> None:
    assert server.OPTIONS["max_request_body_size"] == 2 * settings.DATA_UPLOAD_MAX_MEMORY_SIZE
