"""A second compaction: it has room for all that the first summary says, or is refused."""

from __future__ import annotations

import pytest

from compaction import NothingToCompact, Policy, plan
from tests.compaction.transcripts import count, exchange, handoff, system, user, words

POLICY = Policy(context_window=40_000)  # a tail of up to 4,000 tokens, a summary of up to 2,000
EARLIER = words(1_500)


@pytest.mark.parametrize(("new", "size"), [(4, 20), (4, 200), (10, 200), (30, 200)])
@pytest.mark.parametrize("live", ["", "And the next thing, please."])
def test_the_new_summary_has_the_room_of_the_earlier_one_or_is_refused(new: int, size: int, live: str) -> None:
    messages = [system(), handoff(EARLIER, live=live), *exchange(new, size, first=100), user("go on")]
    try:
        made = plan(messages, POLICY, count)
    except NothingToCompact as refused:
        assert refused.code == "too_small" and size == 20
        assert "1,500 tokens" in str(refused)
        return
    assert size > 20
    assert made.summary_budget >= count(EARLIER)
    assert made.tokens_after_estimate <= 0.9 * made.tokens_before + 8
    assert f"1,500 tokens will be folded into the new one, which has room for {made.summary_budget:,}." in "".join(
        made.reasons
    )


def test_an_earlier_summary_longer_than_any_may_be_gets_the_most_there_is() -> None:
    made = plan([system(), handoff(words(5_000)), *exchange(80, 200)], POLICY, count)
    assert made.summary_budget == POLICY.most_summary == 2_000


def test_what_is_new_adds_its_own_share() -> None:
    policy = Policy(context_window=200_000)
    first = plan([system(), *exchange(60, 200)], policy, count)
    again = plan([system(), handoff(words(3_000)), *exchange(60, 200)], policy, count)
    assert again.summary_budget > first.summary_budget and again.summary_budget <= policy.most_summary
