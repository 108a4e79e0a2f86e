"""A session of which most was summarised away, for tests of what finds it again."""

from __future__ import annotations

from tests.factories.stores import PRESENT, EmptyStore

AWAY = {"active": 0, "compacted": 1}
KEY = "ghp_" + "a1B2c3D4" * 5
QUESTION = "Which port did we settle on for the staging database?"
TALK = (  # by the side
    "Please rename the buttons on the welcome page.", "Renamed: they say Begin and Look around now.",
    "The pictures load slowly on a phone.", "I made them smaller, a third of what they were.",
    "Ask Maria for the logo of the spring campaign.", "She will send it on Monday.",
)  # fmt: skip


def fill(store: EmptyStore, session_id: str = "s", title: str = "The move to the new host") -> dict[str, int]:
    """Write the session; returns the ids of what tests ask for."""
    store.session(session_id, title=title, cwd=f"/work/{session_id}")
    ids: dict[str, int] = {}
    at = PRESENT

    def say(name: str, role: str, content: str, **columns: object) -> int:
        nonlocal at
        at += 60
        row = store.say(session_id, role, content, timestamp=at, **columns)
        ids[name] = row
        return row

    for number, text in enumerate(TALK * 3):
        say(f"talk {number}", ("user", "assistant")[number % 2], text, **AWAY)
    say(
        "settled",
        "assistant",
        "We settle on port 5433 for the database of staging; 5432 is production's.",
        **AWAY,
    )
    say("key", "user", f"Deploy with the token {KEY}, please.", **AWAY)
    say(
        "call", "assistant", "", tool_calls=[store.call("terminal", "c1", command="cat /srv/relay/config.toml")], **AWAY
    )
    config = "\n".join(f"[listener.{number}]\nqueue_depth = {number * 7}" for number in range(400))
    say("config", "tool", config.replace("queue_depth = 1400", "burstWindow = 90"), tool_call_id="c1", **AWAY)
    say(
        "asked", "assistant", "",
        tool_calls=[store.call("mcp__palimpsest__search_history", "r1", query=QUESTION)], **AWAY,
    )  # fmt: skip
    say("answered", "tool", f"{QUESTION} port staging database settled", tool_call_id="r1", **AWAY)
    say("handoff", "user", "[CONTEXT SUMMARY]: The host was moved.", _compressed_summary=1)
    say("kept", "assistant", "The staging database runs on the new host; the port is in the notes.")
    say("question", "user", QUESTION)
    return ids
