"""What people do with the client, as scenarios. `SCENARIOS` holds them all, by name."""

from __future__ import annotations

from collections.abc import Iterator

from tests.agents.base import Json
from tests.interop.pictures import png

from . import scenarios_compacted, scenarios_edited, scenarios_strange
from .client import OLDER, Client
from .playing import Moment
from .scenes import SCENARIOS, new_session, picture, scenario, shell, text
from .service import calls, says

__all__ = ["SCENARIOS", "scenarios_compacted", "scenarios_edited", "scenarios_strange"]


@scenario("first", "second", "third", "own-process")
def plain_turns(client: Client) -> Iterator[Moment]:
    session = new_session()
    with client.open(session) as conversation:
        for moment in ("first", "second", "third"):
            conversation.turn(f"The {moment} question: what is in the garden?")
            yield Moment(moment, session)
    client.turn(session, "  Umlauts äöü, 完了, 👩‍👩‍👧 and <b>&amp;</b> \u2028 with spaces around.  \n")
    yield Moment("own-process", session)


@scenario("two", "out-of-order", "steps")
def parallel_tools(client: Client) -> Iterator[Moment]:
    session, service = new_session(), client.service
    slow = shell("python3 -c 'import time; time.sleep(0.6)'; echo slow")
    with client.open(session) as conversation:
        service.replies += [calls(shell("echo one"), shell("echo two"), text="Both at once."), says("Both are done.")]
        conversation.turn("Do both.")
        yield Moment("two", session)
        service.replies += [calls(slow, shell("false"), shell("echo quick")), says("One of them failed.")]
        conversation.turn("Do three.")
        yield Moment("out-of-order", session)
        note = ("Write", {"file_path": str(client.work / "note.txt"), "content": "a note\n"})
        service.replies += [calls(note, text="A note first."), calls(shell("cat note.txt"), shell("ls"))]
        service.replies += [says("The note is there.")]
        conversation.turn("Write a note and look at it.")
        yield Moment("steps", session)


@scenario("several", "read-by-tool", "later", "compacted")
def images(client: Client) -> Iterator[Moment]:
    session, path = new_session(), client.work / "drawing.png"
    path.write_bytes(png(24))
    with client.open(session) as conversation:
        conversation.turn([text("What is on this picture?"), picture(8)])
        conversation.turn([picture(12), text("And on these two?"), picture(16)])
        yield Moment("several", session)
        client.service.replies += [calls(("Read", {"file_path": str(path)})), says("It is blue.")]
        conversation.turn("And in the file drawing.png?")
        yield Moment("read-by-tool", session)
        conversation.turn("Thank you.")
        yield Moment("later", session)
    client.compact(session)
    yield Moment("compacted", session)


@scenario("text", "tools", "compacted")
def thinking(client: Client) -> Iterator[Moment]:
    session, service = new_session(), client.service
    with client.open(session) as conversation:
        service.replies += [says("It is four.", thinking="Two and two is four.")]
        conversation.turn("What is two and two?")
        yield Moment("text", session)
        service.replies += [calls(shell("echo 4"), shell("echo 5"), thinking="The shell knows.", text="Asking it.")]
        service.replies += [says("It is four indeed.", thinking="The first one is right.")]
        conversation.turn("Are you sure?")
        yield Moment("tools", session)
        conversation.turn("Good.")
    client.compact(session)
    yield Moment("compacted", session)


@scenario("spilled", "compacted")
def spilled_output(client: Client) -> Iterator[Moment]:
    session = new_session()
    with client.open(session) as conversation:
        client.service.replies += [calls(shell("seq 1 7000"), shell("echo short")), says("They are numbers.")]
        conversation.turn("Count to seven thousand.")
        yield Moment("spilled", session)
        conversation.turn("Thank you.")
    client.compact(session)
    yield Moment("compacted", session)


@scenario("started", "answered", "later", "foreground")
def sub_agent(client: Client) -> Iterator[Moment]:
    session, service = new_session(), client.service
    task: Json = {"description": "Count files", "prompt": "Count the files here.", "subagent_type": "general-purpose"}
    service.helpers |= {"Count the files": says("There are three files."), "Count the birds": says("Two birds.")}
    with client.open(session) as conversation:
        service.replies += [calls(("Agent", task), text="Somebody else may count."), says("It is being counted.")]
        with service.held("helper"):
            conversation.turn("How many files are there?")
            yield Moment("started", session)
        conversation.receive()
        yield Moment("answered", session)
        conversation.turn("Thank you.")
        yield Moment("later", session)
        alone = task | {"prompt": "Count the birds here.", "run_in_background": False}
        service.replies += [calls(("Agent", alone)), says("There are two birds.")]
        conversation.turn("How many birds are there?")
        yield Moment("foreground", session)


@scenario("killed", "told", "compacted")
def lost_sub_agent(client: Client) -> Iterator[Moment]:
    session, service = new_session(), client.service
    task: Json = {"description": "Count files", "prompt": "Count the files here.", "subagent_type": "general-purpose"}
    service.helpers["Count the files"] = says("There are three files.")
    with client.open(session) as conversation, service.held("helper"):
        service.replies += [calls(("Agent", task), text="Somebody else may count."), says("It is being counted.")]
        conversation.turn("How many files are there?")
        service.wait_for("helper", 1)
        conversation.kill()
    yield Moment("killed", session)
    client.turn(session, "Go on.")
    yield Moment("told", session)
    client.turn(session, "And on.")
    client.compact(session)
    yield Moment("compacted", session)


@scenario("memory-and-file", "shell-command", "queued", "compacted")
def typed_things(client: Client) -> Iterator[Moment]:
    """What the terminal program adds to a session beside prompts."""
    session, service = new_session(), client.service
    (client.work / "CLAUDE.md").write_text("Speak of gardens alone.\n")
    (client.work / "note.txt").write_text("The gate is open.\n")
    client.turn(session, "What is in @note.txt?")
    yield Moment("memory-and-file", session)
    with client.terminal(session) as terminal:
        service.replies += [says("The shell has spoken.")]
        terminal.turn("!echo from the shell", "The shell has spoken.")
        yield Moment("shell-command", session)
        service.replies += [calls(shell("echo a")), says("It is quiet.")]
        with service.held():
            terminal.command("Listen.", "Listen.")
            terminal.command("And look.", "And look.")
        client.wait_for(session, "It is quiet.")
    yield Moment("queued", session)
    client.compact(session)
    yield Moment("compacted", session)


@scenario("fork", "origin", "fork-of-fork", "compacted-fork", "fork-of-compacted")
def forks(client: Client) -> Iterator[Moment]:
    session = new_session()
    with client.open(session) as conversation:
        client.service.replies += [calls(shell("echo a"), shell("echo b")), says("Both are done.")]
        conversation.turn("Do both.")
        conversation.turn("What now?")
    fork = client.fork(session, "Another way, please.")
    yield Moment("fork", fork)
    client.turn(session, "The same way, please.")
    yield Moment("origin", session)
    client.turn(fork, "Further on the other way.")
    yield Moment("fork-of-fork", client.fork(fork, "A third way."))
    client.compact(fork)
    yield Moment("compacted-fork", fork)
    yield Moment("fork-of-compacted", client.fork(fork, "A fourth way."))


@scenario("tools", "compacted", "later", "compacted-again", versions=OLDER)
def older(client: Client) -> Iterator[Moment]:
    session, service = new_session(), client.service
    with client.open(session) as conversation:
        conversation.turn("What is in the garden?")
        conversation.turn("And behind it?")
        service.replies += [calls(shell("echo a"), shell("echo b"), text="Both at once."), says("Both are done.")]
        conversation.turn("Do both.")
        yield Moment("tools", session)
    client.compact(session)
    yield Moment("compacted", session)
    service.replies += [calls(shell("echo c"), shell("echo d")), says("More is done.")]
    client.turn(session, "Do more.")
    yield Moment("later", session)
    client.compact(session, "Keep the letters.")
    yield Moment("compacted-again", session)
