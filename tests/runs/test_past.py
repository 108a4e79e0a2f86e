"""What our runs keep is what History shows, on real databases; and what is not there any more is not believed."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compaction.handoff import BY_ENGINE, PRUNE_SENTENCE
from tests.factories.histories import history_of, receipt_of
from tests.factories.stores import HermesStore
from viewer.runs import compaction_list, service
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.stores.base import Store
from viewer.stores.hermes import messages
from viewer.stores.hermes.reader import open_store
from viewer.stores.message import Parted
from viewer.stores.registry import version_of
from viewer.stores.transcript import TranscriptIndex

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]


@pytest.fixture
def alike(open_hermes_store: Callable[[int], HermesStore]) -> HermesStore:
    """Schema 21, without a name for a message: 40 messages of two words, all of one time, as after an import."""
    hermes_store = open_hermes_store(21)
    hermes_store.rows("DELETE FROM messages WHERE session_id = ?", hermes_store.session_id)
    say_alike(hermes_store, 20)
    return hermes_store


def say_alike(hermes_store: HermesStore, turns: int) -> None:
    with closing(sqlite3.connect(hermes_store.path)) as con, con:
        con.executemany(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, 5.0)",
            [(hermes_store.session_id, role, word * 100) for _ in range(turns) for role, word in SAID],
        )


SAID = (("user", "go on "), ("assistant", "done "))


def compact(hermes_store: HermesStore, **options: int) -> Run:
    run = service.start(hermes_store.store, hermes_store.session_id, Options(**options), apply=True)  # type: ignore[arg-type]
    assert (run.status, run.error_message) == ("applied", "")
    return run


def both(hermes_store: HermesStore) -> tuple[TranscriptIndex, TranscriptIndex]:
    """History with what our runs know, and by lining up alone."""
    with open_store(hermes_store.store) as reader:
        return history_of(reader, hermes_store.session_id), messages.read_history(reader, hermes_store.session_id)


def test_messages_that_nothing_tells_apart_are_each_shown_once(alike: HermesStore) -> None:
    run = compact(alike, keep_last=6)
    say_alike(alike, 3)
    known, found = both(alike)
    assert len(known.entries) == 46
    assert len(found.entries) < 46
    (boundary,) = known.boundaries
    assert boundary.run == run.pk
    assert dict(boundary.copies) == {copy: int(row) for row, copy in receipt_of(run)["copies"].items()}
    assert boundary.messages_after == len(receipt_of(run)["block"])


def test_an_undone_compaction_is_none_and_one_made_after_it_is_ours(alike: HermesStore) -> None:
    first = compact(alike, keep_last=6)
    service.undo_run(first)
    say_alike(alike, 3)
    known, _ = both(alike)
    assert not known.boundaries
    assert [entry.state for entry in known.entries] == ["live"] * 46
    second = compact(alike, keep_last=8)
    say_alike(alike, 1)
    known, _ = both(alike)
    assert [boundary.run for boundary in known.boundaries] == [second.pk]
    assert len(known.entries) == 48


def test_an_undone_compaction_stays_undone_when_everything_is_taken_back(alike: HermesStore) -> None:
    service.undo_run(compact(alike, keep_last=6))
    alike.rows("UPDATE messages SET active = 0 WHERE session_id = ?", alike.session_id)
    known, found = both(alike)
    assert len(found.boundaries) == 1
    assert not known.items


@pytest.mark.parametrize("version", [21, 31])
def test_a_restored_backup_has_no_compaction_of_ours(
    open_hermes_store: Callable[[int], HermesStore], version: int
) -> None:
    hermes_store = open_hermes_store(version)
    backup = shutil.copyfile(hermes_store.path, hermes_store.path.with_suffix(".backup"))
    run = compact(hermes_store)
    with open_store(hermes_store.store) as reader:
        assert compaction_list.compactions(reader, hermes_store.session_id)[-1].run == run.pk
    shutil.copyfile(backup, hermes_store.path)
    for _ in receipt_of(run)["block"]:
        hermes_store.append("said since the backup", "user")
    known, found = both(hermes_store)
    assert known == found
    with open_store(hermes_store.store) as reader:
        views = compaction_list.compactions(reader, hermes_store.session_id)
    assert not [each for each in views if each.run or each.by == "by you, here"]


def test_a_transcript_deleted_and_written_anew_is_shown_as_it_is(alike: HermesStore) -> None:
    compact(alike, keep_last=6)
    alike.rows("DELETE FROM messages WHERE session_id = ?", alike.session_id)
    say_alike(alike, 2)
    known, _ = both(alike)
    assert len(known.entries) == 4
    assert not known.boundaries


def test_a_compaction_of_ours_is_known_in_the_session_that_continues_it(alike: HermesStore) -> None:
    run = compact(alike, keep_last=6)
    alike.rows("UPDATE sessions SET end_reason = 'compression', ended_at = 1 WHERE id = ?", alike.session_id)
    alike.rows(
        "INSERT INTO sessions (id, source, started_at, parent_session_id) VALUES ('next', 'cli', 2, ?)",
        alike.session_id,
    )
    with open_store(alike.store) as reader:
        assert [boundary.run for boundary in history_of(reader, "next").boundaries] == [run.pk]


@pytest.mark.slow
def test_more_runs_mean_no_more_queries(alike: HermesStore) -> None:
    counts: list[tuple[int, int]] = []
    for _ in range(4):
        compact(alike, keep_last=6)
        say_alike(alike, 10)
        while version_of(alike.store) != version_of(alike.store):  # until the write has settled
            time.sleep(0.01)
        statements: list[str] = []
        with CaptureQueriesContext(connection) as queries, open_store(alike.store) as reader:
            assert isinstance(reader.con, sqlite3.Connection)
            reader.con.set_trace_callback(statements.append)
            assert len(compaction_list.compactions(reader, alike.session_id)) == len(counts) + 1
        counts.append((len(queries), len(statements)))
    assert len(set(counts[1:])) == 1, counts  # the first time nothing is kept yet


def test_who_compacted_is_the_agent_that_owns_the_store() -> None:
    hermes, other = Store("a", "sqlite:////a.db", "found"), Store("b", "postgres://host/b", "configured")
    summed_up, shortened = _handoff("Done.", f"[x]:\n{BY_ENGINE}"), _handoff(f"{PRUNE_SENTENCE} And.")
    assert compaction_list.by(hermes, None, None) == "by Hermes"
    assert compaction_list.by(hermes, None, _handoff("Done.")) == "by Hermes"
    assert compaction_list.by(other, None, None) == "by its agent"
    assert compaction_list.by(other, 7, None) == "by you, here"
    assert compaction_list.by(hermes, None, summed_up) == "by Palimpsest, inside Hermes"
    assert compaction_list.by(hermes, None, shortened) == "by Palimpsest, inside Hermes"
    assert compaction_list.by(hermes, 7, summed_up) == "by you, here"


def _handoff(summary: str, directive: str = "") -> Parted:
    return Parted(has_handoff=True, summary=summary, directive=directive, message=None, comes_first=False)
