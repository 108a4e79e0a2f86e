"""Where the tail starts, what stays between head and handoff, and the handoff's role.

The cut goes back from the end by tokens, and further back for two anchors: the user's last message and the last reply a
person can read. An agent that works for hours has one request and hundreds of calls, so keeping everything from an
anchor on may leave nothing to summarise. Then the anchor alone is kept, word for word, before the handoff (a reply with
the message it answered, if it must not be alone), and the cut stays inside the turn. Both are decided again at each
compaction: once a newer anchor exists, the older one is summarised.

The handoff must not add two neighbours with the same role. Inside a running turn, after the user's message, no role
fits: there the handoff has the role assistant and is before a call. Strict chat templates do not count messages with
calls, and Hermes Agent places its own summaries by the same rule (`agent/context_compressor.py`,
`_template_visible_role`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Literal

from .. import messages as m
from ..handoff import NOTE, NOTE_SENTENCE, handoff_text, with_pins, with_recall, with_request, with_rules
from ..messages import Message, patched
from ..policy import MESSAGE_TOKENS, SHORT_SUMMARY_TOKENS, SMALLEST_WIN, Policy
from ..tokens import SLACK, Counter, Sizes, message_tokens
from ..tool_groups import Ids, Repairs, repairs
from .boundaries import (
    align_end,
    align_start,
    anchor_last_reply,
    anchor_last_user,
    by_tokens,
    last_reply,
    last_user,
    plural,
)

Role = Literal["user", "assistant"]
ROLES: tuple[Role, ...] = ("user", "assistant")
NONE_MERGED: Mapping[int, int] = MappingProxyType({})
_FIRST_WORDS = 3  # rows looked at: texts by two speakers in turn never leave a place between them


class Cut:
    """The cut for a given head, computed on creation; all attributes except the arguments are results.

    `index` is the first message of the tail, `held` the indices of earlier messages that stay before the handoff,
    `quoted` the message that the handoff repeats, `role` the handoff's role (None: it must be merged into the first
    tail message), `around` the tokens written besides the summary's body, `reasons` sentences for people. `carried` are
    the tokens for which the new summary must have room because earlier ones have them: they are not a gain. `merged`
    are the tokens of earlier handoffs in rows with other text, by index.
    """

    def __init__(
        self,
        rows: tuple[Message, ...],
        head_end: int,
        lifted: Collection[int],
        sizes: Sizes,
        policy: Policy,
        carried: int = 0,
        merged: Mapping[int, int] = NONE_MERGED,
    ) -> None:
        self.rows, self.head_end, self.lifted, self.sizes, self.policy = rows, head_end, lifted, sizes, policy
        self.carried, self.merged = carried, merged
        self.held: tuple[int, ...] = ()
        self.quoted: int | None = None
        self.index, why = by_tokens(len(rows), head_end, policy, sizes, lifted)
        self.reasons = [why]
        self.around = overhead(rows, sizes.count, policy)
        self._move(align_end(rows, self.index, head_end), "so that no tool call is parted from its results")
        self._anchor_user()
        self._anchor_reply()
        self._part_user_rows()
        self.role: Role | None = "user"
        if not policy.tail_only:
            self.role = self._seat()
            self.around += growth(*self._sent_rows(), sizes.count)

    def head(self) -> Iterator[int]:
        """The rows before the handoff."""
        return chain(self._own(0, self.head_end), self.held)

    def middle(self) -> Iterator[int]:
        """The rows to summarise, without earlier handoffs."""
        return self._between(self.head_end, self.index)

    def tail(self) -> Iterator[int]:
        """The rows after the handoff."""
        return self._own(self.index, len(self.rows))

    def worth_it(self) -> bool:
        """Whether the compaction can gain a tenth of the context and leave room for a short summary, or for one as long
        as the earlier ones.

        Counts what is kept, and of what is replaced no more than needed.
        """
        return self._worth_it(self.index, self.sizes.total(chain(self.head(), self.tail())))

    def _worth_it(self, index: int, kept: int) -> bool:
        middle = list(self._between(self.head_end, index))
        if not middle:
            return False
        body = max(min(SHORT_SUMMARY_TOKENS, self.policy.most_summary), self.carried)
        merged = sum(size for i, size in self.merged.items() if not self.head_end <= i < index)
        needed = replaced_for(body, kept - merged, self.around) - merged
        return self.sizes.reach(chain(reversed(middle), self.lifted), needed)

    # --- rows --------------------------------------------------------------------------------------------------------
    def _own(self, start: int, end: int) -> Iterator[int]:
        """The rows of a stretch, without earlier handoffs."""
        return (i for i in range(start, end) if i not in self.lifted)

    def _between(self, start: int, end: int) -> Iterator[int]:
        return (i for i in self._own(start, end) if i not in self.held)

    def _sent_rows(self) -> tuple[list[Message], list[Message]]:
        return [self.rows[i] for i in self.head()], [self.rows[i] for i in self.tail()]

    # --- anchors -----------------------------------------------------------------------------------------------------
    def _move(self, index: int, why: str) -> None:
        if index < self.index:
            self.reasons.append(f"The cut moved back {plural(self.index - index, 'message')} {why}.")
            self.index = index
            self.held = tuple(i for i in self.held if i < index)

    def _anchor_user(self) -> None:
        at = last_user(self.rows)
        if at is None or not self.head_end <= at < self.index:
            return
        moved = self._whole_from(at, anchor_last_user)
        if moved is not None:
            self._move(moved, "to keep the last user message")
        elif m.is_typed(self.rows[at]) and self.policy.tail_only:
            self._quote(at)
        elif m.is_typed(self.rows[at]):
            self.held = (at,)
            self.reasons.append(
                "The turn that the last user message started is too long to stay as a whole: the message stays word"
                " for word, directly before the summary, and the cut is inside the turn."
            )

    def _part_user_rows(self) -> None:
        """End the head before a user's row if the held user's row would otherwise follow it directly and did not
        before.
        """
        while self.held and m.role(self.rows[self.held[0]]) == "user" and self.held[0] > self.head_end:
            last = self.head_end - 1
            if last < 0 or last in self.lifted or m.role(self.rows[last]) != "user" or m.answers(self.rows[last]):
                break
            self.head_end = last
            self.reasons.append(
                f"Message {last + 1} at the start goes into the summary: the last user message would stand behind it."
            )

    def _quote(self, at: int) -> None:
        """Make the handoff repeat the text of a message that cannot stay."""
        if text := m.words(self.rows[at]).strip():
            self.quoted = at
            self.around += self.sizes.count(with_request("", text))
            self.reasons.append(
                "The turn that the last user message started is too long to stay as a whole: the summary repeats the"
                " message word for word, and the cut is inside the turn."
            )

    def _anchor_reply(self) -> None:
        at = last_reply(self.rows)
        if at is None or not self.head_end <= at < self.index:
            return
        moved = None if any(i > at for i in self.held) else self._whole_from(at, anchor_last_reply)
        if moved is not None:
            self._move(moved, "to keep the last reply a person can read")
        elif m.is_readable_reply(self.rows[at]):
            exchange = [] if self.policy.tail_only else self._exchange(at)
            self.held = tuple(sorted({*self.held, *exchange}))
            where = "stays word for word, before the summary" if exchange else "goes into the summary"
            if exchange and exchange[-1] == at and m.calls(self.rows[at]):
                where += ", without its calls, whose results are too large"
            self.reasons.append(f"The last reply a person can read is far back: it {where}.")

    def _exchange(self, at: int) -> list[int]:
        """The reply at `at`, with its results if they are small. If it would otherwise lead the context or follow
        another reply, also the user's message it answered; an empty list if there is none or it is large.

        Anthropic refuses a context that starts with an assistant message, and Hermes up to 0.19 sends it unchanged.
        """
        small = self.policy.soft_ceiling - self.policy.tail_budget
        group = list(self._own(at, align_start(self.rows, at + 1)))
        if self.sizes.reach(group, small + 1):
            group = [at]  # its words: a repair takes the calls off
        before = [i for i in self.head() if i < at and not m.is_system(self.rows[i])]
        if before and m.role_beside(self.rows[before[-1]]) != "assistant":
            return group
        questions = (i for i in range(at - 1, self.head_end - 1, -1) if m.is_user_message(self.rows[i]))
        question = next(questions, None)
        if question is None or self.sizes.reach([question], small + 1):
            return []
        return [question, *group]

    def _whole_from(self, at: int, anchor: Callable[[Sequence[Message], int, int], int]) -> int | None:
        """The start of a tail that keeps this message and everything after it; `anchor` moves the cut to the message.

        None if that leaves too little to summarise, or keeps the context at the agent's threshold.
        """
        if self._is_full(at):  # checked before looking for calls, so that the cost grows only with the kept rows
            return None
        index = anchor(self.rows, self.index, self.head_end)
        kept = self.sizes.total(chain(self.head(), self._own(index, len(self.rows))))
        return None if self._is_full(index) or not self._worth_it(index, kept) else index

    def _is_full(self, index: int) -> bool:
        kept = chain(reversed(list(self._own(index, len(self.rows)))), self.head())
        return self.sizes.reach(kept, self.policy.enough - self.policy.most_summary)

    # --- the handoff's role ------------------------------------------------------------------------------------------
    def _seat(self) -> Role | None:
        """The handoff's role; the cut moves to a position where a role fits, if possible."""
        before, after = self._neighbours()
        role = fitting_role(_role(before), _role(after) or "")
        if role is not None:
            return role
        at = self._earlier(_role(before))
        if at is not None:
            self._move(at, "so that the summary can stand as a message of its own")
            return fitting_role(_role(before), m.role_beside(self.rows[at]))
        role = self._behind_first_words()
        if role is not None:
            return role
        self.reasons.append(
            "The summary will be in one message with the text of the first recent message, because as a message of its"
            " own it would stand beside one of the same role."
        )
        return None

    def _neighbours(self) -> tuple[Message | None, Message | None]:
        """The last row before the handoff (None: only system rows) and the first one after it, as they are sent."""
        head, tail = self._sent_rows()
        changed = repairs(head, tail)
        sent = [
            patched(row, changes) if (changes := changed.get(at, {})) is not None else None
            for at, row in enumerate([*head, *tail])
        ]
        before = [row for row in sent[: len(head)] if row is not None and not m.is_system(row)]
        return before[-1] if before else None, next((row for row in sent[len(head) :] if row is not None), None)

    def _earlier(self, before: str | None) -> int | None:
        """The nearest earlier index for the cut at which a role fits, if that leaves something to summarise."""
        lowest = max((self.head_end, *(i + 1 for i in self.held)))
        cuts = earlier_cuts(self.rows, self.index, lowest, self.policy, self.sizes, self.lifted)
        at = next((at for at in cuts if fitting_role(before, m.role_beside(self.rows[at]))), None)
        if at is None:
            return None
        kept = self.sizes.total(chain(self.head(), self._own(at, len(self.rows))))
        return at if self._worth_it(at, kept) else None

    def _behind_first_words(self) -> Role | None:
        """The role that fits after the first words of the tail, which then stay unchanged before the handoff.

        These are the user's message of the running work, and the reply to it if that has no calls.
        """
        held_before, index, role = self.held, self.index, None
        for _ in range(_FIRST_WORDS + 1):
            role = _any_fitting(*self._neighbours())
            first, *rest = self.tail()
            if role or not rest or m.calls(self.rows[first]) or m.answers(self.rows[first]):
                break
            self.held, self.index = (*self.held, first), rest[0]
        if role is None:
            self.held, self.index = held_before, index
        elif self.held != held_before:
            moved = plural(len(self.held) - len(held_before), "recent message")
            self.reasons.append(f"The first {moved} will stand directly before the summary.")
        return role


def _role(message: Message | None) -> str | None:
    return None if message is None else m.role_beside(message)


def fitting_role(before: str | None, after: str) -> Role | None:
    """A role that neither neighbour has; at the start of the transcript only "user", which most providers require
    there.
    """
    for role in ROLES:
        if role not in (before, after) and (before is not None or role == "user"):
            return role
    return None


def _any_fitting(before: Message | None, after: Message | None) -> Role | None:
    """Like `fitting_role`; before a call also "assistant", and None if nothing follows."""
    if after is None:
        return None
    role = fitting_role(_role(before), m.role_beside(after))
    return role or ("assistant" if before is not None and fits("assistant", before, after) else None)


def fits(role: Role, before: Message | None, after: Message | None) -> bool:
    """Whether a handoff of this role fits between these messages: no neighbour has its role, except a call after it."""
    if before is not None and m.role_beside(before) == role:
        return False
    return after is None or m.role_beside(after) != role or _calls(after)


def _calls(message: Message) -> bool:
    return m.role(message) == "assistant" and bool(m.calls(message))


def earlier_cuts(
    messages: Sequence[Message], cut: int, lowest: int, policy: Policy, sizes: Sizes, lifted: Collection[int]
) -> Iterator[int]:
    """Rows between `lowest` and `cut`, nearest first, before which the tail can also start.

    Inside the soft ceiling and outside every tool group.
    """
    used = sizes.total(i for i in range(cut, len(messages)) if i not in lifted)
    results = Ids()
    for at in range(cut - 1, lowest, -1):
        if at in lifted:
            continue
        used += sizes[at]
        if used > policy.soft_ceiling:
            return
        answered = m.answers(messages[at])
        results.add(answered)
        complete = [results.take(call.ids) for call in m.calls(messages[at])]
        goes = m.is_call_item(messages[at]) and not all(complete)  # a repair leaves it out; another row would be first
        if not answered and not results and not goes:
            yield at


def overhead(messages: Sequence[Message], count: Counter, policy: Policy) -> int:
    """Tokens of a handoff with all pins and an empty body, and of the note if the system message needs it."""
    body = with_rules(with_pins(with_recall("", policy.recall), policy.pinned), policy.rules)
    tokens = count(handoff_text(body, policy.handoff)) + MESSAGE_TOKENS
    return tokens + (count(NOTE) if needs_note(messages, policy) else 0)


def growth(head: list[Message], tail: list[Message], count: Counter) -> int:
    """Tokens by which kept rows get longer, because a stub replaces a call without a result."""
    kept = [*head, *tail]
    changed: Repairs = repairs(head, tail)
    rewritten = ((kept[at], changes) for at, changes in changed.items() if changes and "content" in changes)
    grown = (message_tokens({**row, **changes}, count) - message_tokens(row, count) for row, changes in rewritten)
    return sum(tokens for tokens in grown if tokens > 0)


def replaced_for(body: int, kept: int, around: int) -> int:
    """Tokens that must be replaced so that a summary of `body` tokens gains the smallest share of the context."""
    share = SMALLEST_WIN
    return math.ceil((share * kept + around + SLACK + body) / (1 - share))


def room_in(replaced: int, kept: int, around: int) -> int:
    """The maximum tokens of a summary that replaces so many tokens and gains the smallest share of the context."""
    return int(replaced - around - SLACK - SMALLEST_WIN * (kept + replaced))


def needs_note(messages: Sequence[Message], policy: Policy) -> bool:
    """Whether message 0 is a system prompt that should have the note and does not yet."""
    if policy.handoff != "hermes" or not messages or not m.is_system(messages[0]):
        return False
    content = messages[0].get("content")
    readable = content is None or isinstance(content, (str, list, dict))
    return readable and NOTE_SENTENCE not in m.text(content).lower()
