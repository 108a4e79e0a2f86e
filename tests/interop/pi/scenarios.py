"""What people do with pi, as scenarios. `SCENARIOS` holds them all, by name."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

from tests.agents.base import Json
from tests.interop.chat_service import calls, says, tool
from tests.interop.pictures import png

from .client import RESERVE, WINDOW
from .playing import PiScenario, PiStage, Play
from .rpc import Rpc

SCENARIOS: dict[str, PiScenario] = {}
FULL = WINDOW - RESERVE + 1_000  # tokens at which it compacts by itself
LONG = "All that is known of this bed. " * 12  # so that its own compactions leave something out


def scenario(resumes: int) -> Callable[[Play], Play]:
    """Note a function as a scenario, named as it is."""

    def note(play: Play) -> Play:
        name = getattr(play, "__name__", "").replace("_", "-")
        SCENARIOS[name] = PiScenario(name, play, resumes)
        return play

    return note


def entries(file: Path) -> list[Json]:
    """The entries of a session's file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line.startswith("{")]


def entry_of(file: Path, text: str) -> str:
    """The id of the first entry in which a text stands."""
    found: str = next(each["id"] for each in entries(file) if text in json.dumps(each, ensure_ascii=False))
    return found


def both() -> Json:
    """Two calls at once, whose results are there one after the other."""
    return {"reply": calls(tool("bash", command="echo a"), tool("bash", command="echo b"), text="Both at once.")}


def talk(stage: PiStage, process: Rpc) -> Path:
    """A session of three turns, the second with parallel calls, which the process has open."""
    replies = stage.service.replies
    replies += [says(f"There are beds. {LONG}"), both()["reply"], says("Both are done."), says(f"Then this. {LONG}")]
    for prompt in ("What is in the garden?", "Do both.", "And then?"):
        process.turn(prompt)
    return process.file


@scenario(3)
def plain_talk(stage: PiStage) -> None:
    file = stage.start("The first question: what is in the garden?")
    stage.turn(file, "  Umlauts äöü, 完了, 👩‍👩‍👧 and <b>&amp;</b> \u2028 with spaces around.  \n")
    with stage.rpc() as process:
        stage.service.replies += [says("It is four.", reasoning="Two and two is four.")]
        stage.turn_of(process, file, "What is two and two?")
        stage.turn_of(process, file, "Thank you.")


@scenario(4)
def tools(stage: PiStage) -> None:
    with stage.rpc() as process:
        file = talk(stage, process)
        stage.service.replies += [
            calls(tool("bash", command="sleep 0.2; echo slow"), tool("bash", command="false"), reasoning="One fails."),
            calls(tool("bash", command="seq 1 4000")),
            says("One of them failed."),
        ]
        stage.turn_of(process, file, "Do two.")
        stage.service.replies += [calls(tool("no_such_tool", what="ever"), tool("read", path="nothing.txt")), says("!")]
        stage.turn_of(process, file, "Call what is not there.")
        stage.service.replies += [
            calls(tool("write", path="note.txt", content="The gate is open.\n"), text="A note first."),
            calls(tool("edit", path="note.txt", edits=[{"oldText": "open", "newText": "shut"}])),
            says("The note is there."),
        ]
        stage.turn_of(process, file, "Write a note and change it.")
        stage.turn_of(process, file, "Thank you.")


@scenario(3)
def pictures(stage: PiStage) -> None:
    (stage.work / "bed.png").write_bytes(png(12))
    picture = {"type": "image", "data": base64.b64encode(png(9)).decode(), "mimeType": "image/png"}
    with stage.rpc() as process:
        file = talk(stage, process)
        stage.turn_of(process, file, "What is in this picture?", images=[picture])
        stage.service.replies += [calls(tool("read", path="bed.png"), tool("read", path="bed.png")), says("A bed.")]
        stage.turn_of(process, file, "And what is in the file?")
        stage.turn_of(process, file, "Thank you.")


@scenario(6)
def compactions(stage: PiStage) -> None:
    with stage.rpc() as process:
        file = talk(stage, process)
        process.call("compact")
        stage.turn_of(process, file, "And behind the garden?")
        stage.service.replies += [both()["reply"], says(f"More is done. {LONG}")]
        stage.turn_of(process, file, "Do more.")
        stage.service.summary = "The second summary."
        process.call("compact", customInstructions="Name the beds.")
        stage.turn_of(process, file, "Go on.")
        stage.turn_of(process, file, "And on.")
        stage.service.replies += [says(f"A great deal. {LONG}", input_tokens=FULL)]
        with stage.resuming(file):
            process.resume(file)
            process.turn("What else?", until="compaction_end")
        stage.turn_of(process, file, "Before this, all of it was summed up.")


@scenario(5)
def branches(stage: PiStage) -> None:
    with stage.rpc() as process:
        file = talk(stage, process)
        process.go_to(entry_of(file, "And then?"))
        process.turn("Rather, what grows on the roof?")
        stage.turn_of(process, file, "And under it?")
        stage.service.summary = "What was said of the roof."
        process.go_to(entry_of(file, "There are beds."), summarize=True, label="here")
        stage.turn_of(process, file, "Another way.")
        process.go_to(entry_of(file, "And under it?"))
        process.turn("Back on the roof.")
        stage.turn_of(process, file, "Still there.")
        process.go_to(entry_of(file, "What is in the garden?"))
        process.turn("All from the start.")
        stage.turn_of(process, file, "A new start.")
        process.go_to(entry_of(file, "And then?"), summarize=True)
        process.call("compact")
        stage.turn_of(process, file, "Where were we?")


@scenario(4)
def forks(stage: PiStage) -> None:
    with stage.rpc() as process:
        file = talk(stage, process)
        process.call("set_session_name", name="The garden")
        process.call("fork", entryId=entry_of(file, "And then?"))
        process.turn("Another way.")
        fork = process.file
        stage.turn_of(process, fork, "Further on that way.")
        stage.turn_of(process, file, "The same way.")
        process.call("clone")
        process.turn("From here.")
        clone = process.file
        process.call("compact")
        stage.turn_of(process, clone, "Where were we?")
        stage.turn_of(process, fork, "Still another way.")


@scenario(3)
def by_hand(stage: PiStage) -> None:
    """Commands that a person ran, and what an extension says."""
    with stage.rpc() as process:
        file = talk(stage, process)
        process.call("bash", command="echo by hand; exit 3")
        process.call("set_thinking_level", level="high")
        stage.turn_of(process, file, "What did I do?")
        process.call("prompt", message="/note The gate was painted.")
        process.call("bash", command="true")
        stage.turn_of(process, file, "What was said?")
        stage.turn_of(process, file, "Thank you.")


@scenario(3)
def broken_off(stage: PiStage) -> None:
    """Turns that were stopped, or whose process was killed."""
    service = stage.service
    with stage.rpc() as process:
        file = talk(stage, process)
        service.replies += [calls(tool("bash", command="echo c"), text="First this."), says("Never heard.")]
        with service.held():
            process.send("prompt", message="Nobody will answer this.")
            service.wait_for("turn", len(service.of("turn")) + 1)
            process.call("abort")
        service.replies.clear()
        process.settle()
        stage.turn_of(process, file, "Where were we?")
        service.replies += [calls(tool("bash", command="sleep 30"), tool("bash", command="echo d"))]
        process.send("prompt", message="Nobody will wait for this.")
        service.wait_for("turn", len(service.of("turn")) + 1)
        process.call("abort")
        process.settle()
        stage.turn_of(process, file, "And now?")
    stage.turn(file, "Thank you.")
