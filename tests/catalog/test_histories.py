"""Kept Histories: nothing stale is ever shown, and nothing is read that need not be."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client

from tests.agents.hermes.at_work import HermesAtWork
from tests.factories.session_lists import settle
from tests.factories.stores import PRESENT, EmptyStore, HermesStore
from tests.slow import slow
from viewer.history import index_cache
from viewer.history.models import Compaction, PackedHistory
from viewer.history.records import recorded
from viewer.runs import service
from viewer.runs.planning import Options
from viewer.stores.base import Store
from viewer.stores.hermes import commit, history, messages
from viewer.stores.hermes.database import store_version
from viewer.stores.hermes.paths import get_session
from viewer.stores.hermes.reader import HermesReader as Reader
from viewer.stores.hermes.reader import open_store
from viewer.stores.hermes.records import LightRow
from viewer.stores.registry import get_store
from viewer.stores.transcript import NONE, TranscriptIndex

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]


@pytest.fixture(autouse=True)
def nothing_held() -> Iterator[None]:
    index_cache.forget()
    yield
    index_cache.forget()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions whose History is made anew from now on."""
    seen: list[str] = []
    plain = messages.light_rows

    def counted(reader: Reader, session_id: str) -> list[LightRow]:
        seen.append(session_id)
        return plain(reader, session_id)

    monkeypatch.setattr(messages, "light_rows", counted)
    return seen


def kept(store: Store, session_id: str) -> TranscriptIndex:
    with open_store(store) as reader:
        return index_cache.index_of(reader, get_session(reader, session_id))


def true(store: Store, session_id: str) -> TranscriptIndex:
    """As it is now, from all rows."""
    with open_store(store) as reader:
        rows = messages.light_rows(reader, session_id)
        return history.build(rows, commit.blocks_of(recorded(reader, session_id)))


def without_counts(index: TranscriptIndex) -> TranscriptIndex:
    return index.uncounted_again()


def assert_true(store: Store, session_id: str) -> None:
    """What is kept is what is there, whether this process remembers or another one kept it."""
    assert without_counts(kept(store, session_id)) == without_counts(true(store, session_id))
    index_cache.forget()
    assert without_counts(kept(store, session_id)) == without_counts(true(store, session_id))


def test_it_is_kept_and_read_again(hermes_store: HermesStore, made: list[str]) -> None:
    first = kept(hermes_store.store, hermes_store.session_id)
    assert made == [hermes_store.session_id]
    assert kept(hermes_store.store, hermes_store.session_id) is first
    index_cache.forget()
    again = kept(hermes_store.store, hermes_store.session_id)
    assert again == first
    assert again is not first
    assert made == [hermes_store.session_id]


def test_nothing_is_read_while_the_file_is_not_written(hermes_store: HermesStore) -> None:
    settle()
    first = kept(hermes_store.store, hermes_store.session_id)
    statements: list[str] = []
    with open_store(hermes_store.store) as reader:
        session = get_session(reader, hermes_store.session_id)
        assert store_version(hermes_store.store) == store_version(hermes_store.store), (
            "copied so lately that no signature holds"
        )
        index_cache.index_of(reader, session)
        assert isinstance(reader.con, sqlite3.Connection)
        reader.con.set_trace_callback(statements.append)
        assert index_cache.index_of(reader, session) is first
    assert statements == []
    assert index_cache.unwritten(hermes_store.store, hermes_store.session_id) is first


def agent(hermes_store: HermesStore) -> HermesAtWork:
    return HermesAtWork(hermes_store.path, hermes_store.session_id)


def rewind_and_say(hermes_store: HermesStore) -> None:
    agent(hermes_store).rewind(agent(hermes_store).rows()[-30][0])
    agent(hermes_store).say("instead")


def compact_and_say(hermes_store: HermesStore) -> None:
    agent(hermes_store).compact()
    agent(hermes_store).say("on", "and on")


CHANGES: dict[str, Callable[[HermesStore], object]] = {
    "said": lambda hermes_store: agent(hermes_store).say("one more"),
    "a hundred said": lambda hermes_store: agent(hermes_store).say(*["and more"] * 100),
    "taken back": lambda hermes_store: hermes_store.take_back_newest(),
    "rewound": lambda hermes_store: agent(hermes_store).rewind(agent(hermes_store).rows()[-30][0]),
    "rewound and said": lambda hermes_store: rewind_and_say(hermes_store),
    "compacted": lambda hermes_store: agent(hermes_store).compact(),
    "compacted and gone on": lambda hermes_store: compact_and_say(hermes_store),
    "written anew": lambda hermes_store: agent(hermes_store).replace(
        [row[1:] for row in agent(hermes_store).rows()], active_only=False
    ),
    "live ones anew": lambda hermes_store: agent(hermes_store).replace(
        [row[1:] for row in agent(hermes_store).rows()], active_only=True
    ),
    "edited": lambda hermes_store: agent(hermes_store).edit(
        agent(hermes_store).rows()[-9][0], [row[1:] for row in agent(hermes_store).rows()[-3:]]
    ),
    "deleted": lambda hermes_store: hermes_store.rows(
        "DELETE FROM messages WHERE session_id = ? AND id % 7 = 0", hermes_store.session_id
    ),
    "all deleted": lambda hermes_store: hermes_store.rows(
        "DELETE FROM messages WHERE session_id = ?", hermes_store.session_id
    ),
    "by us": lambda hermes_store: service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("version", [*slow(21), 31])
def test_every_change_is_shown_at_once(
    open_hermes_store: Callable[..., HermesStore], version: int, change: str
) -> None:
    hermes_store = open_hermes_store(version)
    before = kept(hermes_store.store, hermes_store.session_id)
    CHANGES[change](hermes_store)
    assert_true(hermes_store.store, hermes_store.session_id)
    assert kept(hermes_store.store, hermes_store.session_id) != before
    CHANGES["said"](hermes_store)
    assert_true(hermes_store.store, hermes_store.session_id)


def test_rows_that_took_the_ids_of_others_are_shown(hermes_store: HermesStore, tmp_path: Path) -> None:
    """A backup is copied over the file, and the agent goes on from there: it gives the same ids again."""
    shutil.copyfile(hermes_store.path, tmp_path / "backup.db")
    agent(hermes_store).say("one", "two")
    assert not kept(hermes_store.store, hermes_store.session_id).is_result(
        kept(hermes_store.store, hermes_store.session_id).messages - 1
    )
    shutil.copyfile(tmp_path / "backup.db", hermes_store.path)
    for row_id in range(2):
        hermes_store.append("another" * (row_id + 1), "tool")
    assert_true(hermes_store.store, hermes_store.session_id)


def test_a_message_taken_back_and_another_said_between_two_looks(empty_store: EmptyStore) -> None:
    empty_store.session("s")
    newest = empty_store.chat("s", 6)[-1]
    before = kept(get_store("own"), "s")
    assert before.settled
    with closing(sqlite3.connect(empty_store.path)) as con, con:
        con.execute("UPDATE messages SET active = 0 WHERE id = ?", [newest])
    empty_store.say("s", "user", "instead", timestamp=PRESENT + 100)
    assert_true(get_store("own"), "s")


def test_undoing_is_shown_at_once(hermes_store: HermesStore) -> None:
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    assert kept(hermes_store.store, hermes_store.session_id).boundaries[-1].run == run.pk
    agent(hermes_store).say("since")
    assert_true(hermes_store.store, hermes_store.session_id)
    assert run.handoff_id
    service.undo(hermes_store.store, hermes_store.session_id, run.handoff_id)
    assert_true(hermes_store.store, hermes_store.session_id)
    assert all(boundary.run is None for boundary in kept(hermes_store.store, hermes_store.session_id).boundaries)


def test_an_undo_makes_history_once_before_and_once_for_the_page_after(
    hermes_store: HermesStore, signed_in: Client, made: list[str]
) -> None:
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    index_cache.forget()
    PackedHistory.objects.all().delete()
    made.clear()
    answer = signed_in.post(
        f"/stores/{hermes_store.store.name}/sessions/{hermes_store.session_id}/boundaries/{run.handoff_id}/undo"
    )
    run.refresh_from_db()
    assert (answer.status_code, run.status) == (302, "undone")
    assert signed_in.get(answer.headers["Location"]).status_code == 200
    assert made == [hermes_store.session_id] * 2


def test_what_our_runs_know_counts_although_the_file_is_not_written(hermes_store: HermesStore) -> None:
    """A compaction stands in the file a moment before it is noted here."""
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    while store_version(hermes_store.store) != store_version(hermes_store.store):  # until the write has settled
        time.sleep(0.01)
    written = Compaction.objects.get(run=run.pk)
    Compaction.objects.all().delete()
    assert all(boundary.run is None for boundary in kept(hermes_store.store, hermes_store.session_id).boundaries)
    written.save()
    assert kept(hermes_store.store, hermes_store.session_id).boundaries[-1].run == run.pk
    Compaction.objects.all().delete()
    assert index_cache.unwritten(hermes_store.store, hermes_store.session_id) is None


def test_what_is_said_is_read_alone(empty_store: EmptyStore, made: list[str], statements: list[str]) -> None:
    empty_store.session("s")
    ids = empty_store.chat("s", 400)
    store = get_store("own")
    kept(store, "s")
    for number in range(3):
        empty_store.say("s", "user", f"new {number}", timestamp=1_790_001_000.0 + number)
        statements.clear()
        assert kept(store, "s").messages == 401 + number
        assert not [each for each in statements if " FROM messages WHERE session_id IN ('s') ORDER BY" in each]
        assert len([each for each in statements if "id > " in each]) == 1
    assert made == ["s"]
    assert max(ids) < kept(store, "s").ids[-1]
    assert_true(store, "s")


def test_a_part_that_an_agent_split_off_changes_the_whole(hermes_store: HermesStore) -> None:
    kept(hermes_store.store, hermes_store.session_id)
    hermes_store.rows(
        "UPDATE sessions SET end_reason = 'compression', ended_at = 1 WHERE id = ?", hermes_store.session_id
    )
    hermes_store.rows(
        "INSERT INTO sessions (id, source, started_at, parent_session_id) VALUES ('next', 'cli', 2, ?)",
        hermes_store.session_id,
    )
    HermesAtWork(hermes_store.path, "next").say("on")
    assert_true(hermes_store.store, "next")
    hermes_store.rows(
        "DELETE FROM messages WHERE id = (SELECT MIN(id) FROM messages WHERE session_id = ?)", hermes_store.session_id
    )
    assert_true(hermes_store.store, "next")
    hermes_store.append("late")
    assert_true(hermes_store.store, "next")


def test_another_file_of_the_name_is_another_history(hermes_store: HermesStore, tmp_path: Path) -> None:
    with open_store(hermes_store.store) as reader:
        session = get_session(reader, hermes_store.session_id)
        assert NONE not in index_cache.count_some(reader, session, 60).tokens
    other = tmp_path / "other.db"
    shutil.copyfile(hermes_store.path, other)
    with closing(sqlite3.connect(other)) as con, con:
        con.execute(
            "UPDATE messages SET content = 'other' WHERE session_id = ? AND id % 3 = 0", [hermes_store.session_id]
        )
    os.replace(other, hermes_store.path)
    assert_true(hermes_store.store, hermes_store.session_id)
    assert kept(hermes_store.store, hermes_store.session_id).tokens_live is None


@pytest.mark.parametrize("octets", [b"", b"rubbish", b"palimpsest outline\x01"])
def test_what_cannot_be_read_is_made_again(hermes_store: HermesStore, made: list[str], octets: bytes) -> None:
    first = kept(hermes_store.store, hermes_store.session_id)
    PackedHistory.objects.update(packed=octets)
    index_cache.forget()
    assert kept(hermes_store.store, hermes_store.session_id) == first
    assert len(made) == 2
    PackedHistory.objects.update(mark="no JSON")
    index_cache.forget()
    assert kept(hermes_store.store, hermes_store.session_id) == first
    PackedHistory.objects.all().delete()
    index_cache.forget()
    assert kept(hermes_store.store, hermes_store.session_id) == first


def test_a_lost_catalog_hinders_nobody(hermes_store: HermesStore) -> None:
    with connection.schema_editor() as editor:
        editor.delete_model(PackedHistory)
    try:
        assert_true(hermes_store.store, hermes_store.session_id)
    finally:
        with connection.schema_editor() as editor:
            editor.create_model(PackedHistory)


def test_a_session_of_any_name_has_its_history(empty_store: EmptyStore) -> None:
    for name in ("\ud800".encode("utf-8", "replace").decode(), "a\x00b", "x" * 3_000, "é\u202e'\"%"):
        empty_store.session(name)
        empty_store.chat(name, 3)
        assert_true(get_store("own"), name)


# -- counting ----------------------------------------------------------------------------------------------------------


def test_counting_goes_on_where_it_stopped_and_begins_with_what_is_in_context(
    hermes_store: HermesStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_cache, "AT_ONCE", 25)
    with open_store(hermes_store.store) as reader:
        session = get_session(reader, hermes_store.session_id)
        rounds = 0
        while NONE in (index := index_cache.count_some(reader, session, 0.0)).tokens:
            rounds += 1
            assert index.tokens_live is not None or not rounds > 1
            index_cache.forget()  # another process
        assert rounds > 3
        index = index_cache.index_of(reader, session)
        assert not index.uncounted()
        assert index_cache.count_few(reader, session, index.ids) is index


def test_a_page_counts_a_few_rows_and_no_long_ones(empty_store: EmptyStore) -> None:
    empty_store.session("short")
    empty_store.chat("short", 50)
    empty_store.session("long")
    empty_store.chat("long", 400)
    empty_store.session("heavy")
    empty_store.say("heavy", "user", "word " * 100_000)
    with open_store(get_store("own")) as reader:
        found = {
            name: index_cache.count_few(reader, session, index_cache.index_of(reader, session).live_ids)
            for name in ("short", "long", "heavy")
            for session in [get_session(reader, name)]
        }
    assert found["short"].tokens_live
    assert found["long"].tokens_live is None
    assert found["heavy"].tokens_live is None
    assert found["heavy"].context.about


def test_counts_stay_with_their_rows_over_a_compaction(hermes_store: HermesStore) -> None:
    with open_store(hermes_store.store) as reader:
        assert NONE not in index_cache.count_some(reader, get_session(reader, hermes_store.session_id), 60).tokens
    before = kept(hermes_store.store, hermes_store.session_id)
    agent(hermes_store).compact()
    after = kept(hermes_store.store, hermes_store.session_id)
    assert [row_id for row_id in before.ids if after.tokens_of(row_id) != before.tokens_of(row_id)] == []
    assert set(after.uncounted()) == set(after.ids) - set(before.ids)


def test_another_model_counts_anew(hermes_store: HermesStore) -> None:
    with open_store(hermes_store.store) as reader:
        index_cache.count_some(reader, get_session(reader, hermes_store.session_id), 60)
    hermes_store.rows("UPDATE sessions SET model = 'gpt-4' WHERE id = ?", hermes_store.session_id)
    assert kept(hermes_store.store, hermes_store.session_id).tokens_live is None
