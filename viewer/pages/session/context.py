"""What the model sees: live rows after the system prompt, each handoff separate from its row's live text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from compaction import messages as engine
from viewer.pages.http import is_fragment, page, shows_refusals, start_of
from viewer.pages.parts.boundary import ShownSummary, summary_text
from viewer.pages.parts.opened import open_session
from viewer.pages.redaction import redacted, redacts, text_for
from viewer.rendering import blocks
from viewer.rendering.texts import line, role_label
from viewer.stores.message import Addition, Parted, StoredMessage, parted
from viewer.stores.registry import agent_of, get_store, open_store
from viewer.stores.transcript import TranscriptIndex
from viewer.usage import counting

from .header import header
from .messages import MessageContext, MessageToShow, ShownMessage, shown_messages

WINDOW = 80
SHOWN = 100_000  # characters of what the agent adds


@dataclass(frozen=True, slots=True)
class ShownHandoff:
    """A compaction summary in the context, in the role of its row."""

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
        prompt = "" if start else text_for(request, reader.system_prompt(session_id))
        suspected = reader.suspected_handoff(session_id, ids)
        top, agent = header(opened, "context"), agent_of(reader.store)
    rows = [replace(read[row_id], notes=()) for row_id in ids[start:stop] if row_id in read]  # those are among `added`
    rows = list(map(redacted, rows)) if opened.redacting else rows
    count = counting.counter_for(opened.session.model)
    message_context = MessageContext(
        urls,
        count,
        newest=ids[-1] if ids else None,
        number=opened.number_of,
        suspected=suspected,
        as_sent=True,
        cwd=opened.session.cwd,
    )
    data = {
        "header": top,
        "prompt": blocks.plain(prompt, urls.view("context/prompt")) if prompt.strip() else None,
        "prompt_tokens": count(prompt),
        "items": list(_with_additions(rows, message_context, added, agent.name)),
        "next": urls.view("context", start=stop) if stop < len(ids) else "",
        "left": len(ids) - stop,
        "previous": urls.view("context", start=max(0, start - WINDOW) or "") if start else "",
        "newest": urls.view("context", start=max(0, len(ids) - WINDOW)) if stop < len(ids) else "",
        "kept_for_itself": opened.index.records,
        "sends_otherwise": agent.sends_otherwise(),
    }
    return page(request, "session/_context.html" if is_fragment(request) and start else "session/context.html", data)


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


def _handoff(row: StoredMessage, split: Parted, message_context: MessageContext) -> ShownHandoff:
    tokens = message_context.count(split.summary)
    text = summary_text(split.summary, split.directive)
    return ShownHandoff(row.id, role_label(row.role), split.message is not None, tokens, text)
