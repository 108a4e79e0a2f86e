"""Pruning: old tool output becomes one line, long arguments are cut, nothing is summarised. No model is asked.

Every row before the tail stays in its position, and everything people and the assistant said stays word for word, so
the plan needs neither a start nor anchors: its `middle` are the rows that get shorter, its `head` all others before the
tail. One short note before the tail is the handoff, so that agents and readers see a boundary there; an earlier note is
replaced, real summaries stay in place.

A second run changes nothing: the size of a tail does not depend on what was shortened before it, lines that replace an
output begin with a fixed mark, and cut arguments are short.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from .. import messages as m
from ..applying import Result, Rewrites
from ..errors import NothingToCompact
from ..handoff import FLAG, MERGE_DELIMITER, PRIOR_HEADER, PRUNE_SENTENCE, handoff_text, is_handoff
from ..messages import Message, patched
from ..planning import Plan, checked
from ..planning.boundaries import align_end, is_prune_note, is_recompaction, plural, system_rows, walk_back
from ..planning.cut import Role, earlier_cuts, fitting_role, growth
from ..policy import FEWEST_TAIL, MESSAGE_TOKENS, SMALLEST_WIN, Policy
from ..tokens import SLACK, Counter, Sizes
from ..tool_groups import repairs
from .outputs import Shortened, shortened


@dataclass(frozen=True)
class PrunePlan(Plan):
    """A plan whose `middle` stays in place and gets shorter; `shorter` has the new values for each of its indices.

    `head` are all other messages before the tail, `lifted` earlier notes of this strategy. There is no summary:
    `previous_summary` is empty and `summary_budget` is the size of the note.
    """

    shorter: Mapping[int, Shortened] = field(repr=False)

    @property
    def keeps_middle(self) -> bool:
        return True

    @property
    def before(self) -> tuple[int, ...]:
        """All messages before the note, in order."""
        return tuple(sorted((*self.head, *self.middle)))

    @cached_property
    def won(self) -> int:
        """Tokens by which the messages get shorter, without the note."""
        return sum(self.sizes[i] - self.shorter[i].tokens for i in self.middle)

    @property
    def note(self) -> str:
        """The body of the note."""
        outputs = sum(each.outputs for each in self.shorter.values())
        calls = sum(each.calls for each in self.shorter.values())
        what = [plural(outputs, "output")] if outputs else []
        what += [f"the long arguments of {plural(calls, 'tool call')}"] if calls else []
        return (
            f"{PRUNE_SENTENCE} This was done to {' and to '.join(what)}; every message above stands as it was"
            " said, and requests in it that are not answered yet still stand. The originals are in the session's"
            " history."
        )

    @cached_property
    def summary_budget(self) -> int:
        """Tokens of the note."""
        return self.count(self.note)

    @property
    def tokens_after_estimate(self) -> int:
        """Tokens of the result."""
        return super().tokens_after_estimate + self.middle_tokens - self.won

    def _handoff_tokens(self, index: int) -> int:
        """Tokens of an earlier note; real summaries are not removed."""
        return super()._handoff_tokens(index) if is_prune_note(self.messages[index]) else 0


def plan(messages: Iterable[Message], policy: Policy, count: Counter) -> PrunePlan:
    """Decide which old tool output and arguments get shorter.

    Raises NothingToCompact if that would gain less than the note costs, BadTranscript if the input is not a list of
    messages. Counts the rows that can get shorter, and the tail.
    """
    # An earlier handoff, which stays, carries the rules already; and every message stays where it is.
    policy = replace(policy, rules="", tail_only=False)
    rows = checked(messages)
    sizes = Sizes(rows, count)
    start = system_rows(rows)
    lifted = {i for i in range(start, len(rows)) if is_prune_note(rows[i]) and m.is_standalone_handoff(rows[i])}
    sent = _as_sent(rows, lifted)
    seat = _seat(list(sent.values()), start, policy, count)
    cut = [*sent, len(rows)][seat.cut]
    candidates = shortened(rows, cut, count)
    shorter = {i: each for i, each in candidates.items() if i not in lifted and sizes.reach([i], each.tokens + 1)}
    before = [i for i in range(cut) if i not in lifted]
    tail = [i for i in range(cut, len(rows)) if i not in lifted]
    kept = [patched(rows[i], shorter[i].changes) if i in shorter else rows[i] for i in before]
    draft = PrunePlan(
        rows, policy, count, tuple(i for i in before if i not in shorter), tuple(i for i in before if i in shorter),
        tuple(tail), tuple(sorted(lifted)), "", is_recompaction(rows), seat.role,
        (*seat.reasons, *_lifted_reason(len(lifted))),
        _around(seat.role, count, policy) + growth(kept, [rows[i] for i in tail], count),
        sizes, shorter,
    )  # fmt: skip
    _require_gain(draft)
    return draft


def apply(plan: PrunePlan) -> Result:
    """The transcript with the plan's middle shortened and the note before its tail.

    `Result.summary` is the note's body. Raises BadTranscript if no valid result can be built; the input is unchanged
    either way.
    """
    draft = Rewrites(plan, "note")
    for i in draft.kept:
        if i in plan.shorter:
            draft.change(i, plan.shorter[i].changes, "shortened")
        elif is_prune_note(plan.messages[i]):
            draft.unwrap(i)
    return draft.result(plan.note)


def would_win(messages: Sequence[Message], policy: Policy, count: Counter) -> int:
    """Tokens this strategy would gain; 0 if that is too small a share."""
    try:
        draft = plan(messages, policy, count)
    except NothingToCompact:
        return 0
    won = draft.tokens_before - draft.tokens_after_estimate
    return won if won >= SMALLEST_WIN * draft.tokens_before else 0


def compact(messages: Iterable[Message], policy: Policy, count: Counter) -> Result:
    """`plan` and `apply` in one; raises what they raise."""
    return apply(plan(messages, policy, count))


# --- where the tail starts -------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Seat:
    """The position of the note: before the row at `cut`, as a message of this role or, without a role, merged into that
    row.
    """

    cut: int
    role: Role | None
    reasons: tuple[str, ...]


def _as_sent(rows: tuple[Message, ...], lifted: set[int]) -> dict[int, Message]:
    """The rows by index without earlier notes, and with calls and results complete.

    So a second run gets the same rows as the first and finds the same position.
    """
    own = {i: _bare(row) for i, row in enumerate(rows) if i not in lifted}
    changed = repairs([], list(own.values()))
    changed_rows = ((i, row, changed.get(at, {})) for at, (i, row) in enumerate(own.items()))
    return {i: patched(row, changes) for i, row, changes in changed_rows if changes is not None}


def _bare(row: Message) -> Message:
    return {**row, "content": m.live_content(row), FLAG: False} if is_prune_note(row) else row


def _seat(rows: list[Message], start: int, policy: Policy, count: Counter) -> _Seat:
    """The nearest position for the note, going back from the budget's cut, at which a role fits; else merged into a
    message.
    """
    sizes = Sizes(rows, count)
    cut, why = _cut(rows, start, policy, sizes)
    back = [cut, *earlier_cuts(rows, cut, start, policy, sizes, ())]
    places = [at for at in back if 0 < at < len(rows) and not is_handoff(rows[at])]
    for at in places:
        before = rows[at - 1]
        role = fitting_role(None if m.is_system(before) else m.role_beside(before), m.role_beside(rows[at]))
        if role is not None:
            moved = f"The cut moved back {plural(cut - at, 'message')} so that the note can stand by itself."
            return _Seat(at, role, (why, moved) if at < cut else (why,))
    if not places:
        raise NothingToCompact("too_small", "There is no old tool output before the recent messages.")
    merged = "The note will stand in front of the text of the first recent message: no role fits it by itself."
    return _Seat(places[0], None, (why, merged))


def _cut(rows: list[Message], start: int, policy: Policy, sizes: Sizes) -> tuple[int, str]:
    """The cut by tokens and, so that a small context has old output too, by a share of the messages that are not
    results.

    It does not depend on the rows before the cut.
    """
    spoken = [i for i in range(start, len(rows)) if not m.answers(rows[i])]
    fewest = max(FEWEST_TAIL, min(policy.fewest_tail, len(spoken) // 2))
    most = max(fewest, int(len(spoken) * policy.target_ratio), policy.keep_last or 0)
    lowest = spoken[-most] if most <= len(spoken) else start
    recent = range(len(rows) - 1, lowest - 1, -1)
    first, kept, used = walk_back(recent, policy, sizes, policy.tail_budget, fewest)
    cut = align_end(rows, len(rows) if first is None else first, start)
    return cut, f"The last {plural(kept, 'message')} ({used:,} tokens) stay as they are, with the calls they answer."


def _lifted_reason(notes: int) -> list[str]:
    return ["The note of an earlier run is replaced."] if notes else []


def _around(role: Role | None, count: Counter, policy: Policy) -> int:
    """Tokens around the note's body: of its message, or of the separators in the row it is merged into."""
    text = handoff_text("", policy.handoff)
    if role is None:
        text += f"{PRIOR_HEADER}\n\n\n{MERGE_DELIMITER}\n\n"
    return count(text) + MESSAGE_TOKENS


def _require_gain(draft: PrunePlan) -> None:
    """Refuse a plan that gains no more than it costs. Counts no more of the old rows than needed."""
    needed = draft.around + draft.summary_budget + SLACK + 1
    for i in draft.middle:
        tokens = draft.shorter[i].tokens
        needed -= draft.sizes.up_to([i], tokens + needed) - tokens
        if needed <= 0:
            break
    else:
        raise NothingToCompact("too_small", "There is too little old tool output before the recent messages.")
