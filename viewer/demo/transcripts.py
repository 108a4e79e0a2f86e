"""Conversations kept as plain text in `sessions/*.txt`: the format, and how it becomes scripts.

A line that starts with `%%` begins a step; the lines after it, up to the next step, are its body. `␛` stands for ESC.

    %% session          body: `name: value` lines. title, last (time since its last message), prompt,
                        parent (a title earlier in the file); any other name is a column of `sessions`
    %% user             a message; `user picture=kiln` adds a picture, and any other `column=value` sets a column
                        (`user display_kind=steer`)
    %% thinking         the reasoning of the assistant message that follows
    %% assistant        a message; the calls that follow belong to it
    %% call NAME {...}  a tool call with its arguments; body: its result. Calls in a row are parallel calls
    %% later 2h         time passes
    %% compact head=3 tail=4 form=em-dash ...   a compaction; body: the summary; see `Script.compact`
    %% undo-compaction | take-back 2 | split head=3 tail=4
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from viewer.demo import pictures
from viewer.demo.prompts import PROMPTS
from viewer.demo.script import Clock, Script, ScriptedCall

FOLDER = Path(__file__).parent / "sessions"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def read_all() -> list[Script]:
    """The scripts of every file in `sessions/`, in the order of the file names."""
    return [script for path in sorted(FOLDER.glob("*.txt")) for script in read(path.read_text("utf-8"))]


def read(text: str) -> list[Script]:
    """The sessions of one text; a split conversation gives one script for each part. Raises ValueError for an unknown
    step.
    """
    reading = _Transcript()
    for step, rest, body in _steps(text):
        if step in ("thinking", "assistant", "call"):
            reading.reply(step, rest, body)
        else:
            reading.say()
            reading.play(step, rest, body)
    reading.say()
    return reading.scripts


def _steps(text: str) -> Iterator[tuple[str, str, str]]:
    parts = re.split(r"^%% (\S+) ?(.*)$", text.replace("␛", "\x1b"), flags=re.MULTILINE)
    for step, rest, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        yield step, rest.strip(), body.strip("\n")


class _Transcript:
    def __init__(self) -> None:
        self.scripts: list[Script] = []
        self._said: dict[str, Any] = {}
        self._calls: list[ScriptedCall] = []

    def reply(self, step: str, rest: str, body: str) -> None:
        """A piece of an assistant message, which is reasoning, then text, then calls; any of them may be missing."""
        if step == "call":
            name, arguments = rest.split(" ", 1)
            self._calls.append(ScriptedCall(name, json.loads(arguments), body))
            return
        if self._calls or "content" in self._said or step == "thinking":
            self.say()
        self._said["content" if step == "assistant" else "reasoning"] = body
        self._said |= _options(rest)

    def say(self) -> None:
        """Write down the assistant message that is complete now, if there is one."""
        if self._said or self._calls:
            self.scripts[-1].assistant(self._said.pop("content", None), self._calls, **self._said)
        self._said, self._calls = {}, []

    def play(self, step: str, rest: str, body: str) -> None:
        """Any other step."""
        if step == "session":
            self.scripts.append(_session(body, self.scripts))
            return
        script = self.scripts[-1]
        if step == "user":
            _user(script, rest, body)
        elif step == "later":
            script.clock.seconds += seconds(rest)
        elif step == "compact":
            script.compact(body, **_numbers(_options(rest)))
        elif step == "split":
            self.scripts.append(script.split(body, **_numbers(_options(rest))))
        elif step == "undo-compaction":
            script.undo_compaction()
        elif step == "take-back":
            script.take_back(int(rest))
        else:
            raise ValueError(f"no such step in a transcript: {step}")


def _session(body: str, before: list[Script]) -> Script:
    columns: dict[str, Any] = dict(line.split(": ", 1) for line in body.splitlines())
    clock = Clock(ago=seconds(columns.pop("last")))
    title, parent = columns.pop("title", None), columns.pop("parent", None)
    parent_script = next((script for script in before if script.title == parent), None) if parent else None
    return Script(title, clock, PROMPTS[columns.pop("prompt")], columns, parent_script)


def _user(script: Script, rest: str, body: str) -> None:
    columns = _options(rest)
    picture = columns.pop("picture", None)
    content = [{"type": "text", "text": body}, pictures.part(picture)] if picture else body
    script.user(content, **columns)


def _options(rest: str) -> dict[str, Any]:
    return dict(option.split("=", 1) for option in rest.split())


def _numbers(options: dict[str, str]) -> dict[str, Any]:
    return {name: int(value) if value.isdigit() else value for name, value in options.items()}


def seconds(duration: str) -> float:
    """The seconds of a text such as `40s`, `5m`, `3h` or `12d`."""
    return float(duration[:-1]) * _UNITS[duration[-1]]
