"""The part of a row of `messages` that History is made from: a few facts and the start of its text, not its content."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from viewer.stores.message import State

TEXT_CHARACTERS = 300  # of `LightRow.text`; more of a request, since a row may contain several


ASKED_CHARACTERS = 2_000


END_CHARACTERS = 64  # of `LightRow.end`


STEP = 1.5e-6  # seconds between two rows that the agent inserts in one write: 1e-6, plus rounding of floats


@dataclass(frozen=True, slots=True)
class LightRow:
    """What History needs from one row of `messages`; a `packing.IndexRow`.

    `state` is "live" for (1,0), "under" for (0,1) and "out" for (0,0). `text` is the start of the live text, white
    space folded, `end` its last characters; `calls` the ids of its tool calls; `size` the bytes of its live content and
    calls. `handoff` says whether the row contains a compaction summary, alone ("standalone") or with live text
    ("merged"); `handoff_key` then identifies the summary's text. `scaffold` marks a user row that the agent wrote
    itself, `of_compaction` one that only a compaction writes, and `restated` one that repeats a request after a
    summary: `text` is then the request's. `uid` is the name of the message (`message_uid`, schema 31), which copies
    keep, "" for none; `absorbed` has the names of messages that were merged into this row. `named` says that the agent
    gave the name itself, a version 4 UUID: then another name is another message. One that the database made, any 128
    random bits, may be a second name of a message; one in 64 of those looks like the agent's.
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


def text_limit(row_role: str) -> int:
    """The characters of `LightRow.text` for a role."""
    return ASKED_CHARACTERS if row_role == "user" else TEXT_CHARACTERS


def words(row: LightRow) -> tuple[str, ...]:
    """The features that identify a row's content: its start, its end and its ids, without its images."""
    if row.handoff == "standalone":
        return (row.role, row.handoff_key)
    row = without_image(row)
    return (row.role, row.tool_call_id, row.text, ending(row), row.calls)


def ending(row: LightRow) -> str:
    """The end of a typed text or an answer; not of a result, which may be cut off."""
    return "" if row.role == "tool" else row.end[-_ENDING:]


def without_image(row: LightRow) -> LightRow:
    """A row without the texts that replace images or say that they were left out."""
    if row.role != "user" or not row.end.endswith("]"):
        return row
    return replace(row, text=_IMAGE.sub("", row.text), end=_IMAGE.sub("", row.end))


_ENDING = 16  # characters of the end that distinguish long texts with the same start, whatever replaces an image


_IMAGE = re.compile(r"( ?\[(screenshot|[^][]*\bimage\b[^][]*)\])+$")
