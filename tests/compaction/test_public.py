"""The package as somebody uses it who has messages and nothing else."""

from __future__ import annotations

import importlib
import pkgutil
from importlib import resources
from types import ModuleType

import pytest

import compaction
from compaction import Policy
from compaction.handoff import FLAG, FORMS, LEGACY_HEADER, NOTE_SENTENCE, PLAIN_HEADER, PRUNE_SENTENCE
from compaction.pruning import compact as pruned
from tests.compaction.transcripts import SMALL, count, exchange, reply, system, tool_turn, user

TALK = [system(), *exchange(80, size=400), user("Ship release 0.4.2 on Friday."), reply("I will.")]
NAMES = [each.name for each in pkgutil.walk_packages(compaction.__path__, "compaction.")]


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("__main__")])
def test_no_name_hides_a_module(name: str) -> None:
    """`import compaction.planning as p` gives what stands behind the last dot."""
    package, _, own = name.rpartition(".")
    module = importlib.import_module(name)
    assert isinstance(module, ModuleType) and getattr(importlib.import_module(package), own) is module


def test_messages_alone_are_enough() -> None:
    result = compaction.compact(TALK, window=20_000)
    assert len(result.messages) < len(TALK) and result.tokens_after < result.tokens_before
    assert result.messages[-2:] == TALK[-2:] and sum(map(compaction.is_handoff, result.messages)) == 1


def test_a_result_has_no_private_key_of_an_agent_and_changes_no_prompt() -> None:
    result = compaction.compact(TALK, window=20_000)
    assert {key for message in result.messages for key in message} == {"role", "content"}
    assert result.messages[0] == TALK[0]
    assert LEGACY_HEADER not in str(result.messages) and NOTE_SENTENCE not in str(result.messages)
    assert result.handoff.startswith(PLAIN_HEADER)


def test_a_result_is_written_as_hermes_knows_it_where_that_is_asked_for() -> None:
    result = compaction.compact(TALK, window=20_000, handoff="hermes")
    [handoff] = filter(compaction.is_handoff, result.messages)
    assert handoff[FLAG] is True and handoff["content"].startswith(LEGACY_HEADER)
    assert NOTE_SENTENCE in result.messages[0]["content"]


def test_the_key_of_an_earlier_summary_goes_with_it() -> None:
    first = compaction.compact(TALK, window=20_000, handoff="hermes")
    merged = {"role": "user", "content": f"{first.handoff}\n\nAnd what of the images?", FLAG: True}
    result = compaction.compact([*exchange(80, size=400)[:-1], merged, reply("None.")], window=20_000)
    assert not any(FLAG in message for message in result.messages)
    assert "And what of the images?" in [message["content"] for message in result.messages]


def test_a_second_compaction_knows_the_first_ones_summary() -> None:
    first = compaction.compact(TALK, window=20_000)
    plan = compaction.plan([*first.messages, *exchange(80, size=400)], Policy(context_window=20_000), count)
    assert plan.previous_summary == first.summary and plan.recompaction
    second = compaction.apply(plan, "Both.")
    assert sum(map(compaction.is_handoff, second.messages)) == 1


def test_a_note_about_shortened_output_is_in_the_same_form() -> None:
    rows = [system(), *(row for i in range(40) for row in tool_turn(i, size=400)), user("And?")]
    plain, hermes = (pruned(rows, Policy(context_window=4_000, handoff=form), count) for form in FORMS)
    assert plain.handoff.startswith(f"{PLAIN_HEADER} ") and PRUNE_SENTENCE in plain.handoff
    assert not any(FLAG in message for message in plain.messages)
    assert hermes.handoff.startswith(LEGACY_HEADER) and plain.summary == hermes.summary
    assert abs(plain.tokens_after - plain.plan.tokens_after_estimate) <= 2


@pytest.mark.parametrize("most", [200, 400])
def test_a_summary_takes_no_more_than_it_is_given(most: int) -> None:
    result = compaction.compact(TALK, window=20_000, summary_tokens=most, count=count)
    assert most / 2 < count(result.summary) <= most


def test_a_summariser_and_a_counter_of_ones_own_are_taken() -> None:
    asked = []

    def summarize(request: compaction.SummaryRequest) -> str:
        asked.append(request.budget_tokens)
        return "We spoke of numbers."

    result = compaction.compact(TALK, window=20_000, summarize=summarize, count=len)
    assert result.summary == "We spoke of numbers." and len(asked) == 1
    assert result.tokens_before > sum(len(message["content"]) for message in TALK)


@pytest.mark.parametrize("wrong", [{"summary_tokens": 0}, {"handoff": "claude"}, {"window": 0}])
def test_values_that_mean_nothing_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"summary_tokens|handoff|context_window"):
        compaction.compact(TALK, **wrong)  # type: ignore[arg-type]


def test_a_result_and_a_plan_are_shown_without_the_transcript() -> None:
    plan = compaction.plan(TALK, SMALL, count)
    result = compaction.apply(plan, "We spoke of numbers.")
    assert repr(result) == f"Result({len(TALK)} -> {len(result.messages)} messages)"
    assert "Friday" in str(plan.messages) and "Friday" not in repr(plan)


def test_its_types_are_for_users_too() -> None:
    assert resources.files("compaction").joinpath("py.typed").is_file()
    assert all(hasattr(compaction, name) for name in compaction.__all__)
