"""Scenarios of sessions that go on from others, or from an earlier place in themselves, or elsewhere."""

from __future__ import annotations

import zstandard

from .app_server import AppServer
from .playing import Stage
from .scenarios_compacted import compact, talk
from .scenes import BOTH, scenario, shell
from .service import calls, says


@scenario(6, models=BOTH)
def forks(stage: Stage) -> None:
    with stage.app_server() as server:
        session = talk(stage, server)
        fork = _fork(server, session)
        stage.turn_of(server, fork, "Another way, please.")
        stage.turn_of(server, session, "The same way, please.")
        second = _fork(server, fork)
        stage.turn_of(server, second, "A third way.")
        compact(server, fork)
        stage.turn_of(server, fork, "Where were we?")
        third = _fork(server, fork)
        stage.turn_of(server, third, "A fourth way.")
        stage.turn_of(server, second, "Still the third way.")


def _fork(server: AppServer, session: str) -> str:
    fork = server.fork(session)
    server.unload(fork)
    return fork


@scenario(6, models=BOTH)
def reverted(stage: Stage) -> None:
    with stage.app_server() as server:
        session = talk(stage, server)
        turns = [stage.turn_of(server, session, f"What grows in bed {number}?") for number in range(2)]
        _revert(server, session, turns[1])
        later = stage.turn_of(server, session, "Rather, what grows on the roof?")
        compact(server, session)
        stage.turn_of(server, session, "And under it?")
        _revert(server, session, later)
        stage.turn_of(server, session, "Nothing of all that.")
        stage.turn_of(server, _fork(server, session), "A fork of what is left.")


def _revert(server: AppServer, session: str, turn: str) -> None:
    server.resume(session)
    server.revert(session, turn)
    server.unload(session)


@scenario(3)
def stored_away(stage: Stage) -> None:
    """In the archive, and compressed."""
    with stage.app_server() as server:
        session = talk(stage, server)
        server.call("thread/archive", threadId=session)
        with stage.resuming(session):
            server.call("thread/unarchive", threadId=session)
            server.resume(session)
            server.turn(session, "Out of the archive.")
            server.unload(session)
        path = stage.rollout(session)
        path.with_suffix(".jsonl.zst").write_bytes(zstandard.compress(path.read_bytes()))
        path.unlink()
        stage.turn_of(server, session, "Out of the box.")
        stage.turn_of(server, session, "Thank you.")


@scenario(5, models=BOTH)
def legacy(stage: Stage) -> None:
    with stage.app_server() as server:
        session = server.start(historyMode="legacy")
        server.turn(session, "What is in the garden?")
        stage.service.replies += [calls(shell("echo a"), shell("echo b")), says("Both are done.", reasoning="Done.")]
        server.turn(session, "Do both.")
        server.unload(session)
        stage.turn_of(server, session, "Go on.")
        compact(server, session)
        stage.turn_of(server, session, "And behind the garden?")
        stage.turn_of(server, _fork(server, session), "Another way.")
        stage.turn_of(server, session, "The same way.")
        stage.turn_of(server, session, "Thank you.")
