"""The part of a row of `messages` that History is made from: a few facts and the start of its text, not its content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from viewer.stores.message import State


@dataclass(frozen=True, slots=True)
class LightRow:
    """What History needs from one row of `messages`; a `packing.IndexRow`.

    `state` is "live" for (1,0), "under" for (0,1) and "out" for (0,0). `text` is the start of the live text, white
    space folded, `end` its last characters; `calls` the ids of its tool calls; `size` the bytes of its live content and
    calls. `handoff` says whether the row contains a compaction summary, alone ("standalone") or with live text
    ("merged"); `handoff_key` then identifies the summary's text. `scaffold` marks a user row that the agent wrote
    itself, `of_compaction` one that only a compaction writes, and `restated` one that repeats a request after a
    summary: `text` is then the request's. `uid` is the agent's name for the message, which copies keep (schema 31), ""
    for none; `named` says that the agent gave it, `absorbed` has the names of messages that were merged into this row
    (`hermes.uids`).
    """

    id: int
    role: str
    state: State
    time: float
    tool_call_id: str = ""
    calls: str = ""
    text: str = ""
    end: str = ""
    size: int = 0
    handoff: Literal["", "standalone", "merged"] = ""
    handoff_key: str = ""
    scaffold: bool = False
    of_compaction: bool = False
    restated: bool = False
    uid: str = ""
    named: bool = False
    absorbed: tuple[str, ...] = ()

    @property
    def is_prompt(self) -> bool:
        """Whether it is a person's request."""
        return self.role == "user" and not self.scaffold and bool(self.text)

    @property
    def is_plain(self) -> bool:
        """Whether it is just one new message when it is appended."""
        return self.state == "live" and not (self.handoff or self.restated or self.absorbed or self.of_compaction)
