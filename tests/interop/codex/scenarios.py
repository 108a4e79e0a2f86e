"""What people do with the client, as scenarios. `SCENARIOS` holds them all, by name."""

from __future__ import annotations

from . import scenarios_branched, scenarios_compacted, scenarios_strange
from .client import GPT_5
from .playing import Stage
from .scenes import BOTH, SCENARIOS, patch, scenario, shell
from .service import calls, custom, says

__all__ = ["SCENARIOS", "scenarios_branched", "scenarios_compacted", "scenarios_strange"]


@scenario(3, models=BOTH)
def plain_talk(stage: Stage) -> None:
    session = stage.start("The first question: what is in the garden?")
    stage.turn(session, "  Umlauts äöü, 完了, 👩‍👩‍👧 and <b>&amp;</b> \u2028 with spaces around.  \n")
    stage.service.replies += [says("It is four.", reasoning="Two and two is four.")]
    stage.turn(session, "What is two and two?")
    stage.turn(session, "Thank you.")


@scenario(4, models=BOTH)
def parallel_tools(stage: Stage) -> None:
    stage.service.replies += [calls(shell("echo one"), shell("echo two"), text="Both at once."), says("Both are done.")]
    session = stage.start("Do both.")
    stage.service.replies += [
        calls(shell("sleep 0.4; echo slow"), shell("false"), shell("echo quick"), reasoning="One of them will fail."),
        calls(shell("seq 1 9000")),
        says("One of them failed."),
    ]
    stage.turn(session, "Do three.")
    stage.service.replies += [calls(shell("echo a"), custom("no_such_tool", "what"), shell("echo b")), says("Well.")]
    stage.turn(session, "Call what is not there.")
    stage.turn(session, "Thank you.")
    stage.turn(session, "And good bye.")


@scenario(2, models=(GPT_5,))
def patches(stage: Stage) -> None:
    stage.service.replies += [
        calls(patch("*** Add File: note.txt", "+The gate is open."), text="A note first."),
        calls(shell("cat note.txt"), patch("*** Update File: nothing.txt", "@@", "-a", "+b")),
        says("The note is there."),
    ]
    session = stage.start("Write a note and look at it.")
    stage.turn(session, "Thank you.")
    stage.turn(session, "And good bye.")


@scenario(2)
def scripts(stage: Stage) -> None:
    stage.service.replies += [calls(custom("exec", "text('a')"), text="In one go."), says("It is done.")]
    session = stage.start("Run a script.")
    stage.turn(session, "Thank you.")
    stage.turn(session, "And good bye.")
