"""What the model sees: live rows after the system prompt, each handoff separate from its row's live text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from compaction import messages as engine
from compaction.tokens import Counter
from viewer.pages.http import is_fragment, page, shows_refusals, start_of
from viewer.pages.parts.audits import newest_boundary
from viewer.pages.parts.boundary import ShownSummary, summary_text
from viewer.pages.parts.compact_panel import PlanPart, in_a_bar
from viewer.pages.parts.opened import OpenSession, open_session
from viewer.pages.redaction import redacted, redacts, text_for
from viewer.rendering import blocks
from viewer.rendering.texts import line, role_label
from viewer.stores.message import Addition, Parted, StoredMessage, parted, row_tokens
from viewer.stores.registry import agent_of, get_store, open_store
from viewer.stores.transcript import NONE, TranscriptIndex
from viewer.usage import counting

from .contents import Item, prompt_items
from .header import header
from .messages import MessageContext, MessageToShow, ShownMessage, shown_messages

WINDOW = 80
PROMPTS = 100  # that are listed
SORTS = {"summary": "Summary", "prompts": "Prompts", "agent": "From the agent", "output": "Tool output"}
SHOWN = 100_000  # characters of what the agent adds


@dataclass(frozen=True, slots=True)
class ShownHandoff:
    """A compaction summary in the context, in the role of its row. `tokens` are those of the row without the message
    that it was merged with.
    """

    template: ClassVar[str] = "session/_handoff_row.html"
    id: int
    who: str
    merged: bool
    tokens: int
    summary: ShownSummary


@dataclass(frozen=True, slots=True)
class ShownAddition:
    """One thing that the agent adds by itself."""

    name: str
    block: blocks.Block


@dataclass(frozen=True, slots=True)
class ShownAdditions:
    """What the agent adds by itself in one place; `tokens` is 0 if none of the text is known."""

    template: ClassVar[str] = "session/_additions.html"
    agent: str
    names: str
    tokens: int
    additions: tuple[ShownAddition, ...]


@dataclass(frozen=True, slots=True)
class SentParts:
    """What is sent, by size: what the agent reported more than the messages, or else the system prompt if it is known;
    the messages by sort, and their sum; `tokens` in all, which `reported` says is the
    agent's own number; `about` says that not all are counted.

    `away` messages were summarised by the compaction at the address `boundary`, `unlinked` ones are not sent any more.
    """

    parts: tuple[PlanPart, ...]
    messages: int
    tokens: int
    reported: bool
    about: bool
    away: int
    unlinked: int
    boundary: str


@require_safe
@shows_refusals
def context(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    with open_store(get_store(store)) as reader:
        opened = open_session(reader, session_id, redacting=redacts(request))
        ids, urls = opened.index.live_ids, opened.urls
        start = _start(request, opened.index)
        stop = _stop(opened.index, start)
        read = reader.sent(session_id, ids[start:stop])
        added = [
            replace(each, text=text_for(request, each.text))
            for each in reader.additions(session_id, ids[start:stop], end=stop == len(ids))
        ]
        suspected = reader.suspected_handoff(session_id, ids)
        agent, count = agent_of(reader.store), counting.counter_for(opened.session.model)
        further = is_fragment(request) and start > 0
        prompt = "" if further else text_for(request, reader.system_prompt(session_id))
        whole = {} if further else _around(opened, count, prompt, range(start, stop))
    rows = [replace(read[row_id], notes=()) for row_id in ids[start:stop] if row_id in read]  # those are among `added`
    rows = list(map(redacted, rows)) if opened.redacting else rows
    message_context = MessageContext(
        urls,
        count,
        newest=ids[-1] if ids else None,
        number=opened.number_of,
        suspected=suspected,
        as_sent=True,
        cwd=opened.session.cwd,
    )
    data = whole | {
        "prompt": blocks.plain(prompt, urls.view("context/prompt")) if prompt.strip() and not start else None,
        "prompt_tokens": count(prompt),
        "items": list(_with_additions(rows, message_context, added, agent.name)),
        "next": urls.view("context", start=stop) if stop < len(ids) else "",
        "left": len(ids) - stop,
        "previous": urls.view("context", start=max(0, start - WINDOW) or "") if start else "",
        "newest": urls.view("context", start=max(0, len(ids) - WINDOW)) if stop < len(ids) else "",
        "kept_for_itself": opened.index.records,
        "sends_otherwise": agent.sends_otherwise(),
    }
    return page(request, "session/_context.html" if further else "session/context.html", data)


def _around(opened: OpenSession, count: Counter, prompt: str, shown: range) -> dict[str, Any]:
    """What the page has around the messages, of which those at these positions of the context are `shown`."""
    return {
        "header": header(opened, "context"),
        "contents": tuple(_prompts(opened, shown)),
        "sent": _sent(opened, count, count(prompt)),
    }


def _prompts(opened: OpenSession, shown: range) -> Iterator[Item]:
    """The newest prompts in context, as lines that lead to them on this page."""
    index = opened.index
    at = {index.places[number]: at for at, number in enumerate(index.live) if index.places[number] != NONE}
    places = sorted(filter(index.is_prompt, at))[-PROMPTS:]
    for place, item in zip(places, prompt_items(opened, places, (0, 0), opened.redacting), strict=True):
        anchor = f"#m{index.live_ids[at[place]]}"
        here = anchor if at[place] in shown else opened.urls.view("context", start=at[place] or "") + anchor
        yield replace(item, href=here)


def _sent(opened: OpenSession, count: Counter, prompt: int) -> SentParts:
    index, reported = opened.index, opened.reader.usage(opened.session.id).tokens
    merged = _merged(opened, count)
    sizes = {name: [0, 0] for name in SORTS}
    for number, tokens in zip(index.live, index.estimates(index.live), strict=True):
        place, summary = index.places[number], merged.get(index.ids[number], 0)
        if place == NONE or summary:
            _add(sizes["summary"], tokens if place == NONE else summary)
        if place != NONE:
            sort = "output" if index.answers(number) else "prompts" if index.is_prompt(place) else "agent"
            _add(sizes[sort], tokens - summary)
    newest = newest_boundary(index)
    messages = sum(tokens for _, tokens in sizes.values())
    more = max(0, (reported or 0) - messages)
    own = ("own", "System prompt and tools, as reported" if more else "System prompt", "", more or prompt)
    sorts = (
        (name, SORTS[name] if name == "summary" else f"{SORTS[name]}, {many:,}", "", tokens)
        for name, (many, tokens) in sizes.items()
        if many
    )
    return SentParts(
        parts=in_a_bar([*([own] if more or prompt else []), *sorts]),
        messages=messages,
        tokens=messages + (more or prompt),
        reported=more > 0,
        about=index.context.about,
        away=index.messages - index.in_context - index.unlinked,
        unlinked=index.unlinked,
        boundary=opened.urls.boundary(newest.handoff_id) if newest else "",
    )


def _add(size: list[int], tokens: int) -> None:
    size[0] += 1
    size[1] += tokens


def _merged(opened: OpenSession, count: Counter) -> dict[int, int]:
    """Tokens of the summaries that share a row in context with a message, by the row's id."""
    live = set(opened.index.live_ids)
    ids = [each.handoff_id for each in opened.index.boundaries if each.handoff_id in live]
    rows = opened.reader.sent(opened.session.id, ids).values()
    return {row.id: _handoff_tokens(row, parted(row), count) for row in rows}


def _start(request: HttpRequest, index: TranscriptIndex) -> int:
    """The start in the query; a stretch begins with a call and not with its result."""
    start = min(start_of(request, "start"), len(index.live))
    while 0 < start < len(index.live) and index.answers(index.live[start]):
        start -= 1
    return start


def _stop(index: TranscriptIndex, start: int) -> int:
    """The end of a stretch, extended so that results stay with their call."""
    stop = min(start + WINDOW, len(index.live))
    while stop < len(index.live) and index.answers(index.live[stop]):
        stop += 1
    return stop


def _with_additions(
    rows: Sequence[StoredMessage], message_context: MessageContext, added: Sequence[Addition], agent: str
) -> Iterator[ShownMessage | ShownHandoff | ShownAdditions]:
    """The messages and the agent's additions in order: calls and results are grouped up to the next addition."""
    before: dict[int | None, list[Addition]] = {}
    for each in added:
        before.setdefault(each.before, []).append(each)
    run: list[StoredMessage] = []
    for row in rows:
        if row.id in before and row.role not in engine.RESULT_ROLES:
            yield from _parts(run, message_context)
            yield _additions(before.pop(row.id), message_context, agent)
            run = []
        run.append(row)
    yield from _parts(run, message_context)
    yield from (_additions(each, message_context, agent) for each in before.values())


def _additions(added: Sequence[Addition], message_context: MessageContext, agent: str) -> ShownAdditions:
    return ShownAdditions(
        agent=agent,
        names=line(", ".join(dict.fromkeys(each.name for each in added)), 200),
        tokens=sum(message_context.count(each.text) for each in added if each.is_sent),
        additions=tuple(ShownAddition(line(each.name, 60), blocks.plain(each.text[:SHOWN], "")) for each in added),
    )


def _parts(rows: Sequence[StoredMessage], message_context: MessageContext) -> Iterator[ShownMessage | ShownHandoff]:
    """Messages in order; a handoff in a row is a separate block, before or after the row's live text."""
    run: list[MessageToShow] = []
    for row in rows:
        split = parted(row)
        own = [MessageToShow(row.id, split.message, "live")] if split.message is not None else []
        if split.has_handoff:
            yield from shown_messages([*run, *own] if split.comes_first else run, message_context)
            yield _handoff(row, split, message_context)
            run = [] if split.comes_first else own
        else:
            run += own
    yield from shown_messages(run, message_context)


def _handoff_tokens(row: StoredMessage, split: Parted, count: Counter) -> int:
    return row_tokens(row, count) - (row_tokens(split.message, count) if split.message is not None else 0)


def _handoff(row: StoredMessage, split: Parted, message_context: MessageContext) -> ShownHandoff:
    tokens = _handoff_tokens(row, split, message_context.count)
    text = summary_text(split.summary, split.directive)
    return ShownHandoff(row.id, role_label(row.role), split.message is not None, tokens, text)
