"""Scenarios of what goes wrong: clients that are open, killed or two at a time, lines that are torn."""

from __future__ import annotations

import json
from collections.abc import Iterator

from .client import Client
from .playing import Moment
from .scenes import new_session, scenario, shell
from .service import calls, refuses, says

LOOK = "[ -e go ] && break"
UNTIL_TOLD = shell(f"for at in $(seq 600); do {LOOK}; python3 -c 'import time; time.sleep(0.05)'; done; echo gone")


@scenario("asked", "tool-runs", "two-prompts")
def open_client(client: Client) -> Iterator[Moment]:
    session, service = new_session(), client.service
    with client.open(session) as conversation:
        conversation.turn("What is in the garden?")
        with service.held():
            conversation.send("And in the house?")
            service.wait_for("turn", 2)
            client.wait_for(session, "And in the house?")
            yield Moment("asked", session)
        conversation.receive()
        service.replies += [calls(shell("echo quick"), UNTIL_TOLD, text="This takes time."), says("It is done.")]
        conversation.send("Do what takes time.")
        client.wait_for(session, LOOK)
        yield Moment("tool-runs", session)
        (client.work / "go").touch()
        conversation.receive()
        with service.held():
            conversation.send("Now this.")
            service.wait_for("turn", 5)
            conversation.send("And that, too.")
        conversation.receive()
        conversation.receive()
        yield Moment("two-prompts", session)


@scenario("while-asked", "turn", "while-a-tool-runs", "end")
def interrupted(client: Client) -> Iterator[Moment]:
    session, service = new_session(), client.service
    with client.open(session) as conversation:
        conversation.turn("What is in the garden?")
        with service.held():
            conversation.send("Stop when I say so.")
            service.wait_for("turn", 2)
            conversation.interrupt()
            conversation.receive()
            client.wait_for(session, "[Request interrupted by user]")
            yield Moment("while-asked", session)
        conversation.turn("Go on.")
        yield Moment("turn", session)
        service.replies += [calls(shell("echo quick"), UNTIL_TOLD, text="This takes time.")]
        conversation.send("Do what takes time.")
        client.wait_for(session, LOOK)
        conversation.interrupt()
        conversation.receive()
        client.wait_for(session, "[Request interrupted by user for tool use]")
        yield Moment("while-a-tool-runs", session)
        conversation.turn("And on.")
        yield Moment("end", session)


@scenario("while-asked", "while-a-tool-runs", "resumed-again")
def killed_client(client: Client) -> Iterator[Moment]:
    session, service = new_session(), client.service
    with client.open(session) as conversation:
        conversation.turn("What is in the garden?")
        with service.held():
            conversation.send("And in the house?")
            service.wait_for("turn", 2)
            client.wait_for(session, "And in the house?")
            conversation.kill()
    yield Moment("while-asked", session)
    client.turn(session, "Once more: and in the house?")
    with client.open(session) as conversation:
        service.replies += [calls(shell("echo quick"), UNTIL_TOLD, text="This takes time.")]
        conversation.send("Do what takes time.")
        client.wait_for(session, LOOK)
        conversation.kill()
    yield Moment("while-a-tool-runs", session)
    client.turn(session, "Leave that.")
    yield Moment("resumed-again", session)


@scenario("both-open", "both-ended", "turn")
def two_clients(client: Client) -> Iterator[Moment]:
    session = new_session()
    client.turn(session, "What is in the garden?")
    with client.open(session) as second:
        with client.open(session) as first:
            first.turn("The first client asks.")
            second.turn("The second client asks.")
            first.turn("The first client asks again.")
            yield Moment("both-open", session)
        second.turn("The second client asks again.")
    yield Moment("both-ended", session)
    client.turn(session, "Which one was it?")
    yield Moment("turn", session)


@scenario("refused", "turn")
def api_errors(client: Client) -> Iterator[Moment]:
    session = new_session()
    with client.open(session) as conversation:
        conversation.turn("What is in the garden?")
        client.service.replies.append(refuses(400, "invalid_request_error", "The request is not understood."))
        conversation.turn("And in the house?")
        yield Moment("refused", session)
        conversation.turn("Once more: and in the house?")
        yield Moment("turn", session)


@scenario("answer", "turn", "prompt", "garbage", "no-newline")
def torn_lines(client: Client) -> Iterator[Moment]:
    session = new_session()
    with client.open(session) as conversation:
        conversation.turn("What is in the garden?")
        conversation.turn("And in the house?")
    path = client.transcript(session)
    lines = path.read_bytes().splitlines(keepends=True)
    answer = _last(lines, "assistant")
    path.write_bytes(b"".join(lines[:answer]) + lines[answer][:300])
    yield Moment("answer", session)
    client.turn(session, "Once more: and in the house?")
    yield Moment("turn", session)
    prompt = _last(lines, "user")
    path.write_bytes(b"".join(lines[:prompt]) + lines[prompt][:100])
    yield Moment("prompt", session)
    garbage = [b"\n", b"null\n", b"[1, 2]\n", b"{}\n", b'{"type": "user"\n', b"\xff\xfe\x00\n"]
    path.write_bytes(b"".join([*lines[:prompt], *garbage, *lines[prompt:]]))
    yield Moment("garbage", session)
    path.write_bytes(b"".join(lines).rstrip(b"\n"))
    yield Moment("no-newline", session)


def _last(lines: list[bytes], kind: str) -> int:
    return max(at for at, line in enumerate(lines) if json.loads(line)["type"] == kind)
