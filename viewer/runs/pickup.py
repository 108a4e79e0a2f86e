"""When the agent will notice a compaction or an undo, and whether it has noticed it (`docs/hermes.md` section 3)."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.history.models import Compaction
from viewer.stores.base import Session
from viewer.stores.message import StoredMessage, is_put_back
from viewer.stores.registry import Agent, Reader, agent_of

from .models import Run

LEFT = (
    "The session continued from a point before this compaction, so the compaction has no effect: an open client "
    "continued with the messages in its memory, or somebody went back. End the client, and compact again."
)
NEXT_MESSAGE = "The agent sees it with its next message. Nothing to do."


@dataclass(frozen=True, slots=True)
class PickUp:
    """`noticed_at` is when the first message after the commit was written (epoch seconds), None if there is none.
    `resume` is the command to resume the session, "" where that need not be done.
    """

    noticed_at: float | None
    sentence: str
    resume: str = ""


def before_a_run(agent: Agent, session: Session) -> str:
    """When the agent will start to use a compaction, with the command where the session has to be resumed."""
    noticing = agent.noticing(session)
    command = agent.resume_command(session.id) if noticing.must_resume else ""
    return f"{noticing.sentence.removesuffix('.')}: {command}" if command else noticing.sentence


def pick_up(run: Run, reader: Reader) -> PickUp:
    """Whether anything was written to the session since the commit of this applied run, and what that means."""
    agent, session = agent_of(reader.store), reader.session(run.new_session_id or run.session_id)
    first = _first_agent_message(reader, run, session.id)
    if first is not None and _is_abandoned(run, reader, session.id):
        return PickUp(None, LEFT)
    noticing = agent.noticing(session)
    resume = agent.resume_command(session.id) if noticing.must_resume else ""
    if first is None:
        return PickUp(None, noticing.sentence if noticing.must_resume else NEXT_MESSAGE, resume)
    if noticing.keeps_memory:
        return PickUp(first.timestamp, f"The session continued. {noticing.sentence}", resume)
    return PickUp(first.timestamp, "The session has continued since the compaction.")


def _is_abandoned(run: Run, reader: Reader, session_id: str) -> bool:
    receipt = Compaction.objects.filter(run=run.pk).values_list("receipt", flat=True).first()
    return receipt is not None and reader.commit_state(session_id, receipt).state == "left"


def _first_agent_message(reader: Reader, run: Run, session_id: str) -> StoredMessage | None:
    """The first message after this run that the agent wrote itself, and not a later compaction of ours or what was put
    back.
    """
    written = Compaction.objects.filter(
        store=run.store, session_id__in=(run.session_id, session_id), run__isnull=False
    ).values_list("run", "first_id", "last_id")
    ours = [(first, last) for _, first, last in written if first is not None and last is not None]
    after = next((last or 0 for number, _, last in written if number == run.pk), 0)
    row = reader.next_message(session_id, after)
    while row is not None and (is_put_back(row) or any(first <= row.id <= last for first, last in ours)):
        row = reader.next_message(session_id, row.id)
    return row
