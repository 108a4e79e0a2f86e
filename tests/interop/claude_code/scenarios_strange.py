"""Scenarios of what goes wrong: clients that are open, killed or two at a time, lines that are torn or changed."""

from __future__ import annotations

import json
from collections.abc import Iterator

from .client import Client, records
from .playing import Moment
from .scenes import new_session, scenario, shell
from .service import Json, calls, refuses, says

UNTIL_TOLD = shell("until [ -e go ]; do python3 -c 'import time; time.sleep(0.05)'; done; echo gone")


@scenario("asked", "tool-runs", "two-prompts", "interrupted", "after-interruption")
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
        client.wait_for(session, "until [ -e go ]")
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
        with service.held():
            conversation.send("Stop when I say so.")
            service.wait_for("turn", len(service.of("turn")) + 1)
            conversation.interrupt()
            conversation.receive()
            client.wait_for(session, "[Request interrupted by user]")
            yield Moment("interrupted", session)
        conversation.turn("Go on.")
        yield Moment("after-interruption", session)


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
        client.wait_for(session, "until [ -e go ]")
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


@scenario("no-kept", "segment-alone", "unknown-kept", "unknown-anchor", "large", "large-without-kept", "restated")
def changed_boundaries(client: Client) -> Iterator[Moment]:
    """Not what a client writes, but what it understands: the newest boundary with parts of it taken away."""
    session = new_session()
    with client.open(session) as conversation:
        conversation.turn("What is in the garden?")
        client.service.replies += [calls(shell("echo a"), shell("echo b")), says("Both are done.")]
        conversation.turn("Do both.")
    with client.terminal(session) as terminal:
        terminal.rewind(1, "summarise up to")
    client.turn(session, "Go on.")
    path = client.transcript(session)
    whole = records(path)
    at = max(at for at, record in enumerate(whole) if record.get("subtype") == "compact_boundary")
    kept: Json = whole[at]["compactMetadata"]["preservedMessages"]
    unknown = new_session()
    plain = whole[at] | {"compactMetadata": {"trigger": "manual", "preTokens": 100}}
    without = {name: value for name, value in whole[at]["compactMetadata"].items() if name != "preservedMessages"}
    some = without | {"preservedMessages": kept | {"uuids": [*kept["uuids"], unknown]}}
    nowhere = without | {"preservedMessages": kept | {"anchorUuid": unknown}}
    restated = {"type": "system", "subtype": "informational", "content": "Taken back"}
    filling = [{"type": "tag", "tag": "x" * 1_000_000, "sessionId": session}] * 6
    changed: dict[str, list[Json]] = {
        "no-kept": [*whole[:at], plain, *whole[at + 1 :]],
        "segment-alone": [*whole[:at], whole[at] | {"compactMetadata": without}, *whole[at + 1 :]],
        "unknown-kept": [*whole[:at], whole[at] | {"compactMetadata": some}, *whole[at + 1 :]],
        "unknown-anchor": [*whole[:at], whole[at] | {"compactMetadata": nowhere}, *whole[at + 1 :]],
        "large": [*filling, *whole],
        "large-without-kept": [*filling, *whole[:at], plain, *whole[at + 1 :]],
        "restated": [*whole, whole[at] | restated | {"parentUuid": whole[at]["logicalParentUuid"]}],
    }
    for moment, lines in changed.items():
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
        yield Moment(moment, session)


NOWHERE = "00000000-0000-0000-0000-000000000000"


@scenario("older-leaf", "nowhere", "not-explicit", "unknown", "no-leaf", "before-boundary", "behind-boundary")
def steered(client: Client) -> Iterator[Moment]:
    """Files with a line of ours that names the end of the thread, as the client writes after each turn."""
    session = new_session()
    with client.open(session) as conversation:
        for place in ("garden", "house", "cellar"):
            conversation.turn(f"What is in the {place}?")
    second = client.answers(session)[1]
    client.rewind(session, second, "What is on the roof?")
    path = client.transcript(session)
    lines = path.read_text(encoding="utf-8")

    def ends(leaf: str | None, **more: bool) -> str:
        named = {"leafUuid": leaf} if leaf else {}
        return json.dumps({"type": "last-prompt", **named, **more, "sessionId": session}) + "\n"

    cellar = client.answers(session)[2]
    for moment, added in {
        "older-leaf": ends(cellar),
        "nowhere": ends(cellar) + ends(NOWHERE, explicit=True),
        "not-explicit": ends(cellar) + ends(NOWHERE),
        "unknown": ends(cellar) + ends(new_session()),
        "no-leaf": ends(cellar) + ends(None),
    }.items():
        path.write_text(lines + added, encoding="utf-8")
        yield Moment(moment, session)
    path.write_text(lines, encoding="utf-8")
    client.compact(session)
    compacted = path.read_text(encoding="utf-8")
    path.write_text(lines + ends(cellar) + compacted.removeprefix(lines), encoding="utf-8")
    yield Moment("before-boundary", session)
    path.write_text(compacted + ends(cellar), encoding="utf-8")
    yield Moment("behind-boundary", session)
