"""What people do with OpenClaw, each with a session key of its own. `SCENARIOS` holds them all, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.interop.chat_service import calls, says, tool

from .playing import OpenClawStage, key_of

LONG = (
    "All that is known of this bed. " * 30
)  # so that its own compactions leave something out, and rows are compressed
Play = Callable[[OpenClawStage, str], None]


@dataclass(frozen=True, slots=True)
class OpenClawScenario:
    """What is done with the session of one key; `turns` says how often the client goes on with one in it."""

    name: str
    play: Play
    turns: int


SCENARIOS: dict[str, OpenClawScenario] = {}


def scenario(turns: int) -> Callable[[Play], Play]:
    """Note a function as a scenario, named as it is."""

    def note(play: Play) -> Play:
        name = getattr(play, "__name__", "").replace("_", "-")
        SCENARIOS[name] = OpenClawScenario(name, play, turns)
        return play

    return note


def talk(stage: OpenClawStage, key: str) -> None:
    """Three turns, the second with parallel calls."""
    stage.service.replies += [
        says(f"There are beds. {LONG}"),
        calls(tool("exec", command="echo a"), tool("exec", command="echo b"), text="Both at once."),
        says("Both are done."),
        says(f"Then this. {LONG}"),
    ]
    for prompt in ("What is in the garden?", "Do both.", "And then?"):
        stage.turn(prompt, key)


@scenario(6)
def plain_talk(stage: OpenClawStage, key: str) -> None:
    talk(stage, key)
    stage.turn("Umlauts äöü, 完了, 👩‍👩‍👧 and <b>&amp;</b> \u2028 with <spaces> around.", key)
    stage.turn("A long request. " + LONG, key)
    stage.turn("And good bye.", key)
    stage.turn("Thank you.", key)


@scenario(5)
def tools(stage: OpenClawStage, key: str) -> None:
    (stage.work / "note.txt").write_text("The gate is open.\n" * 200)
    talk(stage, key)
    stage.service.replies += [
        calls(tool("exec", command="false"), tool("read", path="nothing.txt"), tool("no_such_tool", what="ever")),
        calls(tool("read", path="note.txt"), tool("exec", command="seq 1 900"), text="Once more."),
        says("None of it."),
    ]
    stage.turn("Do three.", key)
    stage.turn("What was it?", key)
    stage.turn("Thank you.", key)


@scenario(6)
def compacted_twice(stage: OpenClawStage, key: str) -> None:
    talk(stage, key)
    stage.compact(key)
    stage.service.replies += [says(f"Behind it, too. {LONG}"), says(f"And there. {LONG}")]
    stage.turn("And behind the garden?", key)
    stage.turn("And on the roof?", key)
    stage.compact(key)
    stage.turn("Go on.", key)
    stage.turn("And on.", key)


@scenario(5)
def rewound(stage: OpenClawStage, key: str) -> None:
    talk(stage, key)
    stage.call("sessions.rewind", sessionKey=key, entryId=stage.entry_of(key, "And then?"))
    stage.turn("Rather, what grows on the roof?", key)
    stage.turn("And under it?", key)
    forked = stage.call("sessions.fork", sessionKey=key, entryId=stage.entry_of(key, "And under it?"))
    stage.turn("A fork of what is left.", forked["sessionKey"])


@scenario(6)
def rewound_behind_a_compaction(stage: OpenClawStage, key: str) -> None:
    talk(stage, key)
    stage.compact(key)
    stage.turn("And behind the garden?", key)
    stage.turn("And on the roof?", key)
    stage.call("sessions.rewind", sessionKey=key, entryId=stage.entry_of(key, "And on the roof?"))
    stage.turn("Rather not.", key)
    stage.call("sessions.rewind", sessionKey=key, entryId=stage.entry_of(key, "Do both."))
    stage.turn("All from there.", key)


def play(stage: OpenClawStage, name: str) -> None:
    """Play a scenario."""
    SCENARIOS[name].play(stage, key_of(name))
