"""What the client itself adds to a request, as far as it is known; most of it is not stored."""

from __future__ import annotations

from collections.abc import Iterator

from viewer.stores.message import Addition

from .codec import EntrySource, told_text
from .entries import NO_ID, TreeEntry
from .messages import EntryMessages
from .places import SessionPlace

COLD = (
    "The entries of this session are in a cold archive of OpenClaw's, which is not read here. They can be shown again "
    "once OpenClaw has restored them."
)
MISSING = "The session goes on from an entry, {entry}, that is not there: what was said before is not sent."
CYCLIC = "The entries of this session name one another as their parents: what is sent begins where they would repeat."
ENDLESS = "The entries of this session name one another as their parents: pi itself does not come to an end with it."
NO_OBJECT = (
    "OpenClaw does not open this session: its entry number {number} is no JSON object. What else is stored of it can "
    "be read, and is not changed."
)
UNANSWERED = "The newest calls have no result. The client answers them by itself when it goes on."
OPENCLAW_PROMPT = "OpenClaw puts a system prompt before the messages, made anew for each request; it is not stored."
OPENCLAW_WORDS = (
    "OpenClaw appends a line on its agent and session (“Runtime: …”) to the first message that is sent, and puts the "
    "date and time before each text of a user. Neither is stored."
)
OPENCLAW_END = "OpenClaw ends a request with a message of its own (its internal context), which is not stored."
PI_PROMPT = "pi puts its system prompt before the messages; this session has none noted."


def of_context(
    source: EntrySource, location: SessionPlace, messages: EntryMessages, ids: frozenset[int], *, end: bool
) -> Iterator[Addition]:
    """The additions directly before these messages, with `end` also those after the last message, in order."""
    first = next((each for each in messages.live if messages.is_sent(each)), None)
    if first in ids or (first is None and end):
        yield from _at_the_start(location, messages, first)
    waiting = []
    for entry in messages.context.now:
        if entry.tells:
            waiting.append(entry)
        if entry.offset in messages.units:
            if entry.offset in ids:
                yield from (_told_addition(source, each, entry.offset) for each in waiting)
            waiting = []
    if end:
        yield from (_told_addition(source, each, None) for each in waiting)
        yield from _at_the_end(messages)


def _told_addition(source: EntrySource, entry: TreeEntry, before: int | None) -> Addition:
    return Addition(before, "system prompt", told_text(source.value(entry)), is_sent=True)


def _at_the_start(location: SessionPlace, messages: EntryMessages, first: int | None) -> Iterator[Addition]:
    if location.is_cold:
        yield Addition(first, "cold archive", COLD, is_sent=False)
    broken = next((each for each in messages.entries if not each.id), None) if location.row_id else None
    if broken is not None:
        yield Addition(first, "damaged entry", NO_OBJECT.format(number=broken.offset), is_sent=False)
    if messages.is_cut:
        yield Addition(
            first, "missing entry", MISSING.format(entry=messages.tree.missing[:80].lstrip(NO_ID)), is_sent=False
        )
    if messages.tree.is_cyclic:
        reason = CYCLIC if messages.tree.is_strict else ENDLESS
        yield Addition(first, "entries in a circle", reason, is_sent=False)
    if messages.tree.is_strict:
        yield Addition(first, "system prompt", OPENCLAW_PROMPT, is_sent=False)
        yield Addition(first, "run time context", OPENCLAW_WORDS, is_sent=False)
    elif not any(entry.tells for entry in messages.context.now):
        yield Addition(first, "system prompt", PI_PROMPT, is_sent=False)


def _at_the_end(messages: EntryMessages) -> Iterator[Addition]:
    answered = 0
    for each in reversed(messages.live):
        unit = messages.units[each]
        if unit.is_broken_off:
            continue
        if unit.role == "assistant":
            if answered < len(unit.calls):
                yield Addition(None, "results of calls that were not finished", UNANSWERED, is_sent=False)
            break
        answered += unit.role == "tool"
        if unit.role == "user":
            break
    if messages.tree.is_strict:
        yield Addition(None, "internal context", OPENCLAW_END, is_sent=False)
