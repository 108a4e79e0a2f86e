"""Who talks in a story: messages with a token each, or alike, long and short, with calls and their results."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.agents.hermes.conversations import PIXEL
from tests.agents.hermes.told import Said

FILLING = "The quick brown fox jumps over the lazy dog. "


class Author:
    """Makes up what is said. A few traits hold for a whole story."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.few_ids = self.random.random() < 0.25  # ids of calls come again
        self.alike = self.random.random() < 0.2  # some words are said again and again
        self.silent = self.random.random() < 0.06  # a worker's session: nobody types
        self.pictures = self.random.random() < 0.15

    def user(self, *, told_apart: bool = False) -> Said:
        """A request; `told_apart` from all others."""
        if not told_apart and self.alike and self.random.random() < 0.4:
            return Said("user", self.random.choice(("continue", "yes")))
        token = self._token("u")
        if self.alike and self.random.random() < 0.3:  # alike as far as a start tells
            return Said("user", FILLING * 20 + token)
        return Said("user", f"Request {token}: {FILLING * self.random.choice((0, 1, 5))}".strip())

    def reply(self) -> Said:
        if self.alike and self.random.random() < 0.4:
            return Said("assistant", self.random.choice(("Done.", "ok")))
        return Said("assistant", f"  Finished {self._token('a')} 完了. {FILLING * self.random.choice((0, 2, 10))}\n")

    def step(self) -> list[Said]:
        """A message with calls, and their results."""
        token = self._token("a")
        calls: dict[str, str] = {}
        for part in range(self.random.choice((1, 1, 1, 2, 3))):
            self.count += 1
            big = "a" * self.random.choice((0, 30, 700))
            call_id = f"call_{self.count % 7 if self.few_ids else self.count}"
            calls.setdefault(call_id, json.dumps({"command": f"step {token} {part} {big}"}))
        thought = f"Look at {token}." if self.random.random() < 0.3 else ""
        return [Said("assistant", thought, calls=tuple(calls.items())), *map(self._result, calls)]

    def _result(self, call_id: str) -> Said:
        filling = FILLING * self.random.choice((0, 0, 1, 6, 40))
        return Said("tool", f"{self._token('t')} exit 0 {filling}".strip(), answers=call_id)

    def _token(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count:05d}z"

    def wire(self, said: Said) -> dict[str, Any]:
        """A message as the agent holds it."""
        told: dict[str, Any] = {"role": said.role, "content": said.text}
        if said.role == "user" and said.text != said.key and self.pictures and self.random.random() < 0.4:
            told["content"] = [{"type": "text", "text": said.text}, {"type": "image_url", "image_url": {"url": PIXEL}}]
        if said.calls:
            told["tool_calls"] = [
                {"id": call_id, "type": "function", "function": {"name": "terminal", "arguments": arguments}}
                for call_id, arguments in said.calls
            ]
        if said.answers:
            told |= {"tool_call_id": said.answers, "tool_name": "terminal"}
        return told
