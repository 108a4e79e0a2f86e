"""The full-text index of stores without one: the same hits as in a store that has its own, and nothing that is gone."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import example, given
from hypothesis import strategies as st
from pytest_django import Settings

from tests.agents.json_file import GUIDE, add_json_kind, write_sessions
from tests.slow import one_in
from viewer.catalog import sync, sync_worker
from viewer.catalog.models import SessionText, StoreState, StoreText, TextMessage, TextPortion
from viewer.catalog.search import candidates, index, indexing
from viewer.catalog.search.store_search import search
from viewer.stores.errors import StoreUnavailable
from viewer.stores.hermes import schema
from viewer.stores.registry import get_store, open_store
from viewer.stores.search.pages import Hit, HitPage, Key, PageRequest, SearchableText, SearchFilter, Stage
from viewer.stores.search.passages import words_of
from viewer.stores.search.query import fold, parse
from viewer.stores.whole import WholeReader

pytestmark = pytest.mark.django_db(transaction=True)

STARTED = 1_790_000_000.0  # epoch seconds


@dataclass
class Shelf:
    """Two stores with the same sessions: `own` is a Hermes database, `plain` a JSON file."""

    place: Path
    sessions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    at: int = 0

    def say(self, session_id: str, text: Any, role: str = "user", **more: Any) -> None:
        self.at += 1
        message = {"role": role, "content": text, "timestamp": STARTED + self.at, **more}
        self.sessions.setdefault(session_id, []).append(message)

    def save(self) -> None:
        write_sessions(self.place / "plain.json", self.sessions)

    def save_both(self) -> None:
        self.save()
        with closing(sqlite3.connect(self.place / "own.db")) as con, con:
            for session_id in self.sessions:
                values = [session_id, "json", session_id, STARTED]
                con.execute("INSERT INTO sessions (id, source, title, started_at) VALUES (?, ?, ?, ?)", values)
            said = [(name, message) for name, messages in self.sessions.items() for message in messages]
            con.executemany(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, ?)",
                [
                    (name, message["role"], message["content"], message["timestamp"])
                    for name, message in sorted(said, key=lambda each: each[1]["timestamp"])
                ],
            )


@pytest.fixture
def shelf(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    add_json_kind(monkeypatch)
    schema.create(tmp_path / "own.db")
    settings.STORES = {"own": f"sqlite:///{tmp_path}/own.db", "plain": f"json:///{tmp_path}/plain.json"}
    settings.DEMO_STORE = tmp_path / "no-demo.db"
    return Shelf(tmp_path)


def find(q: str, *, store: str = "plain", limit: int = 25, redacting: bool = False, **wanted: Any) -> HitPage:
    with open_store(get_store(store)) as reader:
        return search(reader, parse(q), SearchFilter(**wanted), PageRequest(limit, redacting=redacting))


def walk(q: str, store: str = "plain", limit: int = 7, **wanted: Any) -> list[Hit]:
    """The hits of all pages."""
    hits: list[Hit] = []
    after: Key | None = None
    stage: Stage = "none"
    while True:
        with open_store(get_store(store)) as reader:
            found = search(reader, parse(q), SearchFilter(**wanted), PageRequest(limit, after, stage))
        hits += found.hits
        if found.next is None:
            return hits
        assert (found.next, found.stage) != (after, stage)
        after, stage = found.next, found.stage


def told(hits: Sequence[Hit]) -> list[tuple[Any, ...]]:
    return [(hit.session.id, hit.session.title, hit.role, hit.time, hit.kind, hit.state, hit.passage) for hit in hits]


def said(found: HitPage) -> list[str]:
    return ["".join(piece.text for piece in hit.passage) for hit in found.hits]


def codes(found: HitPage) -> list[str]:
    return [note.code for note in found.notes]


def indexed(word: str) -> int:
    """How many messages the index names for a word, whatever the stores say."""
    return len(index.places(index.WordQuery((word,)), 0, 2**62, 10_000))


def sound() -> None:
    """The index, what it knows messages by, and the portions agree."""
    portions = [place for each in TextPortion.objects.all() for place, _ in index.unpacked(bytes(each.words))]
    assert sorted(portions) == sorted(TextMessage.objects.values_list("pk", flat=True))
    assert sum(StoreText.objects.values_list("messages", flat=True)) == len(portions)
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO catalog_text (catalog_text) VALUES ('integrity-check')")


# -- the same hits -----------------------------------------------------------------------------------------------------

TEXTS = """
the refund policy of the hotel|refunds are slow|a policy of refund|reservation R01186 at 10:45|im Café|CAFÉ au lait
Zażółć gęślą jaźń|STRASSE straße|οδυσσευς|हिन्दी में लिखा|日本語の検索を試す|検索エンジン|你好，世界！|世 alone
GPT模型 and gpt|모델을 학습|สวัสดีชาวโลก|marmosets_and_kin|get_reservation(id)
/srv/app/release_notes.md:45|a -> b|x = y * z|emoji 🙂 here
release notes|notes of the release|3月4日に東京|ﬁligree|İstanbul ISTANBUL|naïvé étude|0x1f5e3ab1e0|don't stop
"""
QUERIES = """
refund|refund policy|"refund policy"|refund*|policy -hotel|-"of refund" policy|the|reserv|R01186|cafe|CAFÉ|caf|gęślą
gesla|straße|strasse|οδυσσευς|οδυσ|हिन्दी|検索|日本語の検索|日本|世界|世|你好 世界|模型|GPT模型|gpt|gp*|모델
학습 모델|ชาวโลก
armose|sets_and|get_reservation|eservatio|release_notes.md|lease_no|notes release|"release notes"|->|🙂|zzyzx|東京|4日
filigree|ﬁligree|istanbul|etude|1f5e3|don't|don t|"|-|*|100%|a|policy -refunds|app/release|refund -世界|-refund
日本語 検索|エンジン -日本
"""
NARROWED: list[dict[str, Any]] = [
    {},
    {"role": "assistant"},
    {"source": "json"},
    {"source": "cli"},
    {"sessions": ("s1", "s3")},
    {"since": STARTED + 20, "until": STARTED + 40},
    {"indexed": False},
    {"indexed": False, "sessions": ("s2",)},
]


def listed(texts: str) -> list[str]:
    return texts.strip().replace("\n", "|").split("|")


@pytest.fixture
def twins(shelf: Shelf) -> Shelf:
    for number, text in enumerate(listed(TEXTS) * 2):
        shelf.say(f"s{number % 5}", text, ("user", "assistant", "user")[number % 3])
    shelf.save_both()
    sync_worker.sync_all()
    return shelf


@pytest.mark.parametrize("wanted", one_in(4, NARROWED), ids=str)
def test_hits_are_those_of_a_store_with_an_index(twins: Shelf, wanted: dict[str, Any]) -> None:
    for q in listed(QUERIES):
        assert told(walk(q, **wanted)) == told(walk(q, "own", **wanted)), q


def test_the_best_are_those_of_a_store_with_an_index(twins: Shelf) -> None:
    for q in listed(QUERIES):
        assert sorted(told(walk(q, order="best"))) == sorted(told(walk(q, "own", order="best"))), q


def test_some_of_these_queries_find_something(twins: Shelf) -> None:
    found = {q: len(walk(q)) for q in listed(QUERIES)}
    assert found["検索"] == found["世界"] * 2 == 4
    assert found["armose"] == 2
    assert sum(map(bool, found.values())) > 50
    assert "inside_words" in codes(find("armose"))


@given(
    st.lists(st.text(alphabet="abAé\u0301 _-.>9世界検索กิ\u3000İßΣ", max_size=12), max_size=4),
    st.text(alphabet='abAé世界検索กิ _-.>9İßΣ"*', max_size=8),
)
@example(["9ก"], "ก")
@pytest.mark.django_db(databases=[])
def test_the_index_names_whatever_holds_the_query(lines: list[str], q: str) -> None:
    text = words_of(_message("\n".join(lines))).text
    query = parse(q)
    for sought in filter(None, (query, query.inside, parse(q, whole=True))):
        if sought.empty or sought.lacks(fold(text)) or sought.forbids(fold(text)):
            continue
        words = index.indexed_words(text)
        asked = index.word_query(sought)
        for word in asked.wanted if asked else ():
            held = words.split()
            assert any(each.startswith(word[:-1]) for each in held) if word.endswith("*") else word in held
        assert not asked or not set(asked.excluded) & set(words.split())
        assert all(part in f" {words} " for part in candidates.parts_of_words(sought))


def _message(text: str) -> Any:
    from viewer.stores.message import StoredMessage

    return StoredMessage(1, "s", "user", text, "live", 0.0)


def test_calls_and_summaries_are_found(shelf: Shelf) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "marmoset.py"}'}}
    shelf.say("s", "", "assistant", tool_calls=[call])
    shelf.say("s", "[CONTEXT SUMMARY]: it was about marmosets\n--- END OF CONTEXT SUMMARY ---")
    shelf.say("s", [{"type": "text", "text": "a part of a marmoset"}, {"type": "image_url", "image_url": {"url": "x"}}])
    shelf.save()
    assert [hit.kind for hit in find("marmoset").hits] == ["message", "summary", "message"]
    assert [hit.kind for hit in find("read_file").hits] == ["message"]


def test_what_looks_like_a_secret_is_found_and_not_shown(shelf: Shelf) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    shelf.say("s", f"the token is {token} so")
    shelf.save()
    assert token in said(find(token))[0]
    (shown,) = said(find(token, redacting=True))
    assert token not in shown
    assert "[redacted" in shown


def test_messages_of_one_moment_and_of_none(shelf: Shelf) -> None:
    for number in range(100):
        shelf.say(f"s{number % 3}", f"word{number} all")
    for messages in shelf.sessions.values():
        for message in messages:
            message["timestamp"] = 0 if message["content"].endswith("0 all") else STARTED
    shelf.save()
    sync_worker.sync_all()
    assert len({(hit.session.id, hit.id) for hit in walk("all")}) == 100
    assert len(walk("all", until=STARTED)) == 10
    assert len(walk("all", since=STARTED, limit=40)) == 90
    sound()


# -- what changes ------------------------------------------------------------------------------------------------------


def test_what_was_just_said_is_found_without_a_worker(shelf: Shelf) -> None:
    shelf.say("s", "the first")
    shelf.save()
    assert said(find("first")) == ["the first"]
    shelf.say("s", "the second")
    shelf.save()
    assert said(find("the")) == ["the second", "the first"]
    sound()


def test_only_what_is_new_is_indexed(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[str] = []
    add = index.add

    def noted(found: Sequence[index.Words]) -> None:
        added.extend(each.words for each in found)
        add(found)

    monkeypatch.setattr(index, "add", noted)
    for number in range(4):
        shelf.say("s", f"word{number}")
    shelf.save()
    sync_worker.sync_all()
    shelf.say("s", "word4")
    shelf.say("t", "word5")
    shelf.save()
    sync_worker.sync_all()
    assert len(added) == 6
    sound()


def test_text_that_was_changed_leaves_the_index(shelf: Shelf) -> None:
    shelf.say("s", "the marmoset")
    shelf.say("s", "the armadillo")
    shelf.save()
    sync_worker.sync_all()
    assert indexed("marmoset") == indexed("armadillo") == 1
    shelf.sessions["s"][0]["content"] = "the tapir"
    shelf.save()
    assert said(find("marmoset")) == []
    sync_worker.sync_all()
    assert (indexed("marmoset"), indexed("tapir"), indexed("armadillo")) == (0, 1, 1)
    assert said(find("the")) == ["the armadillo", "the tapir"]
    sound()


def test_nothing_that_is_gone_is_shown_before_it_leaves(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.say("s", "the marmoset")
    shelf.say("t", "a marmoset")
    shelf.say("u", "no marmoset", taken_back=True)
    shelf.save()
    sync_worker.sync_all()
    assert said(find("marmoset")) == ["a marmoset", "the marmoset"]
    monkeypatch.setattr(indexing, "index_some", lambda *_: True)  # nobody comes to it
    del shelf.sessions["s"]
    shelf.sessions["t"][0]["content"] = "another"
    shelf.save()
    assert indexed("marmoset") == 3
    assert said(find("marmoset")) == []


def test_text_of_sessions_that_are_gone_leaves_the_index(shelf: Shelf) -> None:
    for number in range(30):
        shelf.say(f"s{number}", f"the marmoset {number}")
    shelf.save()
    sync_worker.sync_all()
    shelf.sessions = {"s7": shelf.sessions["s7"]}
    shelf.save()
    sync_worker.sync_all()
    assert indexed("marmoset") == SessionText.objects.count() == 1
    sound()


def test_text_of_a_file_that_was_replaced_leaves_the_index(shelf: Shelf) -> None:
    shelf.say("s", "the marmoset")
    shelf.save()
    sync_worker.sync_all()
    (shelf.place / "plain.json").rename(shelf.place / "old.json")
    shelf.sessions = {}
    shelf.say("t", "the tapir")
    shelf.save()
    sync_worker.sync_all()
    assert (indexed("marmoset"), indexed("tapir")) == (0, 1)


def test_text_of_a_store_that_stays_away_is_forgotten(shelf: Shelf, settings: Settings) -> None:
    shelf.say("s", "the marmoset")
    shelf.save()
    sync_worker.sync_all()
    settings.STORES = {"own": settings.STORES["own"]}
    StoreState.objects.filter(name="plain").update(seen_at="2020-01-01T00:00:00Z")
    sync_worker.sync_all()
    assert not StoreText.objects.exists()
    assert indexed("marmoset") == 0


def test_no_word_of_what_is_gone_is_left_in_the_files(shelf: Shelf) -> None:
    def held(word: str) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM catalog_text_data WHERE instr(block, %s)", [word.encode()])
            ((blocks,),) = cursor.fetchall()
        portions = TextPortion.objects.all()
        return blocks > 0 or any(word in words for each in portions for _, words in index.unpacked(bytes(each.words)))

    for number in range(12):
        shelf.say(f"s{number}", f"some xylophonist{number} and the rest")
        shelf.save()
        sync_worker.sync_all()
    assert held("xylophonist")
    shelf.sessions = {"s": [{"role": "user", "content": "some other rest"}]}
    shelf.save()
    sync_worker.sync_all()
    assert not held("xylophonist")
    assert held("other")
    sound()


# -- the work ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewer.stores.whole.PORTION", 100)
    monkeypatch.setattr(indexing, "BATCH", 200)
    monkeypatch.setattr(indexing, "PORTION", 200)
    monkeypatch.setattr(indexing, "DROPPED", 2)


def test_who_is_killed_leaves_nothing_half_done(
    shelf: Shelf, small_portions: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever goes on begins behind what was written."""
    for number in range(40):
        shelf.say(f"s{number % 2}", f"word{number} and some more words")
    shelf.save()
    add = index.add
    added: list[int] = []

    def killed(found: Sequence[index.Words]) -> None:
        add(found)
        if len(added) == 3:
            raise KeyboardInterrupt
        added.append(len(found))

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(index, "add", killed)
        sync_worker.sync_all()
    assert 0 < TextMessage.objects.count() == sum(added) < 40
    sound()
    StoreState.objects.update(claimed_by="")
    StoreState.objects.update(claimed_until="2020-01-01T00:00:00Z")
    sync_worker.sync_all()
    assert TextMessage.objects.count() == 40
    assert len(walk("words")) == 40
    sound()


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_of_two_that_read_the_same_one_writes(
    shelf: Shelf, small_portions: None, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    for number in range(40):
        shelf.say("s", f"word{number} and some more words")
    shelf.save()
    with monkeypatch.context() as listing:
        listing.setattr(indexing, "index_some", lambda *_: False)
        sync_worker.sync_all()
    read = WholeReader.searchable
    reads: list[str] = []

    def interrupted(reader: WholeReader, session_id: str, after: str) -> Any:
        reads.append(after)
        if len(reads) == 3:
            indexing.index_some(reader, seconds)
        return read(reader, session_id, after)

    monkeypatch.setattr(WholeReader, "searchable", interrupted)
    with open_store(get_store("plain")) as reader:
        indexing.index_some(reader, 60.0)
    assert len(reads) > 3
    assert TextMessage.objects.count() == 40
    sound()


def test_a_step_ends_after_its_time(shelf: Shelf, small_portions: None) -> None:
    for number in range(40):
        shelf.say(f"s{number}", f"word{number} and some more words " * 5)
    shelf.save()
    with open_store(get_store("plain")) as reader:
        sync.store_listings([reader.store])
        assert indexing.index_some(reader, 0.0)
        assert 0 < TextMessage.objects.count() < 40
        while indexing.index_some(reader, 0.0):
            pass
    assert TextMessage.objects.count() == 40


FAILURES = (
    ValueError("no text"), AttributeError("'list' object has no attribute 'get'"), AssertionError(), MemoryError(),
    OSError(13, "Permission denied"), StoreUnavailable("The file cannot be read."),
)  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_a_session_that_cannot_be_read_does_not_keep_others(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    shelf.say("s", "broken")
    shelf.say("t", "fine")
    shelf.save()
    read = WholeReader.searchable

    def broken(reader: WholeReader, session_id: str, after: str) -> Any:
        if session_id == "s":
            raise failure
        return read(reader, session_id, after)

    with monkeypatch.context() as damaged:
        damaged.setattr(WholeReader, "searchable", broken)
        sync_worker.sync_all()
        found = find("fine")
        assert said(found) == ["fine"] and codes(found) == ["not_indexed"]
        assert caplog.text.count("cannot be indexed") == 1
        assert indexing.progress(sync.state_at(get_store("plain"))).failed == 1
    shelf.say("s", "and whole")
    shelf.save()
    SessionText.objects.update(wait_until=0.0)
    sync_worker.sync_all()
    found = find("broken")
    assert said(found) == ["broken"] and not codes(found)


def test_a_message_that_cannot_be_read_when_it_is_found_does_not_hide_the_others(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.say("s", "fine here")
    shelf.say("t", "fine there")
    shelf.save()
    sync_worker.sync_all()
    read = WholeReader.messages

    def broken(reader: WholeReader, session_id: str, ids: Sequence[int]) -> Any:
        if session_id == "s":
            raise AttributeError("odd")
        return read(reader, session_id, ids)

    monkeypatch.setattr(WholeReader, "messages", broken)
    assert said(find("fine")) == ["fine there"]


def test_a_message_that_is_not_finished_is_asked_for_later(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.say("s", "the end")
    shelf.save()
    unfinished = SearchableText((), "", more=False, waits=True)
    with monkeypatch.context() as writing:
        writing.setattr(WholeReader, "searchable", lambda *_: unfinished)
        sync_worker.sync_all()
    assert not indexing.is_any_due("plain")
    assert said(find("end", sessions=("s",))) == ["the end"]
    assert TextMessage.objects.count() == 0
    SessionText.objects.update(wait_until=0.0)
    sync_worker.sync_all()
    assert TextMessage.objects.count() == 1


# -- what is said of it ------------------------------------------------------------------------------------------------


@pytest.fixture
def unindexed(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Five sessions that are listed, and that nobody indexes."""
    for number in range(5):
        shelf.say(f"s{number}", f"the marmoset {number}")
    shelf.save()
    monkeypatch.setattr(indexing, "index_some", lambda *_: False)
    return shelf


def test_what_is_not_indexed_is_said(unindexed: Shelf) -> None:
    found = find("marmoset")
    assert (found.hits, codes(found)) == ((), ["index_unfinished"])
    assert "5 of 5 sessions" in found.notes[0].message
    assert indexing.progress(StoreState.objects.get(name="plain")) == indexing.TextProgress(False, 5, 5, 0, 0)


def test_a_session_that_is_not_indexed_is_looked_through(unindexed: Shelf) -> None:
    for number in range(40):
        unindexed.say("s1", f"the marmoset again {number}")
    unindexed.save()
    found = find("marmoset", sessions=("s1",), limit=10)
    assert (found.scanned, found.stage, len(found.hits)) == (True, "words", 10)
    hits = walk("marmoset", sessions=("s1",), limit=10)
    assert [hit.id for hit in hits] == list(range(41, 0, -1))


def test_a_store_that_is_left_out(shelf: Shelf, small_portions: None) -> None:
    for number in range(40):
        shelf.say(f"s{number % 4}", f"the marmoset {number} in many words")
    shelf.save()
    sync_worker.sync_all()
    indexing.leave_out("plain", True)
    found = find("marmoset")
    assert (found.hits, codes(found)) == ((), ["left_out"])
    sync_worker.sync_all()
    assert (indexed("marmoset"), TextPortion.objects.count()) == (0, 0)
    assert len(walk("marmoset", sessions=("s1",))) == 10  # a session can always be looked through
    shelf.say("s1", "one more marmoset")
    shelf.save()
    sync_worker.sync_all()
    assert indexed("marmoset") == 0
    assert not indexing.is_any_due("plain")
    indexing.leave_out("plain", False)
    sync_worker.sync_all()
    assert len(walk("marmoset")) == 41
    sound()


def test_a_store_that_is_taken_in_again_while_it_is_dropped(shelf: Shelf, small_portions: None) -> None:
    for number in range(40):
        shelf.say("s", f"the marmoset {number} in many words")
    shelf.save()
    sync_worker.sync_all()
    indexing.leave_out("plain", True)
    with open_store(get_store("plain")) as reader:
        assert indexing.index_some(reader, 0.0)
    assert 0 < indexed("marmoset") < 40
    indexing.leave_out("plain", False)
    sync_worker.sync_all()
    assert len(walk("marmoset")) == 40
    sound()


# -- what it costs -----------------------------------------------------------------------------------------------------


def test_queries_do_not_grow_with_the_messages(shelf: Shelf) -> None:
    def asked(count: int) -> tuple[int, int, int]:
        shelf.sessions = {}
        for number in range(count):
            shelf.say(f"s{number % 4}", f"the marmoset {number} of words")
        shelf.save()
        sync_worker.sync_all()
        return tuple(_count(lambda q=q: find(q)) for q in ("marmoset", "armose", "->"))  # type: ignore[return-value, misc]

    few, many = asked(40), asked(600)
    assert all(more <= less + 4 for less, more in zip(few, many, strict=True)), (few, many)


def _count(ask: Callable[[], object]) -> int:
    ask()
    with CaptureQueriesContext(connection) as queries:
        ask()
    return len(queries)


def test_indexing_asks_little_for_each_message(shelf: Shelf) -> None:
    def written(count: int) -> int:
        for number in range(count):
            shelf.say(f"s of {count}", f"the marmoset {number} of words")
        shelf.save()
        with open_store(get_store("plain")) as reader:
            sync.store_listings([reader.store])
            with CaptureQueriesContext(connection) as queries:
                indexing.index_some(reader, 60.0)
        return len(queries)

    few = written(10)
    assert written(300) <= few + 4


# -- where the site's own database is PostgreSQL -----------------------------------------------------------------------


def test_postgresql_finds_the_same(twins: Shelf, postgres: str, tmp_path: Path) -> None:
    with psycopg.connect(postgres, autocommit=True) as con:
        con.execute("CREATE DATABASE texts")
    on_server = found_on(postgres.replace("/postgres?", "/texts?"), tmp_path / "postgres", twins)
    assert on_server == found_on("", tmp_path / "sqlite", twins)
    assert on_server["left"] == 0
    assert sum(bool(hits[0]) for hits in on_server["found"].values()) > 50


def found_on(database: str, data: Path, twins: Shelf) -> dict[str, Any]:
    surroundings = {
        **os.environ,
        "PALIMPSEST_DATABASE_URL": database,
        "PALIMPSEST_DATA_DIR": str(data),
        "PALIMPSEST_STORES": f"plain=json:///{twins.place}/plain.json",
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.catalog.texts_on_postgres"],
        cwd=GUIDE.parent.parent,
        env=surroundings,
        input=json.dumps(listed(QUERIES)),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.django_db
def test_messages_of_one_time_stand_side_by_side() -> None:
    """However many sessions have one: their places do not run away."""
    start = index.place_of(1_800_000_000.0)
    for number in range(200):
        places = index.free_places([start])
        assert places == [start + number]
        TextMessage.objects.create(pk=places[0], session_id=1, message=number)
    TextMessage.objects.create(pk=start + 202, session_id=1, message=1)
    wanted = [start - 1, start, start + 150, start + 200]
    assert index.free_places(wanted) == [start - 1, start + 200, start + 201, start + 203]
