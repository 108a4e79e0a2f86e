"""Messages as a page shows them: who, when, how long, the blocks of what was said, the calls with their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple

from django.utils.safestring import SafeString

from compaction import messages as engine
from compaction.handoff import restated
from compaction.tokens import Counter
from viewer.rendering import cache, calls, formats, tools
from viewer.rendering.marking import WordMarks
from viewer.rendering.texts import CUT_OFF, STATES, line, role_label, was_cut_off
from viewer.stores.counting import row_tokens
from viewer.stores.envelopes import RAN
from viewer.stores.message import HistoryMessage, StoredMessage, message_of
from viewer.web.session_urls import SessionUrls


@dataclass(frozen=True, slots=True)
class MessageToShow:
    """A stored message on its way to a page. `id` is the message's, `row.content` its live part only."""

    id: int
    row: StoredMessage
    state: Literal["live", "under", "out", "lost"]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """One message with its calls. The tag `part` keeps it by a pickle: its time is text, because that changes with the
    clock. `kind` is a CSS class, `state` says what it is in where that is not the context, and
    `unlinked` that its link is lost; `folded` is set for what no person reads first.

    `colours` is the address of `html` with its code in colours, "" where there is nothing to colour; `copy` of its
    text. `calls_left` says how many more calls the row makes, `calls_href` where they are.
    """

    template: ClassVar[str] = "session/_message.html"
    id: int
    href: str
    kind: str
    who: str
    state: str
    unlinked: bool
    time: SafeString
    tokens: int | None
    html: SafeString
    colours: str
    copy: str
    calls: tuple[calls.ShownCall, ...]
    calls_left: int
    calls_href: str
    notes: tuple[str, ...]
    marked: bool
    folded: bool


@dataclass(frozen=True, slots=True)
class MessageContext:
    """What turning stored messages into shown ones needs: addresses, counter, the marked and the last message.

    `tokens` knows the tokens of rows that were counted before; without it they are counted here. `words` are to be
    marked; code that holds some of them is shown without colours. `suspected` is the message that may be a handoff.
    `as_sent` shows each message whole, as a model is sent it, with what a client added where that is in it.
    """

    place: SessionUrls
    count: Counter
    marked: int | None = None
    newest: int | None = None
    tokens: Callable[[int], int | None] | None = None
    words: WordMarks | None = None
    suspected: int | None = None
    as_sent: bool = False

    def body(self, made: cache.RenderedBlocks) -> cache.RenderedBlocks:
        """The blocks with the words marked."""
        html = made.html if self.words is None else self.words.marked(made.html)
        return made if html is made.html else replace(made, html=html, waits=False)


def of_history(item: HistoryMessage) -> MessageToShow:
    """A message of History: its fullest text, the state of its newest row."""
    notes = (
        ["The model now sees a shortened form of this."] if item.entry.shortened and item.entry.state == "live" else []
    )
    if item.entry.twice:
        notes.append("It was written twice: the context holds this message a second time.")
    row = replace(item.row, content=item.content, flagged=False)  # what is flagged is the handoff merged into it
    return MessageToShow(item.entry.id, row, item.entry.state, tuple(notes))


def shown_messages(said: Sequence[MessageToShow], reading: MessageContext) -> list[ShownMessage]:
    """The messages in order; a result stands in the fold of its call, or alone when its call is not among them."""
    called = [[] if item.row.role in engine.RESULT_ROLES else calls.calls_of(item.row) for item in said]
    pairs = calls.pair([item.row for item in said], called)
    answered = set(pairs.values())
    found = _Found(said, called, pairs, reading)
    return [_message(found, at) for at in range(len(said)) if at not in answered]


class _Found(NamedTuple):
    """Messages with the calls each makes, and which message answers which call."""

    said: Sequence[MessageToShow]
    called: Sequence[Sequence[engine.Call]]
    pairs: dict[tuple[int, int], int]
    reading: MessageContext


def _message(found: _Found, at: int) -> ShownMessage:
    item, place = found.said[at], found.reading.place
    is_result = item.row.role in engine.RESULT_ROLES
    body = _NOTHING if is_result else _said(item.row, found.reading)
    left = calls.left_out(item.row)
    return ShownMessage(
        id=item.id,
        href=place.message(item.id),
        kind=item.row.role if item.row.role in ("user", "assistant", "tool") else "other",
        who=role_label(item.row.role),
        state="" if item.state == "live" else STATES[item.state],
        unlinked=item.state == "lost",
        time=formats.moment(item.row.timestamp),
        tokens=_tokens(item.row, found.reading),
        html=body.html,
        colours=place.colours(item.row.id, "said") if body.waits else "",
        copy=place.raw(item.row.id, "said"),
        calls=(_lone_result(item, found.reading),) if is_result else tuple(_calls(found, at)),
        calls_left=left,
        calls_href=place.whole(item.row.id, "calls") if left else "",
        notes=() if is_result else (*item.notes, *_notes(item, found.reading)),
        marked=item.id == found.reading.marked,
        folded=item.row.role not in ("user", "assistant", "tool"),
    )


_NOTHING = cache.RenderedBlocks(SafeString(), waits=False)


def _said(row: StoredMessage, reading: MessageContext) -> cache.RenderedBlocks:
    if reading.as_sent and row.envelopes is not None:  # its address in colours has the parts set apart
        return replace(reading.body(cache.said(replace(row, envelopes=None), reading.place)), waits=False)
    return reading.body(cache.said(row, reading.place))


def _tokens(row: StoredMessage, reading: MessageContext) -> int | None:
    """None for a row that is not counted yet."""
    return row_tokens(row, reading.count) if reading.tokens is None else reading.tokens(row.id)


SUSPECTED = (
    "Perhaps a summary that another program wrote in place of earlier messages: it opens the context, and begins as "
    "such summaries do. Its form is not known here, so it is treated as a message."
)


def _notes(item: MessageToShow, reading: MessageContext) -> tuple[str, ...]:
    row, notes = item.row, []
    # What is shown is the row's own words: its flag, and what kind of row it is, may be those of a summary beside them.
    said = message_of(replace(row, flagged=False, extra={} if row.flagged else row.extra))
    if row.role == "user" and restated(engine.text(row.content)) is not None:
        notes.append("A request from above, repeated by the agent after its summary.")
    elif row.role == "user" and (kind := str(said.get("display_kind") or "")) == RAN:
        notes.append("A command that somebody ran in the agent's client.")
    elif reading.suspected is not None and reading.suspected in (item.id, row.id):
        notes.append(SUSPECTED)
    elif row.role == "user" and not engine.is_typed(said):
        notes.append(f"Written by the agent, not typed by a person{f' ({line(kind, 40)})' if kind else ''}.")
    if row.extra.get("queued"):
        notes.append("Typed while a turn ran, and kept in the client's queue alone: it is not sent any more.")
    if row.extra.get("observed"):
        notes.append("Seen in a group chat, not addressed to the agent.")
    if was_cut_off(row.finish_reason):
        notes.append(CUT_OFF)
    return tuple(notes)


# -- calls -----------------------------------------------------------------------------------------------------------


def _calls(found: _Found, at: int) -> Iterable[calls.ShownCall]:
    item, place = found.said[at], found.reading.place
    for position, call in enumerate(found.called[at]):
        answer = found.pairs.get((at, position))
        result = None if answer is None else _result(found, at, call, answer)
        is_open = result is not None and result.marked
        ended = result.outcome if result is not None else None
        asked = found.reading.body(cache.asked(call, place.whole(item.row.id, "calls"), ended, colours=is_open))
        yield calls.ShownCall(
            name=line(call.name, 80),
            title=asked.title or tools.Title("tool", ""),
            html=asked.html,
            colours=place.colours(item.row.id, "call", at=position) if asked.waits else "",
            result=result,
            waiting=result is None and item.id == found.reading.newest,
        )
        if answer is not None:
            yield from _inner(found.said[answer].row, found.reading)


def _inner(row: StoredMessage, reading: MessageContext) -> Iterator[calls.ShownCall]:
    """The calls that a script made: what they gave is in its result, as far as it told it."""
    for each in row.inner:
        for call in engine.calls({"tool_calls": [each]}):
            asked = reading.body(cache.asked(call, "", None))
            title = asked.title or tools.Title("tool", "")
            yield calls.ShownCall(f"{line(call.name, 60)}, by the script", title, asked.html, "", None, waiting=False)


def _result(found: _Found, at: int, call: engine.Call, answer: int) -> calls.ShownResult:
    item = found.said[answer]
    language = tools.language(call.name, call.arguments)
    seconds = calls.duration(found.said[at].row, item.row)
    sub_agent = tools.is_sub_agent(call.name)
    return _answer(item, found.reading, language, seconds, sub_agent=sub_agent)


def _lone_result(item: MessageToShow, reading: MessageContext) -> calls.ShownCall:
    """A result whose call is not among the messages: its tool's name, where the row has it."""
    result = _answer(item, reading, "", "", sub_agent=tools.is_sub_agent(item.row.tool_name))
    name = line(item.row.tool_name, 80)
    return calls.ShownCall(name, tools.Title(name or "tool", "", known=False), SafeString(), "", result, waiting=False)


def _answer(
    item: MessageToShow, reading: MessageContext, language: str, seconds: str, *, sub_agent: bool
) -> calls.ShownResult:
    row, place, tokens = item.row, reading.place, _tokens(item.row, reading)
    marked = item.id == reading.marked
    body = reading.body(cache.answered(row, place, language, colours=marked))
    sessions = dict.fromkeys((*row.sub_agents, *(body.sessions if sub_agent else ())))
    return calls.ShownResult(
        id=item.id,
        href=place.message(item.id),
        tokens=tokens,
        length=len(engine.text(row.content)) if tokens is None else 0,
        html=body.html,
        colours=place.colours(row.id, "result", language=language) if body.waits else "",
        copy=place.raw(row.id, "said"),
        outcome=body.outcome,
        seconds=seconds,
        notes=item.notes,
        marked=marked,
        sessions=tuple((name, SessionUrls(place.store, name).href) for name in sessions),
    )
