"""What is installed in an agent calls this (`integrations/door.py`): small and quick, for the store of its token."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import quote

from django.http import HttpRequest
from ninja import Router, Schema
from ninja.errors import HttpError

from compaction import programs
from viewer.catalog import lines
from viewer.catalog.lines import SessionFilter
from viewer.catalog.models import name_of
from viewer.enforcement import auditing, early, events
from viewer.history import index_cache
from viewer.inside import doors
from viewer.inside.agents import agent_named
from viewer.inside.models import Door
from viewer.runs import pins
from viewer.stores.base import NAME, Store
from viewer.stores.message import for_model, message_of
from viewer.stores.registry import get_store, open_store
from viewer.web import auth
from viewer.web.url_segments import session_address
from viewer.workspaces.rules import rules_of

from .answers import answers
from .schemas import moment

MOST = 20  # sessions in a list inside an agent
INSIDE = auth.require(auth.INSIDE)
router = Router(tags=["inside an agent"])


class CallIn(Schema):
    """`session_id` as the agent names it; `compacted`: the agent itself has just compacted."""

    session_id: str
    compacted: bool = False


class TextOut(Schema):
    """A text for the agent, "" for none; `events` are the numbers to acknowledge before it is passed on."""

    text: str = ""
    events: list[int] = []


class AcknowledgeIn(Schema):
    events: list[int]


class CarriedOut(Schema):
    """What a compaction by our engine carries: the `rules` of the workspace, the texts of `pinned` messages, and the
    line about `recall` where the agent uses it.
    """

    rules: str
    pinned: list[str]
    recall: bool


class NeedingOut(Schema):
    """A session that needs compaction, and the `address` of its page; `window` is 0 where it is not known."""

    name: str
    address: str
    tokens: int
    window: int
    last_active: datetime | None


class AttentionOut(Schema):
    """The newest `sessions` that need compaction, and the `address` of the list of all sessions of this store."""

    sessions: list[NeedingOut]
    address: str


@router.post("/inside/note", auth=INSIDE, response=answers(TextOut), summary="What to send with the next request, once")
def note(request: HttpRequest, call: CallIn) -> TextOut:
    """The waiting note after a compaction, and the audit's warning. Nobody else is given them for some seconds; they
    are delivered once they are acknowledged.
    """
    door, store = _called(request)
    early_notes: list[tuple[str, int]] = []
    if call.compacted:
        with open_store(store) as reader:
            session = reader.session(call.session_id)
            if agent_named(door.agent).writes_late:
                early_notes = early.give(store, session.id, rules_of(store, session))
            else:  # a worker may not have seen it yet
                auditing.look(reader, session, index_cache.index_of(reader, session), arm=True)
    offered = early.offer(store, call.session_id)
    notes = [*((events.text_of(event), event.pk) for event in offered), *early_notes]
    return TextOut(text="\n\n".join(text for text, _ in notes), events=[number for _, number in notes])


@router.post("/inside/acknowledge", auth=INSIDE, response=answers(TextOut), summary="The texts are passed on now")
def acknowledge(request: HttpRequest, call: AcknowledgeIn) -> TextOut:
    """Mark the events as delivered."""
    store = _store(request)
    for number in call.events:
        if number < 0:
            early.acknowledge(store, number)
        elif (event := events.get_event(number)).store == store.name:
            events.acknowledge(event)
    return TextOut()


@router.post("/inside/before", auth=INSIDE, response=answers(TextOut), summary="What a summary should not lose")
def before(request: HttpRequest, call: CallIn) -> TextOut:
    """Instructions for the summary that the agent is about to have made: standing instructions and open requests."""
    with open_store(_store(request)) as reader:
        reader.session(call.session_id)
        rows = for_model(reader.live(call.session_id))
    return TextOut(text=programs.instructions([message_of(row) for row in rows]))


@router.post("/inside/carried", auth=INSIDE, response=answers(CarriedOut), summary="What our engine carries")
def carried(request: HttpRequest, call: CallIn) -> CarriedOut:
    """For a compaction that the agent has our engine make."""
    store = _store(request)
    with open_store(store) as reader:
        session = reader.session(call.session_id)
        return CarriedOut(
            rules=rules_of(store, session).text, pinned=list(pins.texts(reader, session)), recall=doors.recalls(store)
        )


@router.post("/inside/attention", auth=INSIDE, response=answers(AttentionOut), summary="Sessions that need compaction")
def attention(request: HttpRequest) -> AttentionOut:
    """For a list in the agent's own pages, which is no call of the agent."""
    store, site = get_store(_door(request).store), doors.site_address()
    found = lines.page_of_lines(SessionFilter(near=True), [store], MOST).lines
    needing = [
        NeedingOut(
            name=name_of(line, NAME),
            address=f"{site}{session_address(store.name, line.session_id)}",
            tokens=line.tokens or 0,
            window=line.window,
            last_active=moment(line.last_active),
        )
        for line in found
    ]
    return AttentionOut(sessions=needing, address=f"{site}/?store={quote(store.name)}")


def _store(request: HttpRequest) -> Store:
    return _called(request)[1]


def _called(request: HttpRequest) -> tuple[Door, Store]:
    """The door of the agent that calls, which is noted, and its store."""
    door = _door(request)
    doors.called(door)
    return door, get_store(door.store)


def _door(request: HttpRequest) -> Door:
    """The door whose token this is."""
    door = doors.door_with(request.auth)  # type: ignore[attr-defined]  # set by django-ninja
    if door is None:
        raise HttpError(403, "This token is of no agent: install the door again.")
    return door
