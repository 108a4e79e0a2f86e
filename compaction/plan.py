"""Messages and a policy to a plan: which messages stay, which are summarised, and why. No model, no input changed."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from . import messages as m
from . import protocol
from .boundaries import Sizes, align_start, find_tail, head_of, is_recompaction, plural, system_rows
from .errors import BadTranscript, NothingToCompact
from .messages import Message
from .pairs import take
from .policy import Policy
from .repair import repairs
from .tokens import Counter, message_tokens

Role = Literal["user", "assistant"]
ROLES: tuple[Role, ...] = ("user", "assistant")
SLACK = 8  # tokens by which a text may differ from the sum of its parts


@dataclass(frozen=True)
class Plan:
    """What a compaction would do. Indices are positions in `messages`; each stands in exactly one of the four tuples.

    `lifted` are standalone earlier handoffs, wherever they stand; `previous_summary` the bodies of all earlier ones,
    oldest first (a merged one keeps its index where its live text goes). `role` is the new handoff's, None if it must
    be merged into the first tail message. `reasons` are sentences for people. Token totals are counted when first read.
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
        """Tokens the summary may take: the policy's limit, and always less than what it replaces."""
        replaced = self.middle_tokens + self.earlier_tokens
        room = replaced - overhead(self.messages, self.count) - SLACK
        return max(min(self.policy.summary_limit(replaced), room), 1)

    @property
    def tokens_after_estimate(self) -> int:
        """Tokens of the result if the summary uses its whole budget."""
        return self.head_tokens + self.tail_tokens + overhead(self.messages, self.count) + self.summary_budget

    def _tokens_without_handoffs(self, indices: Iterable[int]) -> int:
        total = 0
        for i in indices:
            message = self.messages[i]
            if protocol.is_handoff(message) and not m.is_system(message):
                total += message_tokens({**message, "content": m.live_content(message)}, self.count)
            else:
                total += self.sizes[i]
        return total


def plan(messages: Iterable[Message], policy: Policy, count: Counter) -> Plan:
    """Decide what a compaction keeps and what it summarises.

    `messages` are dicts in OpenAI chat shape, oldest first; `count` gives the tokens of a text. Raises NothingToCompact
    when the rules leave nothing worth replacing, BadTranscript when the input is not a list of messages.
    """
    rows = _checked(messages)
    sizes = Sizes(rows, count)
    system = system_rows(rows)
    handoffs = [i for i in range(system, len(rows)) if protocol.is_handoff(rows[i])]
    lifted = {i for i in handoffs if m.is_standalone_handoff(rows[i])}
    again = bool(handoffs) or is_recompaction(rows[:system])
    wanted = head_of(rows, policy, again)
    head_end = align_start(rows, wanted)
    _require_enough(len(rows) - head_end - len(lifted), policy)
    cut = find_tail(rows, head_end, policy, sizes)
    draft = _Draft(rows, head_end, cut.index, lifted, sizes, policy)
    role, moved = draft.seat()
    _require_middle(draft)
    reasons = [_head_reason(system, wanted, again), *_grown(head_end - wanted), *cut.reasons, *moved]
    if handoffs:
        reasons.append(
            f"{plural(len(handoffs), 'earlier summary', 'earlier summaries')} will be folded into the new one."
        )
    return Plan(
        rows, policy, count, tuple(range(head_end)), tuple(draft.middle()), tuple(draft.tail()), tuple(sorted(lifted)),
        "\n\n".join(filter(None, (_body(rows[i]) for i in handoffs))), again, role, tuple(reasons), sizes,
    )  # fmt: skip


def overhead(messages: Sequence[Message], count: Counter) -> int:
    """Tokens of a handoff around an empty body, and of the note if the system message still lacks it."""
    tokens = count(protocol.handoff_text("")) + protocol.MESSAGE_TOKENS
    return tokens + (count(protocol.NOTE) if needs_note(messages) else 0)


def needs_note(messages: Sequence[Message]) -> bool:
    """Whether message 0 is a system prompt with text that does not carry the note yet."""
    if not messages or not m.is_system(messages[0]):
        return False
    content = messages[0].get("content")
    return isinstance(content, (str, list)) and protocol.NOTE_SENTENCE not in m.text(content).lower()


@dataclass(slots=True)
class _Draft:
    """A plan while its cut may still move."""

    rows: tuple[Message, ...]
    head_end: int
    cut: int
    lifted: set[int]
    sizes: Sizes
    policy: Policy

    def middle(self, cut: int | None = None) -> list[int]:
        return [i for i in range(self.head_end, self.cut if cut is None else cut) if i not in self.lifted]

    def tail(self) -> list[int]:
        return [i for i in range(self.cut, len(self.rows)) if i not in self.lifted]

    def worth_it(self, cut: int | None = None) -> bool:
        """Whether there is a middle, and it is larger than the smallest handoff that could replace it."""
        middle = self.middle(cut)
        least = overhead(self.rows, self.sizes.count) + SLACK + protocol.SMALLEST_BODY_TOKENS
        return bool(middle) and self.sizes.reach([*middle, *self.lifted], least)

    def seat(self) -> tuple[Role | None, list[str]]:
        """The handoff's role; the cut moves back to where one fits if it can."""
        before, after = self._neighbours()
        role = _fitting(before, after)
        if role is not None:
            return role, []
        at = self._better_cut(before)
        if at is None:
            return None, [
                "The summary will stand in front of the text of the first recent message, because as a message of its"
                " own it would stand beside one of the same role."
            ]
        moved, self.cut = self.cut - at, at
        return _fitting(before, m.role(self.rows[at])), [
            f"The cut moved back {plural(moved, 'message')} so that the summary can stand as a message of its own."
        ]

    def _neighbours(self) -> tuple[str | None, str]:
        """Roles of the last head row (None: nothing but system rows) and the first tail row, as they will be sent."""
        head, tail = self.rows[: self.head_end], [self.rows[i] for i in self.tail()]
        gone = {at for at, changes in repairs(head, tail).items() if changes is None}
        before = [m.role(row) for at, row in enumerate(head) if at not in gone and not m.is_system(row)]
        after = (m.role(row) for at, row in enumerate(tail, len(head)) if at not in gone)
        return before[-1] if before else None, next(after, "")

    def _better_cut(self, before: str | None) -> int | None:
        """The nearest earlier row, inside the soft ceiling and outside every tool group, beside which a role fits."""
        used = self.sizes.total(self.tail())
        results: Tally[str] = Tally()
        for at in range(self.cut - 1, self.head_end, -1):
            row = self.rows[at]
            if at in self.lifted:
                continue
            used += self.sizes[at]
            if used > self.policy.soft_ceiling:
                return None
            results.update(m.answers(row))
            for call in m.calls(row):
                take(results, call.ids)
            if not m.answers(row) and not +results and _fitting(before, m.role(row)):
                return at if self.worth_it(at) else None
        return None


def _fitting(before: str | None, after: str) -> Role | None:
    """A role that is neither neighbour's; leading the transcript only "user", which most providers demand there."""
    for role in ROLES:
        if role not in (before, after) and (before is not None or role == "user"):
            return role
    return None


def _checked(messages: Iterable[Message]) -> tuple[Message, ...]:
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
    if not draft.middle():
        if (
            draft.lifted
            and all(i in draft.lifted for i in range(draft.head_end, draft.cut))
            and draft.cut > draft.head_end
        ):
            raise NothingToCompact(
                "only_summaries", "Before the recent messages there is nothing but an earlier summary."
            )
        raise NothingToCompact(
            "turn_in_progress",
            "Everything after the start stays word for word: it is the last user message, the last reply and what came"
            " after them.",
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
    parts = protocol.split(message.get("content"), protocol.flag_of(message))
    return "\n\n".join(part.text for part in parts if part.kind == "summary")
