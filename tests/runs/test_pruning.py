"""A run that shortens old tool output: no summariser, no summary, the same commit, History and undo."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from compaction import pruning
from compaction.handoff import PRUNE_SENTENCE
from tests.factories.histories import history_of, receipt_of
from tests.factories.stores import HermesStore
from tests.runs.commands import run as command
from viewer.runs import planning, service
from viewer.runs.errors import NothingToDo, NothingToEdit
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.runs.providers import summarizers
from viewer.stores.hermes.reader import open_store
from viewer.stores.transcript import Boundary, HistoryEntry

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
MASK = Options(strategy="prune")


def shown(hermes_store: HermesStore) -> tuple[list[HistoryEntry], list[Boundary]]:
    """What History shows: messages and boundaries."""
    with open_store(hermes_store.store) as reader:
        history = history_of(reader, hermes_store.session_id)
    return list(history.entries), list(history.boundaries)


@pytest.mark.parametrize("version", [21, 31])
def test_apply_history_and_undo(
    open_hermes_store: Callable[[int], HermesStore], version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    unusable = summarizers.Summarizer("offline", "", ask=None)  # type: ignore[arg-type]
    monkeypatch.setattr(summarizers, "summarizers", lambda: {"offline": unusable})
    hermes_store = open_hermes_store(version)
    before, (messages, boundaries) = hermes_store.live(), shown(hermes_store)

    run = service.start(hermes_store.store, hermes_store.session_id, MASK, apply=True)

    assert (run.status, run.error_message) == ("applied", "")
    assert run.tokens_before and run.tokens_after and run.tokens_after < 0.85 * run.tokens_before
    assert run.messages_before == len(before) and run.messages_after == len(before) + 1 == len(hermes_store.live())
    assert run.summary.startswith(PRUNE_SENTENCE) and run.report["summarised"] == []
    now, stand = shown(hermes_store)
    assert [each.id for each in now] == [each.id for each in messages], "each message once, where it was first said"
    assert [each.full_id for each in now] == [each.full_id for each in messages], "with its fullest text"
    earlier = [replace(each, ids=stand[-1].ids) for each in boundaries]
    assert stand[:-1] == earlier, "what earlier compactions did stays what it was"
    assert (stand[-1].run, stand[-1].summarised_ids) == (run.pk, ())
    assert len(stand[-1].shortened_ids) == len(run.report["shortened"]) == len(run.plan["middle"])
    kept = [row for row in hermes_store.live() if row[0] != "tool" and "CONTEXT SUMMARY" not in (row[1] or "")]
    assert [(row[0], row[1], row[3]) for row in kept] == [
        (row[0], row[1], row[3]) for row in before if row[0] != "tool" and "CONTEXT SUMMARY" not in (row[1] or "")
    ]

    service.undo(hermes_store.store, hermes_store.session_id, stand[-1].handoff_id)

    assert hermes_store.live() == before
    assert [each.id for each in shown(hermes_store)[0]] == [each.id for each in messages]


def test_a_second_run_has_nothing_to_do_and_a_summary_may_follow(hermes_store: HermesStore) -> None:
    count = len(shown(hermes_store)[0])
    first = service.start(hermes_store.store, hermes_store.session_id, MASK, apply=True)
    with pytest.raises(NothingToDo, match="too little old tool output"):
        service.start(hermes_store.store, hermes_store.session_id, MASK, apply=True)
    second = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    assert (first.status, second.status) == ("applied", "applied")
    messages, boundaries = shown(hermes_store)
    assert len(messages) == count and [each.run for each in boundaries[-2:]] == [first.pk, second.pk]
    assert PRUNE_SENTENCE not in second.summary
    assert not any(PRUNE_SENTENCE in (row[1] or "") for row in hermes_store.live())
    service.undo_run(second)
    service.undo_run(first)
    assert len(shown(hermes_store)[0]) == count


def test_there_is_no_summary_to_edit(hermes_store: HermesStore) -> None:
    run = service.start(hermes_store.store, hermes_store.session_id, MASK, apply=False)
    assert run.status == "ready"
    with pytest.raises(NothingToEdit, match="no summary to edit"):
        service.apply(run, "Another text.")
    run.refresh_from_db()
    assert run.status == "ready"
    assert service.apply(run, run.summary).status == "applied"


def test_bookkeeping_rows_stay_where_the_messages_stay(hermes_store: HermesStore) -> None:
    live = "SELECT id FROM messages WHERE session_id = ? AND active = 1 ORDER BY id"
    marked = hermes_store.rows(live, hermes_store.session_id)[20][0]
    hermes_store.rows(
        "UPDATE messages SET role = 'session_meta', tool_calls = NULL, tool_call_id = NULL WHERE id = ?", marked
    )
    [text] = hermes_store.rows("SELECT content FROM messages WHERE id = ?", marked)
    run = service.start(hermes_store.store, hermes_store.session_id, MASK, apply=True)
    assert run.status == "applied" and str(marked) in receipt_of(run)["copies"]
    assert [row[1] for row in hermes_store.live() if row[0] == "session_meta"] == list(text)


def test_the_plan_and_the_command(hermes_store: HermesStore) -> None:
    draft = planning.draft(hermes_store.store, hermes_store.session_id, MASK)
    assert isinstance(draft.plan, pruning.PrunePlan)
    assert draft.tokens_before == sum((draft.plan.head_tokens, draft.plan.middle_tokens, draft.plan.tail_tokens))
    said = command("compact", "hermes", hermes_store.session_id, "--strategy", "prune", "--plan")
    assert re.search(rf"to shorten +{len(draft.middle_ids)} message", said) and "kept before" in said
    answer = json.loads(command("compact", "hermes", hermes_store.session_id, "--strategy", "prune", "--json"))
    assert (answer["status"], answer["strategy"], answer["undoable"]) == ("applied", "prune", True)
    assert abs(answer["tokens_after"] - draft.tokens_after_estimate) < 9
    assert Run.objects.get().summarizer == "offline"
    with pytest.raises(SystemExit, match="Choose one of: summary, prune"):
        command("compact", "hermes", hermes_store.session_id, "--strategy", "guess")


def test_the_old_name_is_still_taken(hermes_store: HermesStore) -> None:
    answer = json.loads(command("compact", "hermes", hermes_store.session_id, "--strategy", "mask", "--json"))
    assert (answer["status"], answer["strategy"]) == ("applied", "prune")
    assert planning.strategy_of("mask") is planning.strategy_of("prune")
