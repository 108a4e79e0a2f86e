"""A coding agent's long turn on a real database: compacted again and again while it runs, and taken back."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from tests.factories.histories import history_of
from tests.factories.stores import HermesStore
from tests.slow import slow
from viewer.runs import service
from viewer.runs.errors import NothingToDo
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.stores.hermes.reader import open_store
from viewer.stores.transcript import Boundary, TranscriptIndex

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
REQUEST = "Port the billing module to PostgreSQL and run every test until all are green."
CHAT = [("user", "Good morning."), ("assistant", "Good morning. What is to be done?")] * 3
Row = tuple[str, str] | tuple[str, str, str]  # role, content, and of a step's rows the id of its call


def steps(n: int, first: int = 0) -> list[Row]:
    ids = [f"c{i}" for i in range(first, first + n)]
    return [row for id_ in ids for row in (("assistant", "", id_), ("tool", f"step {id_} " + "row ok\n" * 180, id_))]


def worker(hermes_store: HermesStore, rows: Sequence[Row]) -> HermesStore:
    """A session of such rows, by a model with a window of 8,192 tokens."""
    hermes_store.rows(
        "INSERT INTO sessions (id, source, model, started_at) VALUES ('work', 'cli', 'gpt-4', 1790000000)"
    )
    working = replace(hermes_store, session_id="work")
    say(working, rows)
    return working


def say(hermes_store: HermesStore, rows: Sequence[Row]) -> None:
    [(start,)] = hermes_store.rows("SELECT COALESCE(MAX(id), 0) FROM messages")
    for at, (role, content, *call) in enumerate(rows):
        calls = (
            [{"id": call[0], "type": "function", "function": {"name": "terminal", "arguments": "{}"}}] if call else []
        )
        hermes_store.rows(
            "INSERT INTO messages (session_id, role, content, tool_calls, tool_call_id, timestamp)"
            " VALUES ('work', ?, ?, ?, ?, ?)",
            role, content, json.dumps(calls) if role == "assistant" and calls else None,
            call[0] if role == "tool" else None, 1790000000 + start + at,
        )  # fmt: skip


def history(hermes_store: HermesStore) -> TranscriptIndex:
    with open_store(hermes_store.store) as reader:
        return history_of(reader, "work")


def newest(hermes_store: HermesStore) -> Boundary:
    return history(hermes_store).boundaries[-1]


def compact(hermes_store: HermesStore) -> Run:
    run = service.start(hermes_store.store, "work", Options("summary"), apply=True)
    assert (run.status, run.error_message) == ("applied", "")
    return run


@pytest.mark.parametrize("version", [*slow(21), 31])
def test_the_request_is_alive_and_everything_comes_back(
    open_hermes_store: Callable[[int], HermesStore], version: int
) -> None:
    hermes_store = worker(open_hermes_store(version), [*CHAT, ("user", REQUEST), *steps(20)])
    before, shown = hermes_store.live(), [entry.id for entry in history(hermes_store).entries]

    run = compact(hermes_store)

    assert run.tokens_before and run.tokens_before > 9_000 and run.tokens_after and run.tokens_after < 5_000
    live = hermes_store.live()
    [at] = [i for i, row in enumerate(live) if row[1] and row[1].startswith("[CONTEXT SUMMARY]")]
    assert live[at - 1][:2] == ("user", REQUEST) and live[at][0] == "assistant"
    assert live[at + 1 :] == before[-len(live[at + 1 :]) :], "the tail is word for word"
    now = history(hermes_store)
    assert [entry.id for entry in now.entries] == shown, "each message once, where it was first said"
    boundary = now.boundaries[-1]
    request = next(entry.id for entry in now.entries if entry.id == shown[len(CHAT)])
    assert request in boundary.kept_ids and request not in boundary.summarised_ids
    assert boundary.cut_id == shown[len(before) - len(live[at + 1 :])], "before the first message the tail kept"

    service.undo(hermes_store.store, "work", boundary.handoff_id)
    assert hermes_store.live() == before and [entry.id for entry in history(hermes_store).entries] == shown


@pytest.mark.slow
def test_four_in_a_row_while_the_turn_runs(hermes_store: HermesStore) -> None:
    hermes_store = worker(hermes_store, [*CHAT, ("user", REQUEST), *steps(20)])
    for n in range(4):
        compact(hermes_store)
        live = hermes_store.live()
        requests = [i for i, row in enumerate(live) if row[1] == REQUEST]
        assert len(requests) == 1 and live[requests[0] + 1][1].startswith("[CONTEXT SUMMARY]")
        say(hermes_store, steps(8, first=1_000 * (n + 1)))
    now = history(hermes_store)
    assert len(now.boundaries) == 4 and len(now.entries) == len(CHAT) + 1 + 2 * (20 + 32)


def test_a_session_without_a_user_compacts_again_and_again(hermes_store: HermesStore) -> None:
    hermes_store = worker(hermes_store, steps(20))
    for n in range(3):
        compact(hermes_store)
        [role] = [row[0] for row in hermes_store.live() if row[1].startswith("[CONTEXT SUMMARY]")]
        assert role == "user", "providers refuse a context without any"
        say(hermes_store, steps(8, first=1_000 * (n + 1)))
    assert len(history(hermes_store).entries) == 2 * (20 + 24)


def test_a_refusal_names_what_helps(hermes_store: HermesStore) -> None:
    hermes_store = worker(hermes_store, [("user", REQUEST), *steps(1), *CHAT, ("tool", "stray", "c0")])
    hermes_store.rows("UPDATE messages SET content = ? WHERE role = 'tool' AND tool_call_id = 'c0'", "row ok\n" * 4_000)
    with pytest.raises(NothingToDo, match=r"Shortening old tool output would win [\d,]+ tokens"):
        service.start(hermes_store.store, "work", Options("summary"), apply=True)
