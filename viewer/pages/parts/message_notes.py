"""Notes on a message: that nobody typed it, that it may be a summary, that it was cut off."""

from __future__ import annotations

import re
from dataclasses import replace

from compaction import messages as engine
from compaction.handoff import restated
from viewer.rendering.texts import CUT_OFF, line, was_cut_off
from viewer.stores.envelopes import RAN
from viewer.stores.message import StoredMessage, is_put_back, message_of

FIRST_WORDS = 160  # characters of the first words in the line of what is folded
SUSPECTED = (
    "Perhaps a summary that another program wrote in place of earlier messages: it opens the context, and begins as "
    "such summaries do. Its form is not known here, so it is treated as a message."
)


def notes_of(row: StoredMessage, *, suspected: bool = False) -> tuple[str, ...]:
    """What is to be said about a row's own words: that nobody typed them, that they may be a summary, and the like."""
    notes = []
    message = _alone(row)
    if row.role == "user" and restated(engine.text(row.content)) is not None:
        notes.append("A request from above, repeated by the agent after its summary.")
    elif row.role == "user" and (kind := str(message.get("display_kind") or "")) == RAN:
        notes.append("A command that somebody ran in the agent's client.")
    elif suspected:
        notes.append(SUSPECTED)
    elif is_put_back(row):
        notes.append("Put back here from earlier in this conversation: quotations, not typed by a person.")
    elif row.role == "user" and not engine.is_typed(message):
        notes.append(f"Written by the agent, not typed by a person{f' ({line(kind, 40)})' if kind else ''}.")
    if row.extra.get("queued"):
        notes.append("Typed while a turn ran, and kept in the client's queue alone: it is not sent any more.")
    if row.extra.get("observed"):
        notes.append("Seen in a group chat, not addressed to the agent.")
    if was_cut_off(row.finish_reason):
        notes.append(CUT_OFF)
    return tuple(notes)


_TAG = re.compile(r"</?[\w-]{1,60}>")


def not_typed(row: StoredMessage) -> tuple[str, str]:
    """What a message is that an agent or its client wrote in a person's place, and its first words without tags and
    ids; both are empty for others.
    """
    message = _alone(row)
    if row.role != "user" or engine.is_typed(message) or restated(engine.text(row.content)) is not None:
        return "", ""
    if is_put_back(row):
        return "Put back from earlier", line(row.content.split("\n\n", 2)[-1][: 10 * FIRST_WORDS], FIRST_WORDS)
    pieces = [line(each, FIRST_WORDS) for each in _TAG.split(engine.said(row.content)[: 10 * FIRST_WORDS])]
    if message.get("display_kind") == RAN:
        return "Command of the client", min(filter(None, pieces), key=lambda each: not each.startswith("/"), default="")
    return "Not typed by a person", next((each for each in pieces if " " in each), next(filter(None, pieces), ""))


def _alone(row: StoredMessage) -> engine.Message:
    """Only the row's own words are shown: its flag and kind may be those of a summary in the same row."""
    return message_of(replace(row, flagged=False, extra={} if row.flagged else row.extra))
