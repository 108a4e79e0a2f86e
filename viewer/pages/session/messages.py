"""Messages for a page: author, time, length, the blocks of the content, the calls with their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple

from django.utils.safestring import SafeString

from compaction import messages as engine
from compaction.tokens import Counter
from viewer.pages.parts.message_notes import not_typed, notes_of
from viewer.rendering import cache, calls, formats, tools
from viewer.rendering.marking import WordMarks, with_quiet_tags
from viewer.rendering.texts import STATES, line, role_label
from viewer.stores.envelopes import split
from viewer.stores.message import HistoryMessage, StoredMessage, row_tokens
from viewer.web.session_urls import SessionUrls


@dataclass(frozen=True, slots=True)
class MessageToShow:
    """A stored message for a page. `id` is the message's, `row.content` only its live part. `asks`: it is a prompt,
    which begins a turn. `part` is "reasoning" if its content is what the model thought (`filters.thinking_of`).
    """

    id: int
    row: StoredMessage
    state: Literal["live", "under", "out", "lost"]
    notes: tuple[str, ...] = ()
    asks: bool = False
    part: Literal["said", "reasoning"] = "said"


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """One message with its calls. The tag `part` caches it by a pickle: its time is text, because that changes with the
    clock. `number` is its place in History, counted from 1; 0 if it is not there. `kind` is a CSS class, `state` is its
    state if it is not in context, and `unlinked`: its link is lost; `folded` is the label of the fold of messages
    that people rarely read. One that nobody typed is folded to a line, and `begins` has its first words.

    `colours` is the address of `html` with its code in colours, "" if there is nothing to colour; `copy` that of its
    text; `keep` that of the page on which it is pinned or put back, "" if it is not in History. `calls_left` is
    how many more calls the row makes, `calls_href` where they are.
    """

    template: ClassVar[str] = "session/_message.html"
    rows: ClassVar[tuple[()]] = ()  # it holds no others, as the work of a turn does
    id: int
    number: int
    asks: bool
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
    keep: str
    calls: tuple[calls.ShownCall, ...]
    calls_left: int
    calls_href: str
    notes: tuple[str, ...]
    marked: bool
    folded: str
    begins: str


def _no_number(row_id: int) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class MessageContext:
    """The data for showing stored messages: URLs, counter, the marked and the last message.

    `tokens` returns the tokens of rows that were counted before; without it they are counted here. `number` returns a
    message's place in History, counted from 1, or 0. `words` are to be marked; code with some of them is shown without
    colours. `suspected` is the message that may be a handoff. `as_sent` shows each message whole, as a model receives
    it, with a client's additions to it; a command is shown as it was typed. `cwd` is the session's directory.
    """

    urls: SessionUrls
    count: Counter
    marked: int | None = None
    newest: int | None = None
    tokens: Callable[[int], int | None] | None = None
    number: Callable[[int], int] = _no_number
    words: WordMarks | None = None
    suspected: int | None = None
    as_sent: bool = False
    cwd: str = ""

    def body(self, rendered: cache.RenderedBlocks) -> cache.RenderedBlocks:
        """The blocks with the words marked."""
        html = rendered.html if self.words is None else self.words.marked(rendered.html)
        return rendered if html is rendered.html else replace(rendered, html=html, waits=False)


def of_history(item: HistoryMessage, *, asks: bool = False) -> MessageToShow:
    """A message of History: its fullest text, the state of its newest row."""
    notes = (
        ["The model now sees a shortened form of this."] if item.entry.shortened and item.entry.state == "live" else []
    )
    if item.entry.twice:
        notes.append("It was written twice: the context holds this message a second time.")
    row = replace(item.row, content=item.content, flagged=False)  # what is flagged is the handoff merged into it
    return MessageToShow(item.entry.id, row, item.entry.state, tuple(notes), asks)


def shown_messages(items: Sequence[MessageToShow], context: MessageContext) -> list[ShownMessage]:
    """The messages in order; a result is in the fold of its call, or alone if its call is not among them."""
    called = [[] if item.row.role in engine.RESULT_ROLES else calls.calls_of(item.row) for item in items]
    pairs = calls.pair([item.row for item in items], called)
    answered = set(pairs.values())
    exchange = _Exchange(items, called, pairs, context)
    return [_message(exchange, at) for at in range(len(items)) if at not in answered]


class _Exchange(NamedTuple):
    """Messages with the calls each makes, and which message answers which call."""

    items: Sequence[MessageToShow]
    called: Sequence[Sequence[engine.Call]]
    pairs: dict[tuple[int, int], int]
    context: MessageContext


def _message(exchange: _Exchange, at: int) -> ShownMessage:
    item, urls = exchange.items[at], exchange.context.urls
    is_result = item.row.role in engine.RESULT_ROLES
    body = _NOTHING if is_result else _body(item, exchange.context)
    calls_left = calls.left_out(item.row)
    label, begins = not_typed(item.row)
    return ShownMessage(
        id=item.id,
        number=exchange.context.number(item.id),
        asks=item.asks,
        href=urls.message(item.id),
        kind=item.row.role if item.row.role in ("user", "assistant", "tool") else "other",
        who=role_label(item.row.role),
        state="" if item.state == "live" else STATES[item.state],
        unlinked=item.state == "lost",
        time=formats.known_moment(item.row.timestamp),
        tokens=_tokens(item.row, exchange.context),
        html=body.html,
        colours=urls.colours(item.row.id, item.part) if body.waits else "",
        copy=urls.raw(item.row.id, item.part),
        keep=_keep(item, exchange.context),
        calls=(_lone_result(item, exchange.context),) if is_result else tuple(_calls(exchange, at)),
        calls_left=calls_left,
        calls_href=urls.whole(item.row.id, "calls") if calls_left else "",
        notes=() if is_result else (*item.notes, *notes_of(item.row, suspected=_suspected(item, exchange.context))),
        marked=item.id == exchange.context.marked,
        folded=label if item.row.role in ("user", "assistant", "tool") else "Show its text",
        begins=begins,
    )


_NOTHING = cache.RenderedBlocks(SafeString(), waits=False)


def _body(item: MessageToShow, context: MessageContext) -> cache.RenderedBlocks:
    row = item.row
    if not context.as_sent or split(row.content, row.envelopes).is_command:
        return context.body(cache.said(row, context.urls, part=item.part))
    rendered = context.body(cache.said(replace(row, envelopes=None), context.urls, part=item.part))
    # The address of a text in colours has what a client added set apart.
    return replace(rendered, html=with_quiet_tags(rendered.html), waits=rendered.waits and row.envelopes is None)


def _tokens(row: StoredMessage, context: MessageContext) -> int | None:
    """None for a row that is not counted yet."""
    return row_tokens(row, context.count) if context.tokens is None else context.tokens(row.id)


def _keep(item: MessageToShow, context: MessageContext) -> str:
    return context.urls.keep(item.id) if context.number(item.id) else ""


def _suspected(item: MessageToShow, context: MessageContext) -> bool:
    return context.suspected is not None and context.suspected in (item.id, item.row.id)


# -- calls -----------------------------------------------------------------------------------------------------------


def _calls(exchange: _Exchange, at: int) -> Iterable[calls.ShownCall]:
    item, context = exchange.items[at], exchange.context
    for position, call in enumerate(exchange.called[at]):
        answer = exchange.pairs.get((at, position))
        noted = "" if answer is None or context.as_sent else calls.noted(call, exchange.items[answer].row)
        result = None if answer is None else _result(exchange, at, call, answer, has_noted=noted != "")
        rendered = context.body(
            cache.asked(
                call,
                context.urls.whole(item.row.id, "calls"),
                result.outcome if result is not None else None,
                cwd=context.cwd,
                noted=noted,
                colours=result is not None and result.marked,
            )
        )
        query = {"at": position} | ({"result": exchange.items[answer].row.id} if answer is not None and noted else {})
        yield calls.ShownCall(
            name=line(call.name, 80),
            sort=tools.sort(call.name, call.arguments),
            title=rendered.title or tools.Title("tool", ""),
            html=rendered.html,
            colours=context.urls.colours(item.row.id, "call", **query) if rendered.waits else "",
            result=result,
            waiting=result is None and item.id == context.newest,
            is_change=rendered.is_change,
        )
        if answer is not None:
            yield from _inner(exchange.items[answer].row, exchange.context)


def _inner(row: StoredMessage, context: MessageContext) -> Iterator[calls.ShownCall]:
    """The calls made by a script, as far as the script reported them; their results are in its result."""
    for each in row.inner:
        for call in engine.calls({"tool_calls": [each]}):
            rendered = context.body(cache.asked(call, "", None, cwd=context.cwd))
            title = rendered.title or tools.Title("tool", "")
            name, sort = f"{line(call.name, 60)}, by the script", tools.sort(call.name, call.arguments)
            yield calls.ShownCall(name, sort, title, rendered.html, "", None, waiting=False)


def _result(exchange: _Exchange, at: int, call: engine.Call, answer: int, *, has_noted: bool) -> calls.ShownResult:
    item = exchange.items[answer]
    language = tools.language(call.name, call.arguments)
    seconds = calls.duration(exchange.items[at].row, item.row)
    sub_agent = tools.is_sub_agent(call.name)
    return _answer(item, exchange.context, language, seconds, sub_agent=sub_agent, has_noted=has_noted)


def _lone_result(item: MessageToShow, context: MessageContext) -> calls.ShownCall:
    """A result whose call is not among the messages: its tool's name, if the row has it."""
    result = _answer(item, context, "", "", sub_agent=tools.is_sub_agent(item.row.tool_name))
    name, sort = line(item.row.tool_name, 80), tools.sort(item.row.tool_name, "")
    title = tools.Title(name or "tool", "", known=False)
    return calls.ShownCall(name, sort, title, SafeString(), "", result, waiting=False)


def _answer(
    item: MessageToShow,
    context: MessageContext,
    language: str,
    seconds: str,
    *,
    sub_agent: bool,
    has_noted: bool = False,
) -> calls.ShownResult:
    """`has_noted`: the change that the result contains is shown with the call."""
    row, urls, tokens = item.row, context.urls, _tokens(item.row, context)
    marked = item.id == context.marked
    shown = calls.without_noted(row) if has_noted else row
    body = context.body(cache.answered(shown, urls, language, colours=marked or shown is not row))
    sessions = dict.fromkeys((*row.sub_agents, *(body.sessions if sub_agent else ())))
    return calls.ShownResult(
        id=item.id,
        number=context.number(item.id),
        href=urls.message(item.id),
        tokens=tokens,
        length=len(engine.text(row.content)) if tokens is None else 0,
        html=body.html,
        colours=urls.colours(row.id, "result", language=language) if body.waits else "",
        copy=urls.raw(row.id, "said"),
        keep=_keep(item, context),
        outcome=body.outcome,
        seconds=seconds,
        notes=item.notes,
        marked=marked,
        sessions=tuple((name, SessionUrls(urls.store, name).href) for name in sessions),
    )
