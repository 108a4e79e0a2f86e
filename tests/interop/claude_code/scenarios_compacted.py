"""Scenarios of the client's own compactions and rewinds."""

from __future__ import annotations

from collections.abc import Iterator

from .client import Client
from .playing import Moment
from .processes import Choice
from .scenes import new_session, scenario, shell
from .service import calls, says

MUCH = 150_000  # tokens, more than the window that a client is told of
SMALL_WINDOW = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}


@scenario("first", "turn", "at-once", "tools", "with-instructions", "turn-of-open-client")
def compact(client: Client) -> Iterator[Moment]:
    session, service = new_session(), client.service
    with client.open(session) as conversation:
        conversation.turn("What is in the garden?")
        service.replies += [calls(shell("echo a"), shell("echo b")), says("Both are done.")]
        conversation.turn("Do both.")
    client.compact(session)
    yield Moment("first", session)
    client.turn(session, "And behind the garden?")
    yield Moment("turn", session)
    client.compact(session)
    client.compact(session)
    yield Moment("at-once", session)
    service.replies += [calls(shell("echo c"), shell("echo d"), text="Two more."), says("More is done.")]
    client.turn(session, "Do more.")
    yield Moment("tools", session)
    client.compact(session, "Keep the letters.")
    yield Moment("with-instructions", session)
    with client.open(session) as conversation:
        conversation.turn("Go on.")
        conversation.turn("/compact")
        conversation.turn("And on.")
        yield Moment("turn-of-open-client", session)


@scenario("before-prompt", "between-calls", "turn", "again")
def auto_compaction(client: Client) -> Iterator[Moment]:
    session, service = new_session(), client.service
    client.options |= SMALL_WINDOW
    with client.open(session) as conversation:
        conversation.turn("What is in the garden?")
        service.replies += [says("A great deal.", input_tokens=MUCH)]
        conversation.turn("What else?")
        conversation.turn("Go on.")
        yield Moment("before-prompt", session)
        service.replies += [
            calls(shell("echo a"), shell("echo b"), text="Both at once.", input_tokens=MUCH),
            calls(shell("echo c"), text="And a third."),
            says("All three are done."),
        ]
        conversation.turn("Do all three.")
        yield Moment("between-calls", session)
        conversation.turn("Thank you.")
        yield Moment("turn", session)
        service.replies += [calls(shell("echo d"), input_tokens=MUCH), says("That too.", input_tokens=MUCH)]
        conversation.turn("Do a fourth.")
        conversation.turn("Thank you again.")
        yield Moment("again", session)


def _talk(client: Client) -> str:
    """A session of five turns, the fourth with tools."""
    session, service = new_session(), client.service
    with client.open(session) as conversation:
        for place in ("garden", "house", "cellar"):
            conversation.turn(f"What is in the {place}?")
        service.replies += [calls(shell("echo a"), shell("echo b"), text="Both at once."), says("Both are done.")]
        conversation.turn("Do both.")
        conversation.turn("Thank you.")
    return session


def _summarised(client: Client, choice: Choice) -> Iterator[Moment]:
    session = _talk(client)
    with client.terminal(session) as terminal:
        terminal.rewind(3, choice)
    yield Moment("summarised", session)
    client.turn(session, "What now?")
    with client.terminal(session) as terminal:
        terminal.rewind(1, choice)
        yield Moment("again-open", session)
        client.service.replies.append(says("Then this one."))
        terminal.turn("And what then?", "Then this one.")
        yield Moment("turn-of-terminal", session)
    client.compact(session)
    client.turn(session, "Go on.")
    yield Moment("end", session)


@scenario("summarised", "again-open", "turn-of-terminal", "end")
def summarise_up_to(client: Client) -> Iterator[Moment]:
    yield from _summarised(client, "summarise up to")


@scenario("summarised", "again-open", "turn-of-terminal", "end")
def summarise_from(client: Client) -> Iterator[Moment]:
    yield from _summarised(client, "summarise from")


@scenario("nothing-said", "said", "again", "to-the-first", "compacted", "to-the-kept")
def rewind(client: Client) -> Iterator[Moment]:
    session, service = _talk(client), client.service
    with client.terminal(session) as terminal:
        terminal.rewind(3, "restore")
        yield Moment("nothing-said", session)
        service.replies.append(says("Under the roof."))
        terminal.turn("What is under the roof?", "Under the roof.")
    yield Moment("said", session)
    with client.terminal(session) as terminal:
        terminal.rewind(2, "restore")
        service.replies.append(says("On the roof."))
        terminal.turn("What is on the roof?", "On the roof.")
        yield Moment("again", session)
        terminal.rewind(3, "restore")
        service.replies.append(says("A new beginning."))
        terminal.turn("All from the beginning.", "A new beginning.")
    yield Moment("to-the-first", session)
    client.compact(session)
    client.turn(session, "What was that?")
    yield Moment("compacted", session)
    with client.terminal(session) as terminal:
        terminal.rewind(1, "restore")
        service.replies.append(says("Something else."))
        terminal.turn("Or rather, what is this?", "Something else.")
    yield Moment("to-the-kept", session)


@scenario("said", "between-calls", "behind-compaction")
def rewind_without_terminal(client: Client) -> Iterator[Moment]:
    session = _talk(client)
    client.rewind(session, client.answers(session)[1], "Another question.")
    yield Moment("said", session)
    between = _talk(client)
    client.rewind(between, client.answers(between)[4], "Instead of all that.")
    yield Moment("between-calls", between)
    client.compact(session)
    for prompt in ("Go on.", "And on."):
        client.turn(session, prompt)
    client.rewind(session, client.answers(session)[-2], "Not on.")
    yield Moment("behind-compaction", session)
