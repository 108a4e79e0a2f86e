"""Scenarios of older clients, whose sessions the newest one goes on with."""

from __future__ import annotations

from .client import GPT_5, OLDER, OLDEST, program
from .playing import Stage
from .scenes import scenario, shell
from .service import calls, says


@scenario(5, models=(GPT_5,), version=OLDEST)
def oldest(stage: Stage) -> None:
    _talk(stage, takes_back=True)


@scenario(5, models=(GPT_5,), version=OLDEST, provider="openai")
def oldest_remote(stage: Stage) -> None:
    _talk(stage, takes_back=True)


@scenario(5, models=(GPT_5,), version=OLDER)
def older(stage: Stage) -> None:
    _talk(stage)


@scenario(5, models=(GPT_5,), version=OLDER, provider="openai")
def older_remote(stage: Stage) -> None:
    _talk(stage)


def _talk(stage: Stage, takes_back: bool = False) -> None:
    """These clients do not let go of a session but by their end."""
    session = stage.start("What is in the garden?")
    stage.service.replies += [calls(shell("echo a"), shell("echo b"), text="Both at once."), says("Both are done.")]
    stage.turn(session, "Do both.")
    with stage.app_server() as server:
        server.resume(session)
        server.turn(session, "What grows on the roof?")
        if takes_back:
            server.call("thread/rollback", threadId=session, numTurns=1)
    stage.turn(session, "What grows in the cellar?")
    with stage.app_server() as server:
        server.resume(session)
        server.compact(session)
    stage.turn(session, "And behind the garden?")
    stage.program = program()
    stage.turn(session, "A newer client goes on.")
    stage.turn(session, "Thank you.")
