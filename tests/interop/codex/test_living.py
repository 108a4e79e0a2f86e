"""Whether the real Codex has a session open is known: while it has it loaded, and not when it was killed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from tests.interop.fetched import NotInstalled
from viewer.stores.base import Store
from viewer.stores.registry import agent_of

from .client import Client, program
from .service import Service


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with Service() as service:
        try:
            yield Client(program(), tmp_path, service)
        except NotInstalled as missing:
            pytest.skip(f"Codex is not here: {missing}")


def test_a_session_is_open_as_long_as_a_client_has_it_loaded(client: Client) -> None:
    def opened() -> Collection[str] | None:
        return agent_of(Store("work", f"codex:///{client.home}", "configured")).open_sessions()

    with client.app_server() as server:
        session = server.start()
        server.turn(session, "What is in the garden?")
        assert list(opened() or ()) == [session]
        server.unload(session)
        assert not opened()
        server.resume(session)
        with client.service.held():
            server.start_turn(session, "Nobody will answer this.")
            client.service.wait_for("turn", 2)
            assert list(opened() or ()) == [session]
            server.kill()
    assert any((client.home / "thread-writer-locks").glob(f"{session}.lock")), "it leaves its lock behind"
    assert not opened()
