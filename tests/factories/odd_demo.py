"""The demo store with what no visitor should meet first: hostile text, an empty session, and rows that no transcript
can say (unknown roles, blocks and columns, broken values, lone calls).

A reader shows each of them raw or leaves a gap it can explain; none of them may break a page.
"""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from viewer.demo import ensure_demo, pictures, transcripts
from viewer.demo.prompts import PROMPTS
from viewer.demo.script import Clock, Script, ScriptedCall
from viewer.stores.hermes.codec import JSON_MARK

SESSIONS = Path(__file__).parent / "odd_sessions"
EXTRA_COLUMNS = ("ALTER TABLE messages ADD COLUMN x_confidence REAL", "ALTER TABLE sessions ADD COLUMN x_mood TEXT")


def make_odd_demo(path: Path, *, now: float | None = None) -> None:
    """Make the demo store at `path`, with two columns that no known version has and the odd sessions."""
    now = time.time() if now is None else now
    ensure_demo(path, now=now)
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in EXTRA_COLUMNS:
            connection.execute(statement)
        for script in (*_read("hostile"), *_read("empty"), _odd_rows()):
            script.write(connection, now)


def _read(name: str) -> list[Script]:
    return transcripts.read((SESSIONS / f"{name}.txt").read_text("utf-8"))


def _odd_rows() -> Script:
    """The session "Odd rows", from a source nobody knows."""
    columns = {"source": "fax", "model": "abacus-1", "x_mood": "curious"}
    script = Script("Odd rows: what no reader expects", Clock(ago=40 * 3600), PROMPTS["write"], columns)
    _bookkeeping(script)
    _blocks(script)
    _tools(script)
    _roles(script)
    return script


def _bookkeeping(script: Script) -> None:
    script.add("session_meta", json.dumps({"tools": ["terminal", "read_file"], "version": 7}))
    script.add("system", "The following conversation was put together to hold every odd row we could think of.")
    script.user("Good morning! What do you do with an empty message?", x_confidence=0.97)
    script.user("")
    script.assistant("", finish_reason="length")
    script.assistant(None)
    script.assistant(
        "I say good morning to it, too.", observed=1, token_count=9, display_metadata='{"reactions": {"🐟": 2}}'
    )
    script.user("A note that only a machine should see.", display_kind="sparkle")
    script.user("Kept for the model alone.", display_kind="hidden", display_metadata='{"model_only": true}')
    script.assistant(
        "Noted, and not repeated.", reasoning_content="A second column for thoughts exists. This is in it."
    )


def _blocks(script: Script) -> None:
    script.user(
        [
            {"type": "text", "text": "Here are a picture, a hologram, a sound, and two blocks with something missing."},
            pictures.part("garden"),
            {"type": "hologram", "frames": 24, "subject": "a teapot, turning"},
            {"type": "input_audio", "input_audio": {"format": "wav", "data": "UklGRg=="}},
            {"type": "text"},
            {"kind": "no type at all"},
            "a bare string between the blocks",
            ["a", ["nested", ["list"]]],
            None,
        ]
    )
    script.assistant(
        [
            {"type": "thinking", "thinking": "A teapot. Turning. I could ask for tea.", "signature": "c2lnbmVk"},
            {"type": "redacted_thinking", "data": "b3BhcXVl"},
            {"type": "text", "text": "The picture is a plan of a garden with a pond. I cannot see holograms, sadly."},
        ],
        reasoning_details=json.dumps([{"type": "reasoning.encrypted", "data": "b3BhcXVl"}]),
    )
    script.user([{"type": "image_url", "image_url": {"url": "data:image/png;base64,this is not base64!"}}])
    script.user([{"type": "image_url", "image_url": {"url": "https://pictures.invalid/from-outside.png"}}])
    script.assistant({"note": "a whole message that is an object", "numbers": [1, 2.5, None, True]})
    script.user(JSON_MARK + '{"broken": "this JSON never en')
    script.assistant("One line without a space follows: " + "palimpsest" * 900)
    script.user("Control characters: \x01\x02\x07\x1b[31m, zero\u200bwidth, a lone combining mark \u0301, and \ufffd.")


def _tools(script: Script) -> None:
    script.assistant(
        "A result that is a picture, and one that is an object.",
        [
            ScriptedCall(
                "screenshot",
                {"window": "garden plan"},
                [{"type": "text", "text": "240 x 150"}, pictures.part("garden")],
            ),
            ScriptedCall("measure", {"what": "pond", "unit": "m²"}, {"area": 11.4, "depth": {"min": 0.3, "max": 0.9}}),
        ],
        codex_reasoning_items='[{"type": "reasoning", "id": "rs_1"}]',
    )
    script.add("tool", "a result whose call nobody made", tool_call_id="call_from_nowhere", tool_name="echo")
    script.add("tool", "a result without any id")
    script.user("And calls that are hardly calls?")
    script.assistant("The list of calls below is not JSON.", tool_calls="[{not json")
    script.assistant("These arguments are not JSON.", tool_calls=_call("call_odd_1", "terminal", "ls -l | wc"))
    script.add("tool", "42", tool_call_id="call_odd_1", tool_name="terminal", effect_disposition="unknown")
    script.assistant(None, tool_calls='[{"id": "call_odd_2"}, "just text", 7]')
    script.add("tool", "", tool_call_id="call_odd_2")


def _call(call_id: str, name: str, arguments: str) -> str:
    return json.dumps([{"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}])


def _roles(script: Script) -> None:
    script.add("oracle", "I have a role that no program knows.")
    script.add("developer", "Prefer short answers.")
    script.add("function", '{"legacy": true}', tool_name="old_style_function")
    script.user("The clock went back an hour before this was written.")
    script.rows[-1]["timestamp"] -= 3600
    script.assistant("I noticed. I kept the order and ignored the clock.")
