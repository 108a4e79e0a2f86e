"""Messages and a policy to a plan: which messages stay, which are summarised, and why. No model, no input changed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from typing import Literal

from . import messages as m
from . import protocol
from .boundaries import (
    SLACK,
    Sizes,
    align_start,
    earlier_cuts,
    find_tail,
    head_of,
    is_mask_note,
    is_recompaction,
    plural,
    system_rows,
)
from .errors import BadTranscript, NothingToCompact
from .messages import Message
from .policy import Policy
from .repair import Repairs, repairs
from .rules import with_rules, without_rules
from .tokens import Counter, message_tokens

Role = Literal["user", "assistant"]
ROLES: tuple[Role, ...] = ("user", "assistant")


@dataclass(frozen=True)
class Plan:
    """What a compaction would do. Indices are positions in `messages`; each stands in exactly one of the four tuples.

    `lifted` are standalone earlier handoffs, wherever they stand; `previous_summary` the bodies of all earlier ones,
    oldest first (a merged one keeps its index where its live text goes). `role` is the new handoff's, None if it must
    be merged into the first tail message. `reasons` are sentences for people. `around` are the tokens that are written
    besides the summary's body. Token totals are counted when first read.
    """

    messages: tuple[Message, ...]
    policy: Policy
    count: Counter
    head: tuple[int, ...]
    middle: tuple[int, ...]
    tail: tuple[int, ...]
    lifted: tuple[int, ...]
    previous_summary: str
    recompaction: bool
    role: Role | None
    reasons: tuple[str, ...]
    around: int
    sizes: Sizes = field(repr=False, compare=False)

    @cached_property
    def tokens_before(self) -> int:
        """Tokens of the whole input."""
        return self.sizes.total(range(len(self.messages)))

    @cached_property
    def head_tokens(self) -> int:
        """Tokens of the head."""
        return self._tokens_without_handoffs(self.head)

    @cached_property
    def middle_tokens(self) -> int:
        """Tokens of the messages that are summarised, earlier handoffs taken off."""
        return self._tokens_without_handoffs(self.middle)

    @property
    def earlier_tokens(self) -> int:
        """Tokens of all earlier handoffs, standalone or merged, which are folded into the new summary."""
        return self.tokens_before - self.head_tokens - self.middle_tokens - self.tail_tokens

    @cached_property
    def tail_tokens(self) -> int:
        """Tokens of the tail, earlier handoffs taken off."""
        return self._tokens_without_handoffs(self.tail)

    @cached_property
    def summary_budget(self) -> int:
        """Tokens the summary may take: the policy's limit, and always less than what it replaces.

        Counts no more of the middle than that needs, the newest messages first.
        """
        around = self.around + SLACK
        most = self.policy.most_summary
        enough = max(math.ceil(most / self.policy.summary_ratio), most + around)
        merged = sum(map(self._handoff_tokens, (*self.head, *self.tail)))
        replaced = merged + self.sizes.up_to((*self.lifted, *reversed(self.middle)), enough - merged)
        return max(min(self.policy.summary_limit(replaced), replaced - around), 1)

    @property
    def tokens_after_estimate(self) -> int:
        """Tokens of the result if the summary uses its whole budget."""
        return self.head_tokens + self.tail_tokens + self.around + self.summary_budget

    def _tokens_without_handoffs(self, indices: Iterable[int]) -> int:
        return sum(self.sizes[i] - self._handoff_tokens(i) for i in indices)

    def _handoff_tokens(self, index: int) -> int:
        """Tokens of the earlier handoff that is merged into a message, 0 where there is none."""
        message = self.messages[index]
        if m.is_system(message) or not protocol.is_handoff(message):
            return 0
        return self.sizes[index] - message_tokens({**message, "content": m.live_content(message)}, self.count)


def plan(messages: Iterable[Message], policy: Policy, count: Counter) -> Plan:
    """Decide what a compaction keeps and what it summarises.

    `messages` are dicts in OpenAI chat shape, oldest first; `count` gives the tokens of a text. Raises NothingToCompact
    when the rules leave nothing worth replacing, BadTranscript when the input is not a list of messages.
    """
    rows = checked(messages)
    system = system_rows(rows)
    handoffs = [i for i in range(system, len(rows)) if protocol.is_handoff(rows[i])]
    lifted = {i for i in handoffs if m.is_standalone_handoff(rows[i])}
    earlier = [i for i in handoffs if not is_mask_note(rows[i])]
    again = bool(earlier) or is_recompaction(rows[:system])
    wanted = head_of(rows, policy, again)
    head_end = align_start(rows, wanted)
    _require_enough(len(rows) - head_end - len(lifted), policy)
    draft = _Draft(rows, head_end, lifted, Sizes(rows, count), policy)
    _require_middle(draft)
    reasons = [_head_reason(system, wanted, again), *_grown(head_end - wanted), *draft.reasons]
    if earlier:
        reasons.append(
            f"{plural(len(earlier), 'earlier summary', 'earlier summaries')} will be folded into the new one."
        )
    return Plan(
        rows, policy, count, tuple(draft.own(0, draft.head_end)), tuple(draft.middle()), tuple(draft.tail()),
        tuple(sorted(lifted)), "\n\n".join(filter(None, (_body(rows[i]) for i in earlier))), again, draft.role,
        tuple(reasons), draft.around, draft.sizes,
    )  # fmt: skip


def overhead(messages: Sequence[Message], count: Counter, rules: str) -> int:
    """Tokens of a handoff around an empty body, and of the note if the system message still lacks it."""
    tokens = count(protocol.handoff_text(with_rules("", rules))) + protocol.MESSAGE_TOKENS
    return tokens + (count(protocol.NOTE) if needs_note(messages) else 0)


def growth(head: list[Message], tail: list[Message], count: Counter, known: Repairs | None = None) -> int:
    """Tokens by which kept rows get longer, because a stub stands where a call without a result was left out.

    `known` are their repairs, if somebody has made them already.
    """
    kept = [*head, *tail]
    found = repairs(head, tail) if known is None else known
    made = ((kept[at], changes) for at, changes in found.items() if changes and "content" in changes)
    grown = (message_tokens({**row, **changes}, count) - message_tokens(row, count) for row, changes in made)
    return sum(tokens for tokens in grown if tokens > 0)


def needs_note(messages: Sequence[Message]) -> bool:
    """Whether message 0 is a system prompt that does not carry the note yet."""
    if not messages or not m.is_system(messages[0]):
        return False
    content = messages[0].get("content")
    readable = content is None or isinstance(content, (str, list, dict))
    return readable and protocol.NOTE_SENTENCE not in m.text(content).lower()


class _Draft:
    """A plan for a given head: where the tail starts, and which role the handoff gets there."""

    def __init__(
        self, rows: tuple[Message, ...], head_end: int, lifted: set[int], sizes: Sizes, policy: Policy
    ) -> None:
        self.rows, self.head_end, self.lifted, self.sizes, self.policy = rows, head_end, lifted, sizes, policy
        cut = find_tail(rows, head_end, policy, sizes, lifted)
        self.cut = cut.index
        self.role, moved = self._seat()
        self.reasons = [*cut.reasons, *moved]
        grown = growth(*self._kept(), sizes.count, None if moved else self._repairs)
        self.around = overhead(rows, sizes.count, policy.rules) + grown

    def own(self, start: int, end: int) -> Iterator[int]:
        """The rows of a stretch without earlier handoffs."""
        return (i for i in range(start, end) if i not in self.lifted)

    def middle(self) -> Iterator[int]:
        return self.own(self.head_end, self.cut)

    def tail(self) -> Iterator[int]:
        return self.own(self.cut, len(self.rows))

    def worth_it(self) -> bool:
        """Whether there is a middle, and it is larger than the smallest handoff that could replace it."""
        return self._worth_it(self.cut, self.around)

    def _worth_it(self, cut: int, around: int) -> bool:
        middle = partial(self.own, self.head_end, cut)
        if next(middle(), None) is None:
            return False
        return self.sizes.reach(chain(middle(), self.lifted), around + SLACK + protocol.SMALLEST_BODY_TOKENS)

    def _seat(self) -> tuple[Role | None, list[str]]:
        """The handoff's role; the cut moves back to where one fits if it can."""
        before, after = self._neighbours()
        role = fitting_role(before, after)
        if role is not None:
            return role, []
        at = self._better_cut(before)
        if at is None:
            return None, [
                "The summary will stand in front of the text of the first recent message, because as a message of its"
                " own it would stand beside one of the same role."
            ]
        moved, self.cut = self.cut - at, at
        return fitting_role(before, m.role_beside(self.rows[at])), [
            f"The cut moved back {plural(moved, 'message')} so that the summary can stand as a message of its own."
        ]

    def _kept(self) -> tuple[list[Message], list[Message]]:
        return [self.rows[i] for i in self.own(0, self.head_end)], [self.rows[i] for i in self.tail()]

    def _neighbours(self) -> tuple[str | None, str]:
        """Roles of the last head row (None: nothing but system rows) and the first tail row, as they will be sent."""
        head, tail = self._kept()
        self._repairs = repairs(head, tail)
        gone = {at for at, changes in self._repairs.items() if changes is None}
        before = [m.role_beside(row) for at, row in enumerate(head) if at not in gone and not m.is_system(row)]
        after = (m.role_beside(row) for at, row in enumerate(tail, len(head)) if at not in gone)
        return before[-1] if before else None, next(after, "")

    def _better_cut(self, before: str | None) -> int | None:
        """The nearest earlier place for the cut where a role fits, if that leaves something to summarise."""
        cuts = earlier_cuts(self.rows, self.cut, self.head_end, self.policy, self.sizes, self.lifted)
        at = next((at for at in cuts if fitting_role(before, m.role_beside(self.rows[at]))), None)
        return at if at and self._worth_it(at, overhead(self.rows, self.sizes.count, self.policy.rules)) else None


def fitting_role(before: str | None, after: str) -> Role | None:
    """A role that is neither neighbour's; leading the transcript only "user", which most providers demand there."""
    for role in ROLES:
        if role not in (before, after) and (before is not None or role == "user"):
            return role
    return None


def checked(messages: Iterable[Message]) -> tuple[Message, ...]:
    try:
        rows = tuple(messages)
    except TypeError:
        raise BadTranscript("not_messages", "The transcript is not a list of messages.") from None
    for at, row in enumerate(rows):
        if not isinstance(row, dict):
            raise BadTranscript(
                "not_messages", f"Message {at + 1} of the transcript is not an object with a role and content."
            )
    return rows


def _require_enough(after_head: int, policy: Policy) -> None:
    if policy.keep_last and policy.keep_last >= after_head:
        raise NothingToCompact(
            "keep_last",
            f"You asked to keep the last {policy.keep_last:,} messages, and after the start there are only"
            f" {max(after_head, 0):,}.",
        )
    if after_head <= protocol.FEWEST_TAIL + 1:
        raise NothingToCompact(
            "too_few",
            f"There are too few messages to compact: {plural(max(after_head, 0), 'message')} after the start.",
        )


def _require_middle(draft: _Draft) -> None:
    if next(draft.middle(), None) is None:
        if draft.cut > draft.head_end:
            raise NothingToCompact(
                "only_summaries",
                "Before the recent messages there is nothing but an earlier summary. Old tool output among them can"
                " still be shortened.",
            )
        raise NothingToCompact(
            "turn_in_progress",
            "Everything after the start stays word for word: it is the last user message, the last reply and what came"
            " after them. Old tool output among it can still be shortened.",
        )
    if not draft.worth_it():
        raise NothingToCompact("too_small", "The messages that could be summarised are shorter than a summary of them.")


def _head_reason(system: int, wanted: int, again: bool) -> str:
    if again:
        prompt = "only the system prompt stays" if system else "nothing stays"
        return f"Compacted before, so {prompt} at the start; the first request is not kept for ever."
    beside = "" if system else " (the system prompt, which is kept beside them, counts as one more)"
    return f"The first {plural(wanted, 'message')} stay{'s' if wanted == 1 else ''} as the start{beside}."


def _grown(by: int) -> list[str]:
    return [f"The start grew by {plural(by, 'message')} to keep tool results with their calls."] if by else []


def _body(message: Message) -> str:
    """The summary in a message, without the rules behind it: they are carried anew."""
    parts = protocol.split(message.get("content"), protocol.flag_of(message))
    return "\n\n".join(without_rules(part.text) for part in parts if part.kind == "summary")
