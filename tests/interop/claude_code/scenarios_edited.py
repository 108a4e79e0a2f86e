"""Scenarios of files with lines that no client writes so, but which it understands."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from tests.agents.base import Json

from .client import Client, records
from .playing import Moment
from .scenes import new_session, scenario, shell
from .service import calls, says

NOWHERE = "00000000-0000-0000-0000-000000000000"  # what the client names as the end of a thread that was rewound


@scenario(
    "no-kept",
    "segment-alone",
    "unknown-kept",
    "unknown-anchor",
    "large",
    "large-without-kept",
    "large-older-leaf",
    "older-leaf-without-kept",
    "restated",
)
def changed_boundaries(client: Client) -> Iterator[Moment]:
    """The newest boundary with parts of it taken away."""
    session = new_session()
    with client.open(session) as conversation:
        conversation.turn("What is in the garden?")
        client.service.replies += [calls(shell("echo a"), shell("echo b")), says("Both are done.")]
        conversation.turn("Do both.")
    with client.terminal(session) as terminal:
        terminal.rewind(1, "summarise up to")
    client.turn(session, "Go on.")
    path = client.transcript(session)
    for moment, lines in _changed(records(path)).items():
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
        yield Moment(moment, session)


def _changed(whole: Sequence[Json]) -> dict[str, list[Json]]:
    """The records with another boundary, by moment."""
    at = max(at for at, record in enumerate(whole) if record.get("subtype") == "compact_boundary")
    boundary, before, behind = whole[at], whole[:at], whole[at + 1 :]
    without = {name: value for name, value in boundary["compactMetadata"].items() if name != "preservedMessages"}
    kept, unknown = boundary["compactMetadata"]["preservedMessages"], new_session()
    more, nowhere = kept | {"uuids": [*kept["uuids"], unknown]}, kept | {"anchorUuid": unknown}
    metadata: dict[str, Json] = {
        "no-kept": {"trigger": "manual", "preTokens": 100},
        "segment-alone": without,
        "unknown-kept": without | {"preservedMessages": more},
        "unknown-anchor": without | {"preservedMessages": nowhere},
    }
    changed = {name: [*before, boundary | {"compactMetadata": told}, *behind] for name, told in metadata.items()}
    filling = [{"type": "tag", "tag": "x" * 1_000_000, "sessionId": boundary["sessionId"]}] * 6
    older = json.loads(_end(boundary["sessionId"], boundary["logicalParentUuid"]))
    note = {"subtype": "informational", "content": "Taken back", "parentUuid": boundary["logicalParentUuid"]}
    return changed | {
        "large": [*filling, *whole],
        "large-without-kept": [*filling, *changed["no-kept"]],
        "large-older-leaf": [*filling, *changed["no-kept"], older],
        "older-leaf-without-kept": [*changed["no-kept"], older],
        "restated": [*whole, boundary | note],
    }


@scenario("older-leaf", "nowhere", "not-explicit", "unknown", "no-leaf", "before-boundary", "behind-boundary")
def steered(client: Client) -> Iterator[Moment]:
    """A line more that names the end of the thread, as the client writes after each turn."""
    session = new_session()
    with client.open(session) as conversation:
        for place in ("garden", "house", "cellar"):
            conversation.turn(f"What is in the {place}?")
    _, house, cellar = client.answers(session)
    client.rewind(session, house, "What is on the roof?")
    path = client.transcript(session)
    lines, older = path.read_text(encoding="utf-8"), _end(session, cellar)
    for moment, added in {
        "older-leaf": older,
        "nowhere": older + _end(session, NOWHERE, explicit=True),
        "not-explicit": older + _end(session, NOWHERE),
        "unknown": older + _end(session, new_session()),
        "no-leaf": older + _end(session, None),
    }.items():
        path.write_text(lines + added, encoding="utf-8")
        yield Moment(moment, session)
    path.write_text(lines, encoding="utf-8")
    client.compact(session)
    compacted = path.read_text(encoding="utf-8")
    path.write_text(lines + older + compacted.removeprefix(lines), encoding="utf-8")
    yield Moment("before-boundary", session)
    path.write_text(compacted + older, encoding="utf-8")
    yield Moment("behind-boundary", session)


def _end(session: str, leaf: str | None, **more: bool) -> str:
    named = {"leafUuid": leaf} if leaf else {}
    return json.dumps({"type": "last-prompt", **named, **more, "sessionId": session}) + "\n"
