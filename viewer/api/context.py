"""What a model should be sent now. A call that sends it also takes the notes for the agent."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema

from compaction.tokens import message_tokens
from viewer.enforcement import auditing, events
from viewer.history import index_cache
from viewer.stores.base import Store
from viewer.stores.message import count_notes, for_model, row_tokens
from viewer.stores.registry import agent_of, get_store, open_store
from viewer.usage import counting

from . import messages
from .answers import answers
from .events import EventOut, event_out
from .scopes import READ, WRITE
from .sessions import SESSION

router = Router(tags=["sessions"])
CONTEXT = f"{SESSION}/context"


class ContextOut(Schema):
    """What a model should be sent now. `tokens` are those of the messages, without the system prompt, and with the
    `note_tokens` of texts that the agent itself sends with them (of hooks, of skills), which are not in `messages`.

    `events` are notes and warnings for the agent: in a GET the waiting ones, which are not in `messages`; in a POST
    those that are in `messages` now and that no other call will deliver. `sends_otherwise` says why the agent sends
    something else, such as by another context engine, "" if it does not.
    """

    session: str
    system: str | None
    messages: list[dict[str, Any]]
    tokens: int
    note_tokens: int
    events: list[EventOut]
    sends_otherwise: str = ""


@router.get(CONTEXT, auth=READ, response=answers(ContextOut), summary="What a model should be sent now")
def context(request: HttpRequest, store: str, session_id: str) -> ContextOut:
    """The live context in OpenAI's chat shape, with the handoff; the system prompt is a separate field."""
    return _context(get_store(store), session_id, deliver=False)


@router.post(CONTEXT, auth=WRITE, response=answers(ContextOut), summary="The same with the notes for the agent, once")
def deliver_context(request: HttpRequest, store: str, session_id: str) -> ContextOut:
    """For the next turn: each waiting event is a system message before the request that waits for its answer.

    It is marked and never delivered again, so call this only for a turn that is run. Nothing is written to the agent's
    own database.
    """
    return _context(get_store(store), session_id, deliver=True)


def _context(store: Store, session_id: str, *, deliver: bool) -> ContextOut:
    with open_store(store) as reader:
        session = reader.session(session_id)
        audits = (auditing.look if deliver else auditing.current_audits)(
            reader, session, index_cache.index_of(reader, session)
        )
        rows = for_model(reader.live(session_id))
        prompt = reader.system_prompt(session_id)
    count = counting.counter_for(session.model)
    _, note_tokens = count_notes(rows, count)
    sent, tokens = [messages.openai(row) for row in rows], sum(row_tokens(row, count) for row in rows)
    over = {audit.pk for audit in audits if audit.settled or audit.late}
    pending = [event for event in events.pending(store, session_id) if event.audit_id not in over]
    if deliver:  # last: after an earlier failure nothing is marked as delivered
        pending = events.deliver(pending)
        notes = [{"role": "system", "content": event.text} for event in pending]
        sent, tokens = _with_notes(sent, notes), tokens + sum(message_tokens(note, count) for note in notes)
    return ContextOut(
        session=session_id,
        system=prompt or None,
        messages=sent,
        tokens=tokens,
        note_tokens=note_tokens,
        events=list(map(event_out, pending)),
        sends_otherwise=agent_of(store).sends_otherwise(),
    )


def _with_notes(sent: list[dict[str, Any]], notes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with the notes before the request at their end, or at the very end if there is no such request."""
    end = len(sent) - 1 if sent and sent[-1]["role"] == "user" else len(sent)
    return [*sent[:end], *notes, *sent[end:]]
