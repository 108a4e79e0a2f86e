"""The catalog says what the stores say: at once where it is shown, soon everywhere else, and for little work."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from tests.agents.hermes.at_work import HermesAtWork
from tests.factories.session_lists import fill, ids, line_of, listed, owner, settle, tips
from tests.factories.stores import PRESENT, EmptyStore, HermesStore
from viewer.catalog import lines, numbers, sync, sync_worker, upsert
from viewer.catalog.models import FacetGroup, SessionIndex, StoreState
from viewer.stores.base import Session, Store
from viewer.stores.errors import StoreUnavailable
from viewer.stores.hermes import schema
from viewer.stores.hermes.listing import HermesListing
from viewer.stores.hermes.reader import HermesReader as Reader
from viewer.stores.hermes.reader import open_store
from viewer.stores.registry import get_store

pytestmark = pytest.mark.django_db

WEEK_29 = "20260714_043320_a80629"


@pytest.fixture(autouse=True)
def no_demo(settings: Settings, tmp_path: Path) -> None:
    settings.DEMO_STORE = tmp_path / "nowhere.db"


# -- what there is -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [16, 21, 31])
def test_all_sessions_of_a_store_are_listed(open_hermes_store: Callable[[int], HermesStore], version: int) -> None:
    with open_store(open_hermes_store(version).store) as reader:
        wanted = set(tips(reader))
    assert set(ids()) == wanted
    sync_worker.sync_all()
    assert set(ids()) == wanted
    assert not SessionIndex.objects.filter(tip=True, tokens=None).exists()


def test_a_store_that_was_not_written_is_not_opened(empty_store: EmptyStore, statements: list[str]) -> None:
    empty_store.session("a")
    empty_store.say("a", "user", "hello")
    settle()
    assert ids() == ["a"]
    sync_worker.sync_all()
    statements.clear()
    assert ids() == ["a"]
    assert not sync_worker.look("me")
    assert statements == []


@pytest.mark.slow
def test_one_new_message_costs_the_same_among_few_and_many(
    tmp_path: Path, settings: Settings, statements: list[str]
) -> None:
    counts = []
    for number in (25, 75):
        path = tmp_path / f"{number}.db"
        schema.create(path)
        fill(path, [f"s{each}" for each in range(number)])
        settings.STORES = {f"of{number}": f"sqlite:///{path}"}
        settle()
        sync_worker.sync_all()
        ids(20)
        owner(path, "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s3', 'user', 'news', 1.75e9)")
        statements.clear()
        assert ids(20)[0] == "s3"
        counts.append([statement.split(" WHERE ")[0] for statement in statements])
    assert counts[0] == counts[1]
    assert list(SessionIndex.objects.filter(session_id="s3").values_list("live", flat=True)) == [3, 3]


# -- what the agent does -----------------------------------------------------------------------------------------------


def test_a_new_session_and_its_words_are_listed_at_once(empty_store: EmptyStore) -> None:
    empty_store.session("a", started_at=PRESENT - 9)
    assert ids() == ["a"]
    empty_store.session("b", started_at=PRESENT)
    assert ids() == ["b", "a"]
    empty_store.say("a", "user", "which bees\nfly now?", timestamp=PRESENT + 9)
    assert ids() == ["a", "b"]
    assert line_of("a").first_words == "which bees fly now?"


@pytest.mark.parametrize(
    ("change", "name", "value"),
    [
        ("title = 'Anew'", "title", "Anew"),
        ("archived = 1", "archived", True),
        ("ended_at = 1.7e9", "ended_at", 1.7e9),
        ("ended_at = 5.0, end_reason = 'compression'", "continued", True),
        ("model = 'gpt-4'", "model", "gpt-4"),
        ("source = 'telegram'", "source", "telegram"),
    ],
)
def test_what_the_owner_changes_of_a_session_is_seen(
    empty_store: EmptyStore, change: str, name: str, value: object
) -> None:
    """By the next page that would show it; elsewhere by the worker."""
    empty_store.session("a")
    empty_store.session("b")
    sync_worker.sync_all()
    owner(empty_store.path, f"UPDATE sessions SET {change} WHERE id IN ('a')")
    shown = {line.session_id: line for line in listed().lines}
    assert "a" not in shown if name == "archived" else getattr(shown["a"], name) == value
    owner(empty_store.path, f"UPDATE sessions SET {change.replace('Anew', 'Other')} WHERE id = 'b'")
    sync_worker.sync_all()
    assert getattr(line_of("b"), name) == (value if name != "title" else "Other")


def test_a_deleted_session_is_gone_by_the_next_page_and_by_the_worker(empty_store: EmptyStore) -> None:
    for name in "abc":
        empty_store.session(name)
        empty_store.say(name, "user", "x")
    sync_worker.sync_all()
    for name, left in (("b", {"a", "c"}), ("c", {"a"})):
        owner(empty_store.path, "DELETE FROM messages WHERE session_id = ?", name)
        owner(empty_store.path, "DELETE FROM sessions WHERE id = ?", name)
        if name == "b":
            assert set(ids()) == left
        else:
            sync_worker.sync_all()
        assert set(SessionIndex.objects.values_list("session_id", flat=True)) == left


def test_a_page_shows_none_of_many_that_were_deleted(empty_store: EmptyStore) -> None:
    """They are met one page after another, and each shows only by a look at the store that it is gone."""
    fill(empty_store.path, [f"s{number:03}" for number in range(60)])
    sync_worker.sync_all()
    owner(empty_store.path, "DELETE FROM messages WHERE session_id >= 's010'")
    owner(empty_store.path, "DELETE FROM sessions WHERE id >= 's010'")
    assert ids(2) == ["s009", "s008"]
    assert listed(2).more


def test_a_page_that_ends_its_look_shows_what_still_stands(
    empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "ROUNDS", 1)
    fill(empty_store.path, [f"s{number:03}" for number in range(30)])
    sync_worker.sync_all()
    owner(empty_store.path, "UPDATE sessions SET archived = 1 WHERE id >= 's025'")
    owner(empty_store.path, "DELETE FROM sessions WHERE id = 's024'")
    assert ids(10) == [f"s{number:03}" for number in range(23, 18, -1)]


def test_a_backup_copied_over_the_file_starts_new_lines_although_ids_are_given_again(
    empty_store: EmptyStore, tmp_path: Path
) -> None:
    empty_store.session("a")
    empty_store.session("b")
    shutil.copyfile(empty_store.path, tmp_path / "backup.db")
    empty_store.say("a", "user", "x")
    sync_worker.sync_all()
    shutil.copyfile(tmp_path / "backup.db", empty_store.path)
    empty_store.say("b", "user", "y", timestamp=PRESENT + 1)
    assert {line.session_id: line.live for line in listed().lines} == {"a": 0, "b": 1}
    assert StoreState.objects.filter(name="own", retired=True).exists()


def test_a_session_that_took_the_place_of_a_deleted_one(empty_store: EmptyStore) -> None:
    """`sessions` gives the number of its newest row again."""
    empty_store.session("a")
    empty_store.session("b")
    sync_worker.sync_all()
    owner(empty_store.path, "DELETE FROM sessions WHERE id = 'b'")
    empty_store.session("c")
    sync_worker.sync_all()
    assert set(ids()) == {"a", "c"} == set(SessionIndex.objects.values_list("session_id", flat=True))


@pytest.mark.parametrize("version", [21, 31])
def test_what_the_agent_does_to_rows_is_seen(open_hermes_store: Callable[[int], HermesStore], version: int) -> None:
    """A take-back leaves no new row; a compaction and a replaced transcript do."""
    path = open_hermes_store(version).path
    sync_worker.sync_all()
    agent = HermesAtWork(path, WEEK_29)
    before = line_of(WEEK_29)
    agent.rewind(agent.rows()[-2][0])
    shown = next(line for line in listed().lines if line.session_id == WEEK_29)
    assert shown.live == before.live - 2

    agent.say("one", "two")
    sync_worker.sync_all()
    assert line_of(WEEK_29).compactions == before.compactions == 2
    agent.compact()
    sync_worker.sync_all()
    after = line_of(WEEK_29)
    assert (after.compactions, after.live) == (3, len(agent.rows()))
    assert after.tokens is not None and before.tokens is not None and after.tokens < before.tokens

    agent.replace([("user", "all new", None, None, None, 1.9e9)], active_only=False)
    sync_worker.sync_all()
    after = line_of(WEEK_29)
    assert (after.live, after.messages, after.compactions, after.own_words) == (1, 1, 0, "all new")


def test_a_take_back_of_a_session_that_no_page_shows_is_seen_by_the_worker(empty_store: EmptyStore) -> None:
    empty_store.session("a")
    rows = empty_store.chat("a", 6)
    sync_worker.sync_all()
    HermesAtWork(empty_store.path, "a").rewind(rows[3])
    sync_worker.sync_all()
    assert (line_of("a").live, line_of("a").messages) == (3, 3)


# -- files that come and go --------------------------------------------------------------------------------------------


def another(path: Path, name: str) -> Path:
    """A store with one session of this name."""
    schema.create(path)
    fill(path, [name])
    return path


def test_lines_of_a_replaced_file_are_made_anew(empty_store: EmptyStore, tmp_path: Path) -> None:
    empty_store.session("old")
    sync_worker.sync_all()
    assert ids() == ["old"]
    os.replace(another(tmp_path / "new.db", "new"), empty_store.path)
    assert ids() == ["new"]
    assert ids(source="cli") == ["new"]


def test_lines_of_a_file_that_was_written_over_are_made_anew(empty_store: EmptyStore, tmp_path: Path) -> None:
    """The inode is the same: what was the newest row tells."""
    fill(empty_store.path, ["old", "older"], 5)
    sync_worker.sync_all()
    inode = empty_store.path.stat().st_ino
    for suffix in ("-wal", "-shm"):
        Path(f"{empty_store.path}{suffix}").unlink(missing_ok=True)
    shutil.copyfile(another(tmp_path / "new.db", "new"), empty_store.path)
    assert empty_store.path.stat().st_ino == inode
    assert ids() == ["new"]
    sync_worker.sync_all()
    assert set(SessionIndex.objects.values_list("session_id", flat=True)) == {"new"}
    assert StoreState.objects.filter(name="own").count() == 1


def test_a_name_that_means_another_file_lists_that_one_alone(
    empty_store: EmptyStore, tmp_path: Path, settings: Settings
) -> None:
    empty_store.session("a")
    sync_worker.sync_all()
    first = settings.STORES
    settings.STORES = {"own": f"sqlite:///{another(tmp_path / 'other.db', 'b')}"}
    assert ids() == ["b"]
    settings.STORES = first
    assert ids() == ["a"]


def test_a_store_that_stays_away_is_not_listed_and_one_day_forgotten(empty_store: EmptyStore) -> None:
    empty_store.session("a")
    sync_worker.sync_all()
    away = empty_store.path.rename(empty_store.path.with_name("away.db"))
    assert ids() == []
    assert listed().listings[0].problem
    sync_worker.sync_all()
    assert SessionIndex.objects.count() == 1
    away.rename(empty_store.path)
    assert ids() == ["a"]
    empty_store.path.unlink()
    StoreState.objects.update(seen_at=timezone.now() - timedelta(days=31))
    sync_worker.sync_all()
    assert not SessionIndex.objects.exists() and not StoreState.objects.exists()


def test_a_catalog_that_is_lost_is_made_again(empty_store: EmptyStore) -> None:
    fill(empty_store.path, ["a", "b"])
    sync_worker.sync_all()
    before = ids()
    StoreState.objects.all().delete()
    assert not SessionIndex.objects.exists()
    assert ids() == before


def test_a_store_that_breaks_while_it_is_read_is_said_to(empty_store: EmptyStore) -> None:
    empty_store.session("a")
    assert ids() == ["a"]
    empty_store.path.write_bytes(b"no database" * 1000)
    listing = listed().listings[0]
    assert "not a readable SQLite database" in listing.problem and listing.state is None


# -- many sessions -----------------------------------------------------------------------------------------------------


@pytest.fixture
def many(empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch) -> EmptyStore:
    """More sessions than are read in a request, or in two steps of the worker."""
    monkeypatch.setattr(sync, "NEWS", 20)
    monkeypatch.setattr(sync, "NEWEST", 8)
    monkeypatch.setattr(sync_worker, "NEWS", 80)
    monkeypatch.setattr(sync_worker, "LISTED", 20)
    monkeypatch.setattr(sync_worker, "COMPARED", 20)
    fill(empty_store.path, [f"s{number:03}" for number in range(44)])
    return empty_store


def test_a_first_visit_shows_the_newest_sessions_and_says_how_many_are_left(many: EmptyStore) -> None:
    settle()
    page = listed(4)
    assert [line.session_id for line in page.lines] == ["s043", "s042", "s041", "s040"]
    assert SessionIndex.objects.count() <= sync.NEWEST
    assert page.unlisted >= 44 - sync.NEWEST
    assert listed(4).unlisted < page.unlisted  # nobody else does it
    StoreState.objects.update(claimed_by="a worker", claimed_until=timezone.now() + timedelta(seconds=20))
    assert listed(4).unlisted == listed(4).unlisted > 0


def test_a_session_that_was_active_lately_is_listed_first_however_old_it_is(many: EmptyStore) -> None:
    many.say("s001", "user", "news", timestamp=PRESENT + 100)
    assert ids(4)[0] == "s001"


def test_the_worker_lists_all_in_bounded_steps(many: EmptyStore, statements: list[str]) -> None:
    before, steps = 0, 0
    while sync_worker.look("me"):
        done = SessionIndex.objects.count()
        assert done - before <= sync_worker.LISTED
        before, steps = done, steps + 1
    assert before == 44 and steps >= 3
    assert listed(1).unlisted == 0
    assert not StoreState.objects.exclude(unread_below=0).exists()


def test_comparing_all_sessions_again_is_not_urgent(many: EmptyStore) -> None:
    """What is new comes first; the comparison goes some sessions a look, however often the agent writes."""
    settle()
    sync_worker.sync_all()
    many.say("s020", "user", "news", timestamp=PRESENT + 5)
    settle()
    owner(many.path, "UPDATE sessions SET title = 'Anew' WHERE id = 's001'")
    settle()
    looks = [sync_worker.look("me") for _ in range(4)]
    assert looks == [
        sync_worker.Backlog.LATER,
        sync_worker.Backlog.LATER,
        sync_worker.Backlog.NOTHING,
        sync_worker.Backlog.NOTHING,
    ]
    assert (line_of("s020").live, line_of("s001").title) == (3, "Anew")


@pytest.mark.slow
def test_all_sessions_are_compared_beside_an_agent_that_never_rests(many: EmptyStore) -> None:
    sync_worker.sync_all()
    owner(many.path, "UPDATE sessions SET title = 'Anew' WHERE id = 's001'")
    for number in range(4):
        many.say("s020", "user", "news", timestamp=PRESENT + number)
        assert sync_worker.look("me")
    assert (line_of("s020").live, line_of("s001").title) == (6, "Anew")


def test_of_two_workers_one_reads_a_store_and_the_other_goes_on_when_it_died(many: EmptyStore) -> None:
    assert sync_worker.look("one")
    done = SessionIndex.objects.count()
    assert not sync_worker.look("two")
    assert SessionIndex.objects.count() == done
    StoreState.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))  # killed, and its claim ran out
    while sync_worker.look("two"):
        pass
    assert SessionIndex.objects.count() == 44
    assert set(ids()) == {f"s{number:03}" for number in range(44)}


def test_a_worker_with_nothing_to_do_writes_nothing(many: EmptyStore) -> None:
    """It looks every two seconds, day and night."""
    settle()
    sync_worker.sync_all()
    with CaptureQueriesContext(connection) as queries:
        assert not sync_worker.look("me")
    assert {query["sql"].split()[0] for query in queries} == {"SELECT"}
    assert len(queries) <= 5


@pytest.mark.parametrize("failure", [ValueError("odd"), AttributeError("odd"), StoreUnavailable("odd")])
def test_a_session_at_which_counting_fails_does_not_keep_others_from_it(
    empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    for name in "ab":
        empty_store.session(name)
        empty_store.chat(name, 3)
    plain = numbers.count_line

    def failing(reader: Reader, line: SessionIndex, seconds: float) -> bool:
        assert plain(reader, line, seconds)
        if line.session_id == "b":
            raise failure
        return True

    monkeypatch.setattr(numbers, "count_line", failing)
    sync_worker.sync_all()
    assert line_of("a").messages == 3
    assert "Session 'b' of store own cannot be counted" in caplog.text


@pytest.mark.parametrize("failure", [AttributeError("odd"), OSError(13, "Permission denied")])
def test_a_session_of_which_nothing_can_be_said_is_listed_with_the_reason(
    signed_in: Client, empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    for name in "abc":
        empty_store.session(name, title=f"title {name}")
        empty_store.chat(name, 2)
    plain = HermesListing.sessions

    def failing(listing: HermesListing, ids: Sequence[str]) -> dict[str, Session]:
        if "b" in ids:
            raise failure
        return plain(listing, ids)

    with monkeypatch.context() as damaged:
        damaged.setattr(HermesListing, "sessions", failing)
        sync_worker.sync_all()
        page = signed_in.get("/").content.decode()
        assert "title a" in page and "title c" in page and "It cannot be read" in page
    empty_store.chat("b", 1)
    sync_worker.sync_all()
    page = signed_in.get("/").content.decode()
    assert "title b" in page and "It cannot be read" not in page


def test_a_store_that_fails_does_not_keep_others_from_being_read(
    empty_store: EmptyStore,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    schema.create(tmp_path / "bad.db")
    settings.STORES = {"bad": f"sqlite:///{tmp_path / 'bad.db'}", **settings.STORES}
    empty_store.session("a")
    plain = sync_worker.step

    def failing(store: Store, state: StoreState) -> sync_worker.Backlog:
        if store.name == "bad":
            raise ValueError("odd")
        return plain(store, state)

    monkeypatch.setattr(sync_worker, "step", failing)
    sync_worker.sync_all()
    assert line_of("a").messages == 0
    assert "The catalog of store bad" in caplog.text


def test_nobody_writes_what_was_read_before_somebody_else_wrote(empty_store: EmptyStore) -> None:
    empty_store.session("a", title="Old")
    store = get_store("own")
    state = sync.store_listings([store])[0].state
    assert state is not None
    with open_store(store) as reader:
        early = upsert.prepared(reader, state, ["a"])
    owner(empty_store.path, "UPDATE sessions SET title = 'New' WHERE id = 'a'")
    with open_store(store) as reader:
        late = upsert.prepared(reader, StoreState.objects.get(), ["a"])
    assert upsert.commit(store, StoreState.objects.get(), late)
    assert not upsert.commit(store, state, early, {"signature": "x"})
    assert line_of("a").title == "New"
    assert StoreState.objects.get().signature != "x"


@pytest.mark.django_db(transaction=True)
def test_the_worker_keeps_the_catalog(many: EmptyStore) -> None:
    call_command("worker", batch=True)
    assert SessionIndex.objects.count() == 44 and not SessionIndex.objects.filter(due=True).exists()


# -- odd values --------------------------------------------------------------------------------------------------------


def test_nothing_in_a_row_breaks_the_list(empty_store: EmptyStore) -> None:
    empty_store.session("a", title="nul \0 and <b>", model="m" * 5_000, source="x" * 5_000, cwd="\0")
    empty_store.session("b", title=b"\xff\xfe", started_at="yesterday", ended_at="never", archived="no")
    empty_store.session("c", model_config="[" * 100_000, parent_session_id="c", end_reason="compression")
    empty_store.session("i" * 2_000)
    empty_store.session("d")
    empty_store.say("d", "user", "\0json:[[")
    empty_store.say("d", "user", [{"type": "text", "text": "spoken"}], timestamp=PRESENT + 1)
    empty_store.say("d", "user", "x", timestamp="soon")
    sync_worker.sync_all()
    assert set(ids()) | set(ids(state="archived")) == {"a", "b", "c", "d", "i" * 2_000}
    assert line_of("a").title == "nul \ufffd and <b>"
    assert line_of("d").own_words == "spoken"


# -- conversations in parts --------------------------------------------------------------------------------------------


PARTS: dict[str, dict[str, object]] = {
    "one": {"title": "Talk", "ended_at": 1.0, "end_reason": "compression"},
    "two": {"title": "Talk #2", "parent_session_id": "one", "ended_at": 2.0, "end_reason": "compression"},
    "three": {"title": "Talk #3", "parent_session_id": "two"},
    "fork": {"title": "Fork", "parent_session_id": "two", "model_config": '{"_branched_from": "two"}'},
}


@pytest.mark.parametrize("order", [["one", "two", "three", "fork"], ["three", "fork", "one", "two"]])
def test_of_a_conversation_in_parts_only_the_newest_is_listed(empty_store: EmptyStore, order: list[str]) -> None:
    """Whatever order its parts are met in."""
    for name in order:
        empty_store.session(name, **PARTS[name])
        empty_store.say(name, "user", f"words of {name}")
        ids()
    assert set(ids()) == {"three", "fork"}
    newest, fork = line_of("three"), line_of("fork")
    assert (newest.parts, newest.continues, newest.first_words) == (3, "two", "words of one")
    assert (fork.parts, fork.continues, fork.branched_from) == (1, "", "two")
    assert ids(compacted=True) == ["three"]
    owner(empty_store.path, "DELETE FROM sessions WHERE id = 'three'")
    sync_worker.sync_all()
    assert set(ids()) == {"two", "fork"}
    owner(empty_store.path, "UPDATE sessions SET end_reason = 'done' WHERE id = 'one'")
    sync_worker.sync_all()
    assert set(ids()) == {"one", "two", "fork"}
    assert line_of("two").parts == 1


def test_a_kind_is_one_of_each_sort(empty_store: EmptyStore) -> None:
    fill(empty_store.path, ["a", "b", "c"])
    owner(empty_store.path, "UPDATE sessions SET source = 'web' WHERE id = 'c'")
    sync_worker.sync_all()
    assert sorted(FacetGroup.objects.values_list("source", flat=True)) == ["cli", "web"]
    with closing(sqlite3.connect(empty_store.path)) as con:
        assert con.execute("SELECT COUNT(*) FROM sessions").fetchone() == (3,)
