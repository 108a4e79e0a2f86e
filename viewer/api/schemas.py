"""The shapes of the API's responses and requests.

Times are ISO 8601 in UTC, ids of messages are rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from compaction.strategy import OLD_NAMES, STRATEGIES
from viewer import times
from viewer.runs.providers import PROVIDERS
from viewer.stores.changes import MODES

from .losses import DetailsOut


def _whole(value: object) -> object:
    """In JSON 4.0 is a whole number like 4, and some programs write it so."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)  # after the limits of a number: before them, the document would not contain them
Limit = Annotated[int, Field(ge=1, le=500)]


def _one_of(names: Iterable[str]) -> WithJsonSchema:
    """A choice as the OpenAPI document names it; other values are refused by the code that knows them, as
    `unknown_choice`.
    """
    return WithJsonSchema({"type": "string", "enum": list(names)})


def moment(seconds: float | None) -> datetime | None:
    """A stored time, epoch seconds, as the API gives it; None if it is unknown or impossible."""
    at = times.known(seconds)
    return datetime.fromtimestamp(at, UTC) if at else None


class ErrorOut(Schema):
    code: str
    message: str


class ProblemOut(Schema):
    """Every response with a status of 400 or above."""

    error: ErrorOut


class HealthOut(Schema):
    status: Literal["ok"]
    version: str


class StoreOut(Schema):
    """`error` says why a store is not open; then what it can do is null. `remarks` are sentences about what is left out
    of an open store, and where links are followed.
    """

    name: str
    origin: str
    schema_version: int | None = None
    sessions: int | None = None
    size: int | None = None
    can_compact: bool = False
    compact_reason: str = ""
    search: bool = False
    turn_leases: bool = False
    remarks: list[str] = []
    error: ErrorOut | None = None


class BrokenOut(Schema):
    """A line that cannot be given: what it is about, if that is known, and why. The other lines are given."""

    id: str
    store: str
    why: str


class StoresOut(Schema):
    items: list[StoreOut]
    next: str | None = None
    broken: list[BrokenOut] = []


class SessionOut(Schema):
    """Tokens and messages of the live context; `messages_total` counts each message of History once.

    `tokens_live` is null while the tokens of a long session are not all counted: a worker does that. In a list it is
    also null after a new message until a worker has counted it; `messages_total` and `compactions` are null there after
    any other change until a worker has looked at the session. `can_compact` and `compact_reason` are those of the
    session; in a list those from a worker's last count, or those of its store before the first count. `address` is the
    path of the session's page and, below `/api/v1`, of its calls. If the agent records the usage of its requests,
    `tokens_live` is that of the newest one (with system prompt and tools), and `cost` is US dollars for all of them by
    the public price list, null if unknown; with `cost_is_least` some prices are unknown, and the true cost is higher.
    `sends_otherwise` says why the agent sends a model something else than the session contains, such as by another
    context engine: "" if it does not, null in a list. `untried_version` says that a newer version of the agent wrote
    the session than any that was tried with this site, "" if none did, null in a list. `title` is the agent's title, ""
    for none; `name` is the name on pages: the title, else the beginning of the first request, else the id.
    """

    id: str
    address: str
    store: str
    title: str
    name: str
    source: str
    model: str
    started_at: datetime | None
    last_active: datetime | None
    active: bool
    archived: bool
    messages_live: int
    messages_total: int | None
    tokens_live: int | None
    context_window: int
    compactions: int | None
    parent: str | None
    cwd: str
    git_branch: str
    cost: float | None
    cost_is_least: bool
    parts: int
    can_compact: bool
    compact_reason: str
    sends_otherwise: str | None = None
    untried_version: str | None = None


class SessionsOut(Schema):
    items: list[SessionOut]
    next: str | None
    broken: list[BrokenOut] = []


class Body(Schema):
    """A request body. An unknown field is an error, because a misspelt `apply` must not pass for a preview; so is a
    value of another type, because 0 or "no" must not decide whether an agent's database is written.
    """

    model_config = ConfigDict(extra="forbid", strict=True)


class SessionIn(Body):
    """What to change; a field that is left out is unchanged."""

    title: Annotated[str, Field(max_length=100)] | None = None
    archived: bool | None = None


class BranchIn(Body):
    """`before` is the `handoff_id` of a compaction: the context before it; null is the context as it is now."""

    before: Annotated[int, WHOLE] | None = None


class BranchOut(SessionOut):
    """The new session; `resume` is the command for a terminal that makes the agent continue it."""

    resume: str


class MessageOut(Schema):
    """A message, or a compaction's handoff with its `summary`. `rows` are all rows that carry it, oldest first.
    `suspected`: the message has the shape of a handoff in an unknown form and is treated as an ordinary message.
    `typed` is what a person typed in it if the client added words to its `content` ("" if the person typed nothing),
    null if it added none.
    """

    id: int
    kind: Literal["message", "handoff"]
    role: str
    content: Any
    tool_calls: list[dict[str, Any]]
    tool_call_id: str | None
    tool_name: str | None
    reasoning: str | None
    timestamp: datetime | None
    state: Literal["live", "under", "out", "lost"]
    shortened: bool
    rows: list[int]
    summary: str | None = None
    suspected: bool = False
    typed: str | None = None


class MessageIn(Body):
    """A message in OpenAI's chat shape. `timestamp` in epoch seconds; left out, it is now."""

    role: Literal["user", "assistant", "tool", "system"]
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    name: str | None = None
    reasoning: str | None = None
    finish_reason: str | None = None
    platform_message_id: str | None = None
    timestamp: Annotated[float, Field(gt=0, lt=253402300800)] | None = None


class AppendIn(Body):
    """Messages to append, oldest first: all of them or none."""

    messages: Annotated[list[MessageIn], Field(min_length=1, max_length=500)]


class CreateIn(Body):
    """A new session; `title` must be free in the store. `source` says where it comes from, as in the
    agent's sessions.
    """

    title: Annotated[str, Field(max_length=100)] = ""
    source: Annotated[str, Field(min_length=1, max_length=40)] = "api"
    model: Annotated[str, Field(max_length=200)] = ""
    cwd: Annotated[str, Field(max_length=4096)] = ""
    messages: Annotated[list[MessageIn], Field(max_length=500)] = []


class DeletedOut(Schema):
    """The deleted sessions: the one in the request and the parts it continued."""

    ids: list[str]


class AppendedOut(Schema):
    """The ids of the new messages, in order."""

    ids: list[int]


class MessagesOut(Schema):
    items: list[MessageOut]
    next: str | None


class ReportedOut(Schema):
    """What an agent itself recorded of its compaction: `trigger` is its own word ("auto", "manual"), tokens are those
    of whole requests, `scope` is "up_to" or "from" if a person chose the message up to or from which it summarised.
    """

    trigger: str
    tokens_before: int | None
    tokens_after: int | None
    scope: str


class CompactionOut(Schema):
    """`boundary_message_id` is the first message that was kept: the boundary is before it.

    `rules` are those at the end of `summary`, "" for none; `audit` is the status of the audit of the next turn, null if
    there is none; `details` and `statements` count those that still exist, null for the agent's own compactions:
    request `compactions/{handoff_id}/details` for these. `reported` is what the agent recorded of its own compaction,
    null if it records nothing. `unsure`: an earlier compaction is out of context, and the agent's rows do not show
    whether it was undone or its messages were taken back; they are listed as summarised, and this compaction cannot be
    undone.
    """

    at: datetime | None
    by: str
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    summary: str
    rules: str
    audit: str | None
    boundary_message_id: int | None
    handoff_id: int
    summarised_ids: list[int]
    kept_ids: list[int]
    shortened_ids: list[int]
    run: int | None
    undoable: bool
    unsure: bool
    reported: ReportedOut | None = None
    details: DetailsOut | None = None
    statements: DetailsOut | None = None


class CompactionsOut(Schema):
    items: list[CompactionOut]
    next: str | None = None
    broken: list[BrokenOut] = []


class PlanIn(Body):
    """The choices for one compaction.

    `strategy` is `summary`, or `prune`: old tool output becomes one line each, without a summary or a summariser.
    `mask` is the old name of `prune`, accepted until December 2027. `mode` is where the result goes: `in_place`, into
    the session itself, or `split`, into a new session that continues. If one of the two is missing, the store's setting
    applies. `rules` false leaves the rules of the workspace out of the handoff.
    """

    strategy: Annotated[str, _one_of([*STRATEGIES, *OLD_NAMES])] | None = None
    mode: Annotated[str, _one_of(MODES)] | None = None
    focus: Annotated[str, Field(max_length=2000)] = ""
    keep_last: Annotated[int, Field(ge=1, le=1_000_000), WHOLE] | None = None
    summarizer: Annotated[str, _one_of(["offline", *PROVIDERS])] = "offline"
    rules: bool = True


class RunIn(PlanIn):
    """`apply` false stops at a preview to look at."""

    apply: bool = False


class PartOut(Schema):
    ids: list[int]
    count: int
    tokens: int


class HeldOut(Schema):
    """Who holds a lock or a turn, since when, and when it expires unless it is renewed."""

    holder: str
    since: datetime | None
    expires: datetime | None


class BusyOut(Schema):
    lock: HeldOut | None
    turn: HeldOut | None


class RulesOut(Schema):
    """The workspace's rules: `sections` of the file `source`, and the `text` made from them, exactly as in the handoff
    if it is `carried`. `reason` says why there is nothing to carry.
    """

    workspace: str = ""
    source: str = ""
    sections: list[str] = []
    text: str = ""
    reason: str = ""
    carried: bool = False


class PlanOut(Schema):
    """A dry run: `head` and `tail` stay, `middle` would be summarised, earlier handoffs (`lifted`, and those merged
    into kept rows; `earlier_tokens` together) are folded into the new one.

    `strategy` and `mode` are those in effect: from the call, or the store's settings. `fallback` says which setting of
    the store is not possible in this session, "" for none.
    With the strategy `prune` the `middle` are the messages whose tool output or arguments would be shortened, the
    `head` all others before the `tail`, only earlier notes of this strategy are `lifted`, and no rules are carried.
    `notes` are texts that the agent sends next to messages (of hooks, of skills); their `note_tokens` are part of the
    other numbers, and they leave the context together with their message.
    """

    strategy: str
    mode: str
    fallback: str
    head: PartOut
    middle: PartOut
    tail: PartOut
    lifted: list[int]
    earlier_tokens: int
    reasons: list[str]
    tokens_before: int
    tokens_after_estimate: int
    notes: int
    note_tokens: int
    recompaction: bool
    context_window: int
    tokens_are_estimates: bool
    pick_up: str
    sends_otherwise: str = ""
    busy: BusyOut | None
    rules: RulesOut
