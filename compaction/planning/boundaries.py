"""Where the head ends and the tail starts.

A boundary is an index into the messages: the first one after the head, or the first one of the tail. Every function
takes an index and returns a corrected one; tail boundaries only move backward (towards the head), so that corrections
can be made one after another. All costs grow with the rows walked over, which are those of the tail.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice

from .. import messages as m
from ..handoff import NOTE_SENTENCES, PRUNE_SENTENCE, flag_of, is_handoff, split
from ..messages import Message
from ..policy import FEWEST_TAIL, MOST_TAIL_FLOOR, Policy
from ..polite import is_notice
from ..tokens import Sizes
from ..tool_groups import Ids, OpenCalls, goes_on, stray_results


def is_recompaction(messages: Sequence[Message]) -> bool:
    """Whether the context was compacted before: the note in a system message 0, or a handoff anywhere."""
    if messages and m.is_system(messages[0]):
        prompt = m.text(messages[0].get("content")).lower()
        if any(sentence in prompt for sentence in NOTE_SENTENCES):
            return True
    return any(is_handoff(message) and not is_prune_note(message) for message in messages)


def is_prune_note(message: Message) -> bool:
    """Whether the handoff in this message is only the note of the strategy that shortens tool output (`pruning`).

    The note says nothing about the conversation: it never counts as a summary, and its context not as compacted before.
    """
    if not is_handoff(message):
        return False
    parts = split(message.get("content"), flag_of(message))
    return any(part.kind == "summary" and part.text.startswith(PRUNE_SENTENCE) for part in parts)


def system_rows(messages: Sequence[Message]) -> int:
    """1 if message 0 is the system prompt, else 0 (the prompt is stored outside the rows)."""
    return 1 if messages and m.is_system(messages[0]) else 0


def head_size(messages: Sequence[Message], policy: Policy, recompaction: bool | None = None) -> int:
    """The number of messages in the head: `protect_first_n`, which counts the system prompt wherever it is stored.

    On a recompaction only the system prompt: the first request must not be kept for ever (hermes-agent PR #50001).
    `recompaction` is for a caller that already knows. Not yet aligned to tool groups.
    """
    system = system_rows(messages)
    recompaction = is_recompaction(messages) if recompaction is None else recompaction
    if recompaction or policy.tail_only:
        return system
    size = max(policy.protect_first_n, 1) if system else policy.protect_first_n - 1
    return min(max(size, 0), len(messages))


def align_start(messages: Sequence[Message], index: int) -> int:
    """The head's end moved forward over the results of its last calls, so that no tool group is cut.

    Other rows may be between a call and its result; the search ends at the next assistant message.
    """
    index = min(max(index, 0), len(messages))
    group = index
    while group > 0 and not _opens_turn(messages, group - 1):
        group -= 1
    open_calls = OpenCalls()
    for at in range(max(group - 1, 0), index):
        open_calls.see(at, messages[at])
    end = at = index
    while at < len(messages) and open_calls.waiting and not _opens_turn(messages, at):
        if None in open_calls.see(at, messages[at]):
            end = at + 1
        at += 1
    return end


def _opens_turn(messages: Sequence[Message], at: int) -> bool:
    return m.role(messages[at]) == "assistant" and not goes_on(messages, at)


def align_end(messages: Sequence[Message], index: int, head_end: int = 0) -> int:
    """The tail's start moved back before the call of every result in the tail; `index` itself if no group is cut.

    Only the nearest parent counts: an earlier complete group with the same ids is not moved. Never below `head_end`.
    """
    cut = _before_run(messages, min(max(index, head_end), len(messages)), head_end)
    unmatched = stray_results(messages[i] for i in range(cut, len(messages)))
    pending = Ids()  # results between the walker and the cut whose call is still to come
    at = cut
    while at > head_end and unmatched:
        at -= 1
        pending.add(filter(None, m.answers(messages[at])))
        parent = [unmatched.take(call.ids) for call in m.calls(messages[at]) if not pending.take(call.ids)]
        if any(parent):
            cut = at
            unmatched.add(pending.drained())
    return cut


def _before_run(messages: Sequence[Message], index: int, head_end: int) -> int:
    """The index before the call, if the cut is inside a run of results in which one after the cut names no id."""
    end = index
    while end < len(messages) and m.answers(messages[end]):
        end += 1
    if not any("" in m.answers(row) for row in messages[index:end]):
        return index
    at = index - 1
    while at >= head_end and m.answers(messages[at]):
        at -= 1
    return at if at >= head_end and m.calls(messages[at]) else index


def anchor_last_user(messages: Sequence[Message], index: int, head_end: int = 0) -> int:
    """The tail's start moved back so that the last message a user typed is in the tail (hermes-agent #10896).

    A handoff is not a user message. The agent's own notices count only if there is no other user message.
    """
    return _anchor(messages, index, head_end, last_user(messages))


def anchor_last_reply(messages: Sequence[Message], index: int, head_end: int = 0) -> int:
    """The tail's start moved back so that the last readable assistant reply is in the tail (hermes-agent #29824).

    Rows with only tool calls do not count, unless no assistant message has any text.
    """
    return _anchor(messages, index, head_end, last_reply(messages))


def last_user(messages: Sequence[Message]) -> int | None:
    """Index of the last message a user typed; if there is none, of the last user message of the agent or a harness."""
    typed = _last(messages, lambda row: m.is_typed(row) and not is_notice(m.words(row)))
    return _last(messages, m.is_user_message) if typed is None else typed


def last_reply(messages: Sequence[Message]) -> int | None:
    """Index of the last reply a person can read; if there is none, of the last assistant message of any kind."""
    readable = _last(messages, m.is_readable_reply)
    if readable is not None:
        return readable
    return _last(messages, lambda row: m.role(row) == "assistant" and not m.is_standalone_handoff(row))


def _last(messages: Sequence[Message], matches: Callable[[Message], bool]) -> int | None:
    return next((i for i in range(len(messages) - 1, -1, -1) if matches(messages[i])), None)


def _anchor(messages: Sequence[Message], index: int, head_end: int, at: int | None) -> int:
    if at is None or at >= index or at < head_end:
        return index
    return align_end(messages, at, head_end)


def by_tokens(length: int, head_end: int, policy: Policy, sizes: Sizes, lifted: Collection[int]) -> tuple[int, str]:
    """Where the tail starts by its budget and its minimum number of messages alone, and a sentence about it.

    The `lifted` earlier handoffs cost nothing.
    """

    def own() -> Iterator[int]:
        return (i for i in range(length - 1, head_end - 1, -1) if i not in lifted)

    budget = policy.tail_budget_of(sizes.up_to(own(), policy.full_tail_from))
    most = sum(1 for _ in islice(own(), 2 * MOST_TAIL_FLOOR)) // 2
    fewest = max(FEWEST_TAIL, min(policy.fewest_tail, most))
    start, kept, used = walk_back(own(), policy, sizes, budget, fewest)
    start = length if start is None else start
    tail = f"The last {plural(kept, 'message')} ({used:,} tokens)"
    share = ", the recent share of so small a context" if budget < policy.tail_budget else " for recent messages"
    if policy.keep_last and kept <= policy.keep_last and used > budget:
        return start, f"{tail} stay because you asked for at least {policy.keep_last}."
    if used > budget:
        return start, f"{tail} always stay, beyond the budget of {budget:,} tokens{share}."
    return start, f"{tail} fit the budget of {budget:,} tokens{share}."


def walk_back(
    own: Iterable[int], policy: Policy, sizes: Sizes, budget: int, fewest: int
) -> tuple[int | None, int, int]:
    """Rows from the last one back while the budget lasts: the oldest of them (None if none), their number, their
    tokens.

    The newest three and `keep_last` stay at any cost; up to `fewest` stay inside the soft ceiling, and beyond it while
    they are small.
    """
    used = kept = 0
    start = None
    for i in own:
        room = budget - used
        if kept < fewest:
            room = max(policy.soft_ceiling - used, policy.small_message)
        if kept >= max(policy.keep_last or 0, FEWEST_TAIL) and sizes.reach([i], room + 1):
            break
        used += sizes[i]
        kept += 1
        start = i
    return start, kept, used


def plural(n: int, noun: str, many: str = "") -> str:
    """As in "1 message", "2,000 messages"."""
    return f"{n:,} {noun if n == 1 else many or noun + 's'}"
