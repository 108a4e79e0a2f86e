"""What people do with the client, as scenarios. `SCENARIOS` holds them all, by name."""

from __future__ import annotations

from . import scenarios_branched, scenarios_mixed, scenarios_older, scenarios_strange
from .playing import Stage
from .scenarios_compacted import talk
from .scenes import BOTH, SCENARIOS, patch, scenario, shell
from .service import calls, custom, says

__all__ = ["SCENARIOS", "scenarios_branched", "scenarios_mixed", "scenarios_older", "scenarios_strange"]


@scenario(3, models=BOTH)
def plain_talk(stage: Stage) -> None:
    session = stage.start("The first question: what is in the garden?")
    stage.turn(session, "  Umlauts äöü, 完了, 👩‍👩‍👧 and <b>&amp;</b> \u2028 with spaces around.  \n")
    with stage.app_server() as server:
        stage.service.replies += [says("It is four.", reasoning="Two and two is four.")]
        stage.turn_of(server, session, "What is two and two?")
        stage.turn_of(server, session, "Thank you.")


@scenario(5, models=BOTH)
def tools(stage: Stage) -> None:
    with stage.app_server() as server:
        session = talk(stage, server)
        stage.service.replies += [
            calls(shell("sleep 0.4; echo slow"), shell("false"), shell("echo quick"), reasoning="One will fail."),
            calls(shell("seq 1 9000")),
            says("One of them failed."),
        ]
        stage.turn_of(server, session, "Do three.")
        absent = calls(shell("echo a"), custom("no_such_tool", "what"), shell("echo b"))
        stage.service.replies += [absent, says("Well.")]
        stage.turn_of(server, session, "Call what is not there.")
        stage.service.replies += [
            calls(patch("*** Add File: note.txt", "+The gate is open."), text="A note first."),
            calls(shell("cat note.txt"), patch("*** Update File: nothing.txt", "@@", "-a", "+b")),
            says("The note is there."),
        ]
        stage.turn_of(server, session, "Write a note and look at it.")
        stage.service.replies += [calls(custom("exec", "text('a')"), text="In one go."), says("It is done.")]
        stage.turn_of(server, session, "Run a script.")
        stage.turn_of(server, session, "And good bye.")
