"""Answers of the tools in words, for a model: short, plain, each with how to go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from viewer.recall.reading import ReadMessages
from viewer.recall.search import RecalledHit, RecalledHits
from viewer.recall.sessions import ListedSession
from viewer.recall.state import LostLine, WhatIsSeen, WhatWasLost
from viewer.runs.planning import DryRun, strategy_of
from viewer.stores.clean_text import shortened

HANDOFF = 4_000  # characters of a summary that are shown


def searched(found: RecalledHits) -> str:
    """The hits with their texts, the best first."""
    if found.only == "summarised" and not found.searched:
        return "Nothing was summarised away in this session: all of it is in your context."
    what = "that are no longer in context" if found.only == "summarised" else "of this session"
    if not found.hits:
        elsewhere = ' Or search everything: only="all".' if found.only == "summarised" else ""
        return f"None of the {found.searched:,} messages {what} has these words. Try other words.{elsewhere}"
    parts = [f"From the {found.searched:,} messages {what}, the best matches first:"]
    parts += [_message(hit, found.messages) for hit in found.hits]
    first = found.hits[0]
    offset = f", offset={first.start}" if first.start else ""
    going = [f"read_history(around={first.id}{offset}) shows what is around the first one."]
    if found.next:
        going.append(f'More matches: the same search with cursor="{found.next}".')
    return "\n\n".join([*parts, " ".join(going)])


def read(messages: ReadMessages) -> str:
    """Messages one after the other."""
    parts = [_message(each, messages.total) for each in messages.messages]
    end = f'It goes on: read_history(cursor="{messages.next}").' if messages.next else "That is the end."
    return "\n\n".join([*parts, end])


def _message(hit: RecalledHit, total: int) -> str:
    who = f"output of {hit.tool or 'a tool'}" if hit.author == "tool" else hit.author
    facts = [f"message {hit.id} ({hit.place:,} of {total:,})", who, *([moment(hit.time)] if hit.time else [])]
    if hit.author != "tool" and hit.calls:
        facts.append(f"calls {', '.join(hit.calls[:5])}")
    if (hit.start, hit.end) != (0, hit.length):
        facts.append(f"characters {hit.start:,} to {hit.end:,} of {hit.length:,}")
    if hit.in_context:
        facts.append("in context")
    return f"[{' · '.join(facts)}]\n{hit.text or '(no text)'}"


def moment(time: float) -> str:
    """A time in UTC."""
    try:
        return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return ""


def lost(report: WhatWasLost) -> str:
    """What the newest compaction lost: first what the next turn needs."""
    if not report.summarised:
        return "No compaction summarised anything in this session: all of it is in your context."
    when = f" of {moment(report.time)}" if report.time else ""
    parts = [f"The newest compaction{when}, {report.by}, summarised {report.summarised:,} messages."]
    if report.request:
        state = "is not answered yet" if report.request_open else "was answered"
        kept = "" if report.request_kept else "; its words are no longer in your context"
        parts.append(f'The last request {state}{kept}{_at(report.request_message)}: "{shortened(report.request, 600)}"')
    if not report.lost:
        return "\n\n".join([*parts, "Nothing of what we recognise is lost: the summary or kept messages have it."])
    if report.needed:
        parts.append("Lost, and the next turn needs it:\n" + "\n".join(map(_line, report.needed)))
    else:
        parts.append("Nothing that the next turn needs is lost.")
    if report.others:
        parts.append("Other things that no message in context has any more:\n" + "\n".join(map(_line, report.others)))
    shown = len(report.needed) + len(report.others)
    rest = f"{report.lost - shown:,} more are lost. " if report.lost > shown else ""
    return "\n\n".join([*parts, f"{rest}search_history finds any of it; read_history(ids=[...]) shows messages."])


def _line(one: LostLine) -> str:
    above = f" (under: {one.above})" if one.above else ""
    by = {"summary": "an earlier summary", "call": "a call", "tool": "a tool"}.get(one.by, one.by)
    return f"- {' '.join(one.text.split())}{above} [{by}{_at(one.message)}]"


def _at(message: int | None) -> str:
    return "" if message is None else f", message {message}"


def seen(context: WhatIsSeen) -> str:
    """What a model is sent now."""
    about = "about " if context.about else ""
    parts = [
        f"In context: {context.in_context:,} of {context.messages:,} messages, {about}{context.tokens:,} tokens of a "
        f"window of {context.window:,}."
    ]
    if not context.handoff:
        return "\n\n".join([*parts, "There is no summary: nothing was compacted."])
    when = f" of {moment(context.handoff_time)}" if context.handoff_time else ""
    from_there = "" if context.first_kept is None else f"; kept from message {context.first_kept} on"
    parts.append(
        f"{context.compactions:,} compactions. The newest{when} summarised {context.summarised:,} messages and kept "
        f"{context.kept:,} word for word{from_there}. Its summary:"
    )
    parts.append(shortened(context.handoff, HANDOFF))
    return "\n\n".join([*parts, "what_was_lost says what is missing; search_history finds it."])


def listed(sessions: Sequence[ListedSession]) -> str:
    """Sessions, the newest first."""
    return "\n".join(_lines(sessions)) if sessions else "There is no such session."


def _lines(sessions: Sequence[ListedSession]) -> Iterator[str]:
    for each in sessions:
        facts = [each.store, *([moment(each.last_active)] if each.last_active else [])]
        facts.append(f"{each.in_context:,} messages in context")
        if each.compactions:
            facts.append(f"{each.compactions:,} compactions")
        if each.project:
            facts.append(each.project)
        yield f'- {each.id} "{each.name}" ({"; ".join(facts)})'
    yield 'Give one as session="...": its id, or the beginning of it.'


def planned(draft: DryRun) -> str:
    """What a compaction would do."""
    plan = draft.plan
    did = "shorten old tool output in" if plan.keeps_middle else "summarise"
    lines = [
        f"{strategy_of(draft.strategy).label}: would {did} {len(draft.middle_ids):,} messages "
        f"({plan.middle_tokens:,} tokens), and keep {len(draft.head_ids) + len(draft.tail_ids):,} word for word.",
        f"Context: {draft.tokens_before:,} -> about {draft.tokens_after_estimate:,} tokens.",
        *(sentence for sentence in (draft.fallback, *plan.reasons) if sentence),
        'Nothing is written yet: compact_session(action="apply") does it.',
    ]
    return "\n".join(lines)
