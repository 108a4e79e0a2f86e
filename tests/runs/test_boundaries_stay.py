"""Whatever is done to a session, what is said of its earlier compactions stays the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.factories.histories import history_of
from tests.factories.stores import HermesStore
from tests.slow import slow
from viewer.runs import service
from viewer.runs.errors import NothingToDo
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.stores.hermes.reader import open_store

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
STEPS = 9
TITLES = ("Airline desk, week 29", "Airline desk, week 30", "Merged carrier 98")
Told = dict[int, Any]  # handoff -> what is said of its compaction


def told(hermes_store: HermesStore) -> Told:
    with open_store(hermes_store.store) as reader:
        boundaries = history_of(reader, hermes_store.session_id).boundaries
    return {
        each.handoff_id: (each.block_ids, each.summarised_ids, each.kept_ids, each.shortened_ids) for each in boundaries
    }


@pytest.mark.parametrize("version", [*slow(21), 31])
@pytest.mark.parametrize("seed", [4, 14, *slow(3, *range(20, 26))])
def test_a_walk(open_hermes_store: Callable[..., HermesStore], version: int, seed: int) -> None:
    dice = random.Random(seed)
    hermes_store = open_hermes_store(version, dice.choice(TITLES))
    now, done, log = told(hermes_store), list[tuple[Run, Told]](), list[str]()
    for step in range(STEPS):
        what = dice.choice(["summary", "summary", "prune", "prune", "say", "say", "undo"])
        before = now
        if what == "say":
            for at in range(dice.randint(1, 6)):
                hermes_store.append(
                    f"said {step} {at} " + "word " * dice.choice([3, 400]), ("user", "assistant")[at % 2]
                )
        elif what != "undo":
            options = Options(strategy=what, keep_last=dice.choice([None, 4, 10, 20]))
            try:
                run = service.start(hermes_store.store, hermes_store.session_id, options, apply=True)
            except NothingToDo:
                continue
            if run.status == "applied":
                done.append((run, before))
        elif done:
            run, before = done.pop()
            service.undo_run(run)
        now = told(hermes_store)
        log.append(what)
        assert {handoff: now.get(handoff) for handoff in before} == before, log
