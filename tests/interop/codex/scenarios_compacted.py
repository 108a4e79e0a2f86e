"""Scenarios of the client's own compactions."""

from __future__ import annotations

from .app_server import AppServer
from .client import FULL
from .playing import Stage
from .scenes import BOTH, scenario, shell
from .service import calls, says


def talk(stage: Stage, server: AppServer) -> str:
    """A session of two turns, the second with tools; it is not loaded."""
    session = server.start()
    server.turn(session, "What is in the garden?")
    stage.service.replies += [
        calls(shell("echo a"), shell("echo b"), text="Both at once.", reasoning="They do not depend on each other."),
        says("Both are done."),
    ]
    server.turn(session, "Do both.")
    server.unload(session)
    return session


def compact(server: AppServer, session: str) -> None:
    """The client's own compaction of a session that is not loaded."""
    server.resume(session)
    server.compact(session)
    server.unload(session)


@scenario(5, models=BOTH)
def local_compaction(stage: Stage) -> None:
    _compacted_by_hand(stage)


@scenario(5, models=BOTH, provider="openai")
def remote_compaction(stage: Stage) -> None:
    _compacted_by_hand(stage)


def _compacted_by_hand(stage: Stage) -> None:
    with stage.app_server() as server:
        session = talk(stage, server)
        compact(server, session)
        stage.turn_of(server, session, "And behind the garden?")
        stage.service.replies += [calls(shell("echo c"), shell("echo d")), says("More is done.")]
        stage.turn_of(server, session, "Do more.")
        stage.turn_of(server, session, "Thank you.")
        compact(server, session)
        compact(server, session)
        stage.turn_of(server, session, "Go on.")
        stage.turn_of(server, session, "And on.")


@scenario(4, models=BOTH)
def full(stage: Stage) -> None:
    _compacted_when_full(stage)


@scenario(4, models=BOTH, provider="openai")
def full_remote(stage: Stage) -> None:
    _compacted_when_full(stage)


def _compacted_when_full(stage: Stage) -> None:
    service = stage.service
    with stage.app_server() as server:
        session = talk(stage, server)
        service.replies += [says("A great deal.", input_tokens=FULL + 50_000)]
        stage.turn_of(server, session, "What else?")
        stage.turn_of(server, session, "Go on: before this, all of it was summed up.")
        service.replies += [
            calls(shell("echo a"), shell("echo b"), text="Both at once.", input_tokens=FULL + 50_000),
            calls(shell("echo c"), text="And a third."),
            says("All three are done."),
        ]
        stage.turn_of(server, session, "Do all three.")
        stage.turn_of(server, session, "Thank you.")
