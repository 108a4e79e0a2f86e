"""Scenarios of sessions that go on from others, or from an earlier place in themselves, or elsewhere."""

from __future__ import annotations

import shutil
import subprocess

from .playing import Stage
from .scenarios_compacted import compact, talk
from .scenes import BOTH, scenario, shell
from .service import calls, says


@scenario(6, models=BOTH)
def forks(stage: Stage) -> None:
    session = talk(stage)
    fork = stage.fork(session, "Another way, please.")
    stage.turn(fork, "And further on it.")
    with stage.app_server() as server:
        stage.turn_of(server, session, "The same way, please.")
        second = server.fork(fork)
        server.unload(second)
        stage.turn_of(server, second, "A third way.")
        compact(server, fork)
        stage.turn_of(server, fork, "Where were we?")
        third = server.fork(fork)
        server.unload(third)
        stage.turn_of(server, third, "A fourth way.")
        stage.turn_of(server, second, "Still the third way.")


@scenario(6, models=BOTH)
def reverted(stage: Stage) -> None:
    session = talk(stage)
    with stage.app_server() as server:
        turns = [stage.turn_of(server, session, f"What grows in bed {number}?") for number in range(2)]
        server.resume(session)
        server.revert(session, turns[1])
        server.unload(session)
        later = stage.turn_of(server, session, "Rather, what grows on the roof?")
        compact(server, session)
        stage.turn_of(server, session, "And under it?")
        server.resume(session)
        server.revert(session, later)
        server.unload(session)
        stage.turn_of(server, session, "Nothing of all that.")
        fork = server.fork(session)
        server.unload(fork)
        stage.turn_of(server, fork, "A fork of what is left.")


@scenario(2)
def archived(stage: Stage) -> None:
    session = talk(stage)
    stage.run("archive", session)
    with stage.resuming(session):
        stage.run("unarchive", session)
        super(Stage, stage).turn(session, "Out of the archive.")
    stage.turn(session, "Thank you.")


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
        fork = server.fork(session)
        server.unload(fork)
        stage.turn_of(server, fork, "Another way.")
        stage.turn_of(server, session, "The same way.")
    stage.turn(session, "Thank you.")


@scenario(1)
def compressed(stage: Stage) -> None:
    session = talk(stage)
    path, zstd = stage.rollout(session), shutil.which("zstd")
    assert zstd, "there is no zstd here"
    subprocess.run([zstd, "--quiet", "--rm", path], check=True)
    stage.turn(session, "Out of the box.")
