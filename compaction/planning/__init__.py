"""From messages and a policy to a plan: which messages stay, which are summarised, and why. No model; no input is
changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from .. import messages as m
from ..errors import BadTranscript, NothingToCompact
from ..handoff import bare, flag_of, is_handoff, split
from ..messages import Message
from ..policy import FEWEST_TAIL, Policy
from ..tokens import Counter, Sizes, message_tokens
from .boundaries import align_start, head_size, is_prune_note, is_recompaction, plural, system_rows
from .cut import Cut, Role, replaced_for, room_in


@dataclass(frozen=True)
class Plan:
    """What a compaction would do. Indices are positions in `messages`; each index is in exactly one of the four tuples.

    `head` is before the handoff: the start and, if a running turn is too long to be kept whole, the user's message and
    the last reply. `lifted` are standalone earlier handoffs, at any position; `previous_summary` is the bodies of all
    earlier ones, oldest first (a merged one keeps its index with its live text). `role` is the new handoff's role, None
    if it must be merged into the first tail message. `reasons` are sentences for people. `around` are the tokens
    written besides the summary's body. `quoted` is the message of the middle that the handoff repeats, None if there is
    none. Messages before `since` are older than `previous_summary`. Token totals are counted when first read.
    """

    messages: tuple[Message, ...] = field(repr=False)
    policy: Policy
    count: Counter
    head: tuple[int, ...]
    middle: tuple[int, ...]
    tail: tuple[int, ...]
    lifted: tuple[int, ...]
    previous_summary: str = field(repr=False)
    recompaction: bool
    role: Role | None
    reasons: tuple[str, ...]
    around: int
    sizes: Sizes = field(repr=False, compare=False)
    quoted: int | None = field(default=None, kw_only=True)
    since: int = field(default=0, kw_only=True)

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
        """Tokens of the messages that are summarised, without earlier handoffs."""
        return self._tokens_without_handoffs(self.middle)

    @property
    def keeps_middle(self) -> bool:
        """Whether the middle stays in the context, shortened."""
        return False

    @property
    def before(self) -> tuple[int, ...]:
        """All messages before the handoff, in order."""
        return self.head

    @property
    def written(self) -> tuple[int, ...]:
        """All messages that stay, shortened or not."""
        return (*self.head, *self.tail, *(self.middle if self.keeps_middle else ()))

    @property
    def earlier_tokens(self) -> int:
        """Tokens of all earlier handoffs, standalone or merged, which are folded into the new summary."""
        return self.tokens_before - self.head_tokens - self.middle_tokens - self.tail_tokens

    @cached_property
    def tail_tokens(self) -> int:
        """Tokens of the tail, without earlier handoffs."""
        return self._tokens_without_handoffs(self.tail)

    @cached_property
    def summary_budget(self) -> int:
        """Tokens for the summary: as many as the earlier summaries that it replaces, plus the policy's share of what is
        new. At most what is replaced minus a tenth of the context, and at most the policy's limit.

        Counts no more of the middle than needed, the newest messages first.
        """
        kept, most = self.head_tokens + self.tail_tokens, self.policy.most_summary
        enough = max(math.ceil(most / self.policy.summary_ratio), replaced_for(most, kept, self.around))
        earlier = sum(map(self._handoff_tokens, (*self.head, *self.tail))) + self.sizes.total(self.lifted)
        new = self.sizes.up_to(reversed(self.middle), enough)
        limit = min(self.policy.summary_limit(new) + self.carried, most)
        return max(min(limit, room_in(earlier + new, kept, self.around)), 1)

    @cached_property
    def carried(self) -> int:
        """Tokens of the earlier summaries, up to the maximum of a summary: the new one has room for as many."""
        return carried(self.previous_summary, self.policy, self.count)

    @property
    def tokens_after_estimate(self) -> int:
        """Tokens of the result if the summary uses its whole budget."""
        return self.head_tokens + self.tail_tokens + self.around + self.summary_budget

    def _tokens_without_handoffs(self, indices: Iterable[int]) -> int:
        return sum(self.sizes[i] - self._handoff_tokens(i) for i in indices)

    def _handoff_tokens(self, index: int) -> int:
        """Tokens of the earlier handoff that is merged into a message, 0 if there is none."""
        return merged_tokens(self.messages[index], self.sizes[index], self.count)


def plan(messages: Iterable[Message], policy: Policy, count: Counter) -> Plan:
    """Decide what a compaction keeps and what it summarises.

    `messages` are dicts in OpenAI chat shape, oldest first; `count` gives the tokens of a text. Raises NothingToCompact
    if the rules leave nothing worth replacing, BadTranscript if the input is not a list of messages.
    """
    rows = checked(messages)
    system = system_rows(rows)
    handoffs = [i for i in range(system, len(rows)) if is_handoff(rows[i])]
    lifted = {i for i in handoffs if m.is_standalone_handoff(rows[i])}
    earlier = [i for i in handoffs if not is_prune_note(rows[i])]
    again = bool(earlier) or is_recompaction(rows[:system])
    size = head_size(rows, policy, again)
    head_end = align_start(rows, size)
    _require_enough(len(rows) - head_end - len(lifted), policy)
    previous = "\n\n".join(filter(None, (_body(rows[i]) for i in earlier)))
    sizes = Sizes(rows, count)
    merged = {i: merged_tokens(rows[i], sizes[i], count) for i in handoffs if i not in lifted}
    cut = Cut(rows, head_end, lifted, sizes, policy, carried(previous, policy, count), merged)
    _require_middle(cut)
    pinned = [_pinned_reason(policy, count)] if policy.pinned else []
    reasons = [_head_reason(system, size, again, policy), *_grown(head_end - size), *cut.reasons, *pinned]
    draft = Plan(
        rows, policy, count, tuple(cut.head()), tuple(cut.middle()), tuple(cut.tail()), tuple(sorted(lifted)),
        previous, again, cut.role, tuple(reasons), cut.around, sizes, quoted=cut.quoted,
        since=max(earlier, default=0),
    )  # fmt: skip
    return replace(draft, reasons=(*reasons, _folded(len(earlier), draft))) if earlier else draft


def _folded(n: int, draft: Plan) -> str:
    """The sentence about what happens to the earlier summaries."""
    what = plural(n, "earlier summary", "earlier summaries")
    return (
        f"{what} of {draft.count(draft.previous_summary):,} tokens will be folded into the new one, which has room for"
        f" {draft.summary_budget:,}."
    )


def carried(previous_summary: str, policy: Policy, count: Counter) -> int:
    """Tokens of the earlier summaries, up to the maximum of a summary."""
    return min(count(previous_summary), policy.most_summary) if previous_summary else 0


def merged_tokens(message: Message, size: int, count: Counter) -> int:
    """Of the `size` tokens of a message, those of the earlier handoff in it; 0 if there is none."""
    if m.is_system(message) or not is_handoff(message):
        return 0
    return size - message_tokens({**message, "content": m.live_content(message)}, count)


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
    if after_head <= FEWEST_TAIL + 1:
        raise NothingToCompact(
            "too_few",
            f"There are too few messages to compact: {plural(max(after_head, 0), 'message')} after the start.",
        )


def _require_middle(cut: Cut) -> None:
    if next(cut.middle(), None) is None:
        if cut.index > cut.head_end:
            raise NothingToCompact("only_summaries", "Before the recent messages there are only earlier summaries.")
        raise NothingToCompact("turn_in_progress", "Everything after the start is recent and stays word for word.")
    if not cut.worth_it():
        if cut.carried:
            raise NothingToCompact(
                "too_small",
                "Too little would be won: what was said since the last summary, less the"
                f" {cut.carried:,} tokens which that summary keeps, is not a tenth of the context.",
            )
        raise NothingToCompact(
            "too_small",
            "Too little would be won: what could be summarised, less the room its summary takes, is not a tenth of the"
            " context.",
        )


def _head_reason(system: int, size: int, again: bool, policy: Policy) -> str:
    if policy.tail_only:
        return "The agent puts a summary in front of all that stays: nothing of the start can be kept before it."
    if again:
        prompt = "only the system prompt stays" if system else "nothing stays"
        return f"Compacted before, so {prompt} at the start; the first request is not kept for ever."
    beside = "" if system else " (the system prompt, which is kept beside them, counts as one more)"
    return f"The first {plural(size, 'message')} stay{'s' if size == 1 else ''} as the start{beside}."


def _pinned_reason(policy: Policy, count: Counter) -> str:
    tokens, pins = sum(map(count, policy.pinned)), len(policy.pinned)
    return f"{plural(pins, 'pinned message')} ({tokens:,} tokens) {'stays' if pins == 1 else 'stay'} word for word."


def _grown(by: int) -> list[str]:
    return [f"The start grew by {plural(by, 'message')} to keep tool results with their calls."] if by else []


def _body(message: Message) -> str:
    """The summary in a message, without what follows it, which is added again."""
    parts = split(message.get("content"), flag_of(message))
    return "\n\n".join(bare(part.text) for part in parts if part.kind == "summary")
