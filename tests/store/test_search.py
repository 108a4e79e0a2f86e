"""Searching the messages of a store: what is found, what is not, what is said about it, and what it costs."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compaction.handoff import CURRENT_HEADER, END_MARKER, LONG_DIRECTIVE_START
from tests.factories.stores import create_empty
from tests.slow import slow
from viewer.stores.base import Store
from viewer.stores.errors import StoreUnavailable
from viewer.stores.hermes import candidates, messages, search
from viewer.stores.hermes.paths import tip
from viewer.stores.hermes.reader import HermesReader as Reader
from viewer.stores.hermes.reader import open_store
from viewer.stores.search.pages import Hit, HitPage, Key, PageRequest, SearchFilter, Stage
from viewer.stores.search.query import fold, parse, trigram_expression, word_expression
from viewer.stores.sqlite import reading as sqlite

Copies = Callable[[int], Path]


@contextmanager
def reader_of(path: Path) -> Iterator[Reader]:
    with open_store(Store("test", f"sqlite:///{path}", "configured")) as reader:
        yield reader


def find(
    path: Path, q: str, *, limit: int = 25, after: Key | None = None, stage: Stage = "none", **wanted: Any
) -> HitPage:
    with reader_of(path) as reader:
        return search.search(reader, parse(q), SearchFilter(**wanted), PageRequest(limit, after, stage))


def walk(path: Path, q: str, *, limit: int = 25, **wanted: Any) -> list[Hit]:
    """The hits of all pages."""
    hits: list[Hit] = []
    after: Key | None = None
    stage: Stage = "none"
    while True:
        found = find(path, q, limit=limit, after=after, stage=stage, **wanted)
        hits += found.hits
        if found.next is None:
            return hits
        assert (found.next, found.stage) != (after, stage)
        after, stage = found.next, found.stage


def ids(found: HitPage) -> list[int]:
    return [hit.id for hit in found.hits]


def codes(found: HitPage) -> list[str]:
    return [note.code for note in found.notes]


def plain(hit: Hit) -> str:
    return "".join(piece.text for piece in hit.passage)


def marked(hit: Hit) -> list[str]:
    return [piece.text for piece in hit.passage if piece.marked]


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    path = tmp_path / "empty.db"
    create_empty(path)
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("INSERT INTO sessions (id, source, started_at, title) VALUES ('s', 'cli', 1, 'A session')")
        con.execute("INSERT INTO sessions (id, source, started_at) VALUES ('t', 'telegram', 1)")
    return path


def say(path: Path, *contents: Any, session: str = "s", role: str = "user", **columns: Any) -> list[int]:
    """One row for each content; returns their ids."""
    values = {"session_id": session, "role": role, "timestamp": 2.0, **columns}
    names, marks = ", ".join(["content", *values]), ", ".join("?" * (len(values) + 1))
    with closing(sqlite3.connect(path)) as con, con:
        made = [
            con.execute(f"INSERT INTO messages ({names}) VALUES ({marks})", [content, *values.values()]).lastrowid
            for content in contents
        ]
    return [row_id or 0 for row_id in made]


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as con, con:
        for statement in statements:
            con.execute(statement)


# -- the language ------------------------------------------------------------------------------------------------------


def test_words_phrases_beginnings_and_exclusions(empty: Path) -> None:
    policy, reverse, other, hotel = say(
        empty, "the refund policy", "a policy of refund", "refunds are slow", "refund policy of the hotel"
    )
    assert ids(find(empty, "refund policy")) == [hotel, reverse, policy]
    assert ids(find(empty, '"refund policy"')) == [hotel, policy]
    assert ids(find(empty, "refund*")) == [hotel, other, reverse, policy]
    assert ids(find(empty, "refund policy -hotel")) == [reverse, policy]
    assert ids(find(empty, 'policy -"of refund"')) == [hotel, policy]
    assert ids(find(empty, '"refund policy')) == [hotel, policy]  # never closed
    assert ids(find(empty, "refund*", indexed=False)) == [hotel, other, reverse, policy]


def test_case_and_accents_make_no_difference(empty: Path) -> None:
    composed, apart, capital = say(empty, "im Café", "im Cafe\u0301 dort", "CAFÉ")
    for q in ("cafe", "CAFÉ", "café", "cafe\u0301"):
        for indexed in (True, False):
            found = find(empty, q, indexed=indexed)
            assert ids(found) == [capital, apart, composed], (q, indexed)
            assert [fold(marked(hit)[0]) for hit in found.hits] == ["cafe"] * 3


@pytest.mark.parametrize(
    "q",
    ["AND", "OR NOT", "NEAR(a b)", "a:b", "{content} : x", "^start", "(", ")", '"', '""', "*", "-", "--", "a*b",
     "'; DROP", "\x00", "a\x00b", "\ud800", "x" * 10_000, "\\", "%_", "a+b", "-x", '-"', "🙂", "\u200b", "rank",
     "*:*", "<b>"],
)  # fmt: skip
def test_no_text_is_an_error(empty: Path, q: str) -> None:
    say(empty, "some words", "OR NOT AND", "a b", "🙂 <b>")
    for wanted in ({}, {"order": "best"}, {"indexed": False}):
        find(empty, q, **wanted)


@given(st.text(max_size=60), st.sampled_from(["newest", "best"]), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_can_be_looked_for(empty: Path, q: str, order: str, indexed: bool) -> None:
    find(empty, q, order=order, indexed=indexed)


@given(st.text(alphabet='ab"*-世界 \n', max_size=20))
def test_what_is_asked_of_an_index_is_words_in_quotes(q: str) -> None:
    query = parse(q)
    for expression in (word_expression(query, columns=True), trigram_expression(query)):
        assert expression.count('"') % 2 == 0
    assert not query.lacks("\n".join(term.text for term in query.wanted))


@pytest.mark.parametrize(
    ("q", "wanted", "excluded"),
    [
        ("a -b", ["a"], ["b"]),
        ("--force -x", ["--force"], ["x"]),
        ("-only", ["only"], []),
        ("->", ["->"], []),
        ("foo-bar", ["foo-bar"], []),
        ('a"b c"d', ["a", "b c", "d"], []),
        ("a a a", ["a"], []),
    ],
)
def test_how_a_text_is_read(q: str, wanted: list[str], excluded: list[str]) -> None:
    query = parse(q)
    assert [term.typed for term in query.wanted] == wanted
    assert [term.typed for term in query.excluded] == excluded


def test_the_last_word_may_go_on_unless_it_is_quoted(empty: Path) -> None:
    whole, longer, before = say(empty, "seat on a flight", "seats on flights", "flights and a seat")
    for indexed in (True, False):
        assert ids(find(empty, "seat", indexed=indexed)) == [before, longer, whole]
        assert ids(find(empty, '"seat"', indexed=indexed)) == [before, whole]
        assert ids(find(empty, "seat flight", indexed=indexed)) == [before, whole]
        assert ids(find(empty, "flight seat", indexed=indexed)) == [whole]
        assert ids(find(empty, "flight -seats", indexed=indexed)) == [before, whole]
        assert ids(find(empty, "flight -seat", indexed=indexed)) == [longer]  # what is left out is a whole word


@pytest.mark.parametrize("drop", [[], ["messages_fts_trigram"], ["messages_fts_trigram", "messages_fts"]])
@pytest.mark.parametrize("order", ["newest", "best"])
def test_what_no_message_has_as_words_is_found_inside_them(empty: Path, drop: list[str], order: str) -> None:
    user, api_client = say(empty, "the haystack of Mr O'Brien"), say(empty, "HAYSTACK;", role="tool")
    say(empty, "hay stack")
    change(
        empty,
        *[f"DROP TRIGGER {name}_{what}" for name in drop for what in ("insert", "delete", "update")],
        *[f"DROP TABLE {name}" for name in drop],
    )
    for q, expected in (
        ("ystac", [*api_client, *user]),
        ("aysta the", user),
        ('"ack of Mr"', user),
        ("zzz", []),
        ("-", []),
    ):
        found = find(empty, q, order=order)
        assert sorted(ids(found)) == sorted(expected) or (q == "ystac" and ids(found) == user), q
        assert ("inside_words" in codes(found)) == bool(expected), q
        assert found.next is None


def test_inside_words_the_messages_themselves_are_looked_through_where_the_index_has_gaps(empty: Path) -> None:
    (api_client,) = say(empty, "haystack", role="tool")
    found = find(empty, "ystac")
    assert (ids(found), codes(found), found.scanned) == ([api_client], ["inside_words"], True)
    assert codes(find(empty, "zzz")) == []  # nothing was left out


def test_a_large_store_is_not_looked_through_for_parts_of_words_and_its_gaps_are_said(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "SCANNED", 20)
    say(empty, "haystack", role="tool")
    say(empty, *["nothing"] * 30)
    found = find(empty, "ystac")
    assert (found.hits, found.next) == ((), None)
    assert codes(found) == ["tools_cut", "tools_not_indexed"]
    assert codes(find(empty, "ystac", role="user")) == ["parts_not_indexed"]


def test_pages_inside_words_meet_and_do_not_start_over(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = say(empty, *["haystack"] * 30)
    assert [hit.id for hit in walk(empty, "ystac", limit=7)] == rows[::-1]
    change(empty, "UPDATE messages SET role = 'tool'")
    monkeypatch.setattr(candidates, "SCANNED", 20)
    assert [hit.id for hit in walk(empty, "ystac", limit=7)] == rows[::-1]


def test_words_that_are_sought_in_steps_are_sought_inside_words_only_when_none_was_found(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "SCANNED", 20)
    (word,) = say(empty, "stack")
    say(empty, *["haystack"] * 50)
    assert [hit.id for hit in walk(empty, "stack", indexed=False)] == [word]
    assert len(walk(empty, "ystack", indexed=False)) == 50


def test_nothing_typed_finds_nothing(empty: Path) -> None:
    say(empty, "words")
    assert find(empty, " ") == HitPage((), None, stopped=False, looked=0, scanned=False)


def test_signs_are_looked_for_as_they_stand(empty: Path) -> None:
    (arrow,) = say(empty, "from a -> b")
    say(empty, "from a to b")
    assert ids(find(empty, "->")) == [arrow]
    assert marked(find(empty, "->").hits[0]) == ["->"]


# -- scripts without spaces --------------------------------------------------------------------------------------------


def test_three_characters_are_found_by_the_trigram_index_and_two_one_by_one(empty: Path) -> None:
    (found,) = say(empty, "我们去东京旅行吧")
    say(empty, "没有别的")
    three, two = find(empty, "东京旅"), find(empty, "东京")
    assert ids(three) == ids(two) == [found]
    assert (three.scanned, two.scanned) == (False, True)
    assert marked(two.hits[0]) == ["东京"]
    assert codes(two) == ["too_short"]
    assert codes(three) == ["tools_not_indexed"]


@pytest.mark.parametrize("q", ["東京旅行", "がっこう", "서울에서", "สวัสดี", "東京", "が"])
def test_other_scripts(empty: Path, q: str) -> None:
    (found,) = say(empty, f"前{q}後")
    say(empty, "かつこう")
    assert ids(find(empty, q)) == [found]


def test_text_that_json_escapes_is_found(empty: Path) -> None:
    (parts,) = say(empty, "\x00json:" + json.dumps([{"type": "text", "text": "去东京旅行"}]))
    arguments = json.dumps({"city": "东京都"})
    calls = json.dumps([{"id": "c", "type": "function", "function": {"name": "go", "arguments": arguments}}])
    (call,) = say(empty, "", role="assistant", tool_calls=calls)
    assert ids(find(empty, "东京旅", indexed=False)) == [parts]
    assert codes(find(empty, "东京旅")) == ["tools_not_indexed"]
    assert codes(find(empty, "东京旅", role="user")) == ["parts_not_indexed"]
    assert ids(find(empty, "东京")) == [call, parts]
    assert marked(find(empty, "东京").hits[0]) == ["东京"]


def test_words_and_a_script_without_spaces_together(empty: Path) -> None:
    say(empty, "flight to Osaka", "去东京")
    (both,) = say(empty, "flight 去东京")
    found = find(empty, "flight 东京")
    assert ids(found) == [both]
    assert not found.scanned


def test_looking_through_messages_is_bounded_and_goes_on(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "SCANNED", 300)
    (first,) = say(empty, "东京")
    say(empty, *["nothing"] * 700)
    found = find(empty, "东京")
    assert (found.hits, found.stopped, found.looked) == ((), True, 300)
    assert [hit.id for hit in walk(empty, "东京")] == [first]


# -- what is a hit -----------------------------------------------------------------------------------------------------


def test_what_was_summarised_away_is_found_and_says_so(empty: Path) -> None:
    (under,) = say(empty, "the needle", active=0, compacted=1)
    (live,) = say(empty, "a needle in context")
    say(empty, "needle taken back", active=0, compacted=0)
    found = find(empty, "needle")
    assert [(hit.id, hit.state) for hit in found.hits] == [(live, "live"), (under, "under")]
    assert ids(find(empty, "needle", indexed=False)) == [live, under]


def test_an_unset_flag_counts_as_live(empty: Path) -> None:
    change(
        empty,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'active INTEGER NOT NULL DEFAULT 1', 'active INTEGER') "
        "WHERE name = 'messages'",
    )
    (row_id,) = say(empty, "needle", active=None)
    assert [(hit.id, hit.state) for hit in find(empty, "needle").hits] == [(row_id, "live")]


def test_copies_of_a_message_are_one_hit(empty: Path) -> None:
    say(empty, "please find the needle", active=0, compacted=1, timestamp=5.0)
    (copy,) = say(empty, "please find the needle ", timestamp=5.0)
    assert [(hit.id, hit.state) for hit in find(empty, "needle").hits] == [(copy, "live")]
    (other,) = say(empty, "another needle of that moment", timestamp=5.0)
    assert ids(find(empty, "needle")) == [other, copy]


def test_a_copy_that_lost_the_words_leaves_the_original_to_be_found(empty: Path) -> None:
    long, short = "head " + "needle " * 50, "[tool] shortened"
    (original,) = say(
        empty, long, role="tool", tool_call_id="c1", active=0, compacted=1, timestamp=5.0
    )  # fmt: skip
    (copy,) = say(empty, short, role="tool", tool_call_id="c1", timestamp=5.0)
    assert ids(find(empty, "needle")) == [original]
    assert ids(find(empty, "shortened")) == [copy]


def test_copies_that_lost_their_time_are_known_by_their_uid(empty: Path) -> None:
    say(empty, "needle and thread", active=0, compacted=1, timestamp=5.0, message_uid="u")
    (copy,) = say(empty, "needle", timestamp=9.0, message_uid="u")
    assert ids(find(empty, "needle")) == [copy]


def test_copies_on_two_pages_are_one_hit(empty: Path) -> None:
    say(empty, *[f"needle {number}" for number in range(5)], active=0, compacted=1, timestamp=5.0)
    say(empty, *[f"needle {number}" for number in range(5)], timestamp=5.0)
    assert len(walk(empty, "needle", limit=2)) == 5


def test_a_summary_is_labelled_as_one(empty: Path) -> None:
    summary = f"{CURRENT_HEADER} {LONG_DIRECTIVE_START}\n## Goal\nFind the needle.\n\n{END_MARKER}"
    (alone,) = say(empty, summary, role="assistant", _compressed_summary=1)
    (merged,) = say(empty, f"{summary}\n\nAnd now the thread?", _compressed_summary=1, timestamp=9.0)
    kinds = {hit.id: (hit.kind, hit.standalone) for hit in find(empty, "needle").hits}
    assert kinds == {alone: ("summary", True), merged: ("summary", False)}
    assert [(hit.id, hit.kind) for hit in find(empty, "thread").hits] == [(merged, "message")]
    assert "needle" not in plain(find(empty, "thread").hits[0])


def test_the_json_around_what_was_said_is_no_hit(empty: Path) -> None:
    calls = json.dumps(
        [{"id": "c1", "type": "function", "function": {"name": "grep", "arguments": '{"path": "a.py"}'}}]
    )
    (call,) = say(empty, "", role="assistant", tool_calls=calls)
    (said,) = say(empty, "\x00json:" + json.dumps([{"type": "text", "text": "what a function does"}]))
    assert ids(find(empty, "function")) == [said]
    assert ids(find(empty, "type")) == []
    assert ids(find(empty, "grep")) == ids(find(empty, "path")) == [call]
    assert ids(find(empty, "grep -function")) == [call]


def test_calls_are_shown_without_json(empty: Path) -> None:
    arguments = json.dumps({"command": 'echo "the needle"\nls'})
    calls = json.dumps([{"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": arguments}}])
    say(empty, None, role="assistant", tool_calls=calls)
    (hit,) = find(empty, "needle").hits
    assert plain(hit) == 'terminal command: echo "the needle" ls'
    assert marked(hit) == ["needle"]


# -- passages ----------------------------------------------------------------------------------------------------------


def test_a_passage_stands_around_the_first_match_and_marks_all(empty: Path) -> None:
    say(empty, "before " * 200 + "the Needle and the needle" + " after" * 200)
    (hit,) = find(empty, "needle").hits
    assert marked(hit) == ["Needle", "needle"]
    assert plain(hit).startswith("… before")
    assert plain(hit).endswith(" …")
    assert len(plain(hit)) < 300


def test_no_content_can_pretend_to_be_a_mark(empty: Path) -> None:
    say(empty, "<mark>needle</mark> >>>x<<< \x02needle\x03 {{ needle }}")
    (hit,) = find(empty, "needle").hits
    assert marked(hit) == ["needle"] * 3
    assert plain(hit).startswith("<mark>needle</mark> >>>x<<<")


def test_what_is_redacted_is_not_shown(empty: Path) -> None:
    arguments = json.dumps({"note": "needle", "password": "correct horse"})
    calls = json.dumps([{"id": "c", "function": {"name": "sign_in", "arguments": arguments}}])
    with closing(sqlite3.connect(empty)) as con, con:
        con.execute("UPDATE sessions SET title = 'password=hunter22' WHERE id = 's'")
    say(empty, "needle with password=hunter22")
    say(empty, None, role="assistant", tool_calls=calls)
    with reader_of(empty) as reader:
        found = search.search(reader, parse("needle"), SearchFilter(), PageRequest(5, redacting=True))
        shown = search.search(reader, parse("needle"), SearchFilter(), PageRequest(5))
    assert sorted(map(plain, found.hits)) == [
        "needle with password=[redacted: password]",
        "sign_in note: needle password: [redacted: password]",
    ], "a value in a call is told by its name"
    assert {hit.session.title for hit in found.hits} == {"password=[redacted: password]"}
    assert any("correct horse" in plain(hit) for hit in shown.hits)


@pytest.mark.slow
def test_a_huge_row_is_found_and_only_its_start_is_read(empty: Path) -> None:
    (early, late) = say(empty, "needle " + "x " * 5_000_000, "x " * 3_000_000 + "needle")
    found = find(empty, "needle")
    assert ids(found) == [late, early]
    assert marked(found.hits[1]) == ["needle"]
    assert plain(found.hits[0]).startswith("x x")


def test_rows_of_any_shape_are_no_error(empty: Path) -> None:
    say(
        empty, None, "", b"\xff\xfeneedle", 42, "\x00json:[1, {\"text\": \"needle\"}]", "\x00json:{broken needle",
        "needle \ufffd \u202e", "[" * 20_000 + "needle", tool_calls="not json needle", tool_name="needle",
    )  # fmt: skip
    for wanted in ({}, {"indexed": False}, {"order": "best"}):
        assert len(find(empty, "needle", **wanted).hits) == 8


# -- order, pages, filters ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [{}, {"order": "best"}, {"indexed": False}])
def test_pages_hold_every_hit_once(empty: Path, wanted: dict[str, Any]) -> None:
    said = say(empty, *[f"needle {'hay ' * (number % 7)} {number}" for number in range(203)])
    say(empty, *["hay"] * 50)
    hits = walk(empty, "needle", limit=10, **wanted)
    assert sorted(hit.id for hit in hits) == said
    if wanted.get("order") != "best":
        assert [hit.id for hit in hits] == said[::-1]


def test_the_best_match_comes_first(empty: Path) -> None:
    say(empty, "needle " + "hay " * 300)
    (best,) = say(empty, "needle needle needle")
    say(empty, *["needle " + "hay " * 300] * 20)
    assert ids(find(empty, "needle", order="best"))[0] == best


def test_ranking_looks_at_the_newest_and_says_so(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "RANKED", 50)
    say(empty, "needle needle needle")
    newest = say(empty, *["needle in hay"] * 50)
    hits = walk(empty, "needle", order="best", limit=20)
    assert sorted(hit.id for hit in hits) == newest
    assert "ranked_newest" in codes(find(empty, "needle", order="best"))


def test_filters(empty: Path) -> None:
    (mine,) = say(empty, "needle", timestamp=100.0)
    (answer,) = say(empty, "needle", role="assistant", timestamp=200.0)
    (told,) = say(empty, "needle", session="t", timestamp=300.0)
    assert ids(find(empty, "needle")) == [told, answer, mine]
    for indexed in (True, False):
        for wanted, expected in (
            ({"role": "assistant"}, [answer]),
            ({"sessions": ("s",)}, [answer, mine]),
            ({"source": "telegram"}, [told]),
            ({"since": 200.0}, [told, answer]),
            ({"until": 200.0}, [mine]),
            ({"since": 100.0, "until": 101.0, "role": "user", "source": "cli"}, [mine]),
            ({"sessions": ("nobody",)}, []),
        ):
            assert ids(find(empty, "needle", indexed=indexed, **wanted)) == expected, wanted


def test_a_filter_that_matches_rarely_is_bounded_and_goes_on(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "LOOKED", 500)
    (rare,) = say(empty, "needle", role="system")
    say(empty, *["needle"] * 1_800)
    found = find(empty, "needle", role="system")
    assert (found.hits, found.stopped, found.looked) == ((), True, 500)
    assert [hit.id for hit in walk(empty, "needle", role="system")] == [rare]


def test_a_slow_store_gives_short_pages_that_go_on(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SECONDS", 0.0)  # over before the first row is read
    said = say(empty, *["needle"] * 120)
    found = find(empty, "needle", limit=200)
    assert (len(found.hits), found.stopped, found.next is not None) == (search.SLICE, True, True)
    assert [hit.id for hit in walk(empty, "needle", limit=200)] == said[::-1]


# -- indexes that do not serve -----------------------------------------------------------------------------------------


def test_without_an_index_messages_are_looked_through(empty: Path) -> None:
    for name in ("messages_fts", "messages_fts_trigram"):
        change(empty, *[f"DROP TRIGGER {name}_{what}" for what in ("insert", "update", "delete")], f"DROP TABLE {name}")
    (plain_row, chinese) = say(empty, "the Needle", "去东京旅行")
    for q, row_id in (("needle", plain_row), ("东京旅", chinese)):
        found = find(empty, q)
        assert (ids(found), codes(found), found.scanned) == ([row_id], ["no_index"], True)
    assert codes(find(empty, "needle", order="best")) == ["no_index", "not_ranked"]


def test_a_broken_index_does_not_hide_the_messages(empty: Path) -> None:
    (row_id,) = say(empty, "the needle")
    change(empty, "UPDATE messages_fts_data SET block = x'00' WHERE id > 10")
    for order in ("newest", "best"):
        found = find(empty, "needle", order=order)
        assert (ids(found), codes(found)[0], found.scanned) == ([row_id], "index_broken", True)


def test_an_index_that_misses_its_tokenizer_does_not_hide_the_messages(empty: Path) -> None:
    (row_id,) = say(empty, "the needle")
    change(
        empty,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'content_rowid=''id''', "
        "'content_rowid=''id'', tokenize=''strange''') WHERE name = 'messages_fts'",
    )
    found = find(empty, "needle")
    assert (ids(found), codes(found)) == ([row_id], ["index_broken"])


@pytest.mark.parametrize(
    ("meta", "says"),
    [
        ({"fts_rebuild_high_water": "100", "fts_rebuild_progress": "40"}, ["index_rebuilding"]),
        ({"fts_rebuild_high_water": "100"}, ["index_rebuilding"]),
        ({"fts_rebuild_high_water": "100", "fts_rebuild_progress": "100"}, ["tools_cut"]),
        ({"fts_stale": "1"}, ["index_rebuilding"]),
        ({"fts_stale": "0"}, ["tools_cut"]),
        ({"fts_rebuild_high_water": "nonsense"}, ["tools_cut"]),
    ],
)
def test_an_index_that_its_agent_is_rebuilding_is_not_believed(
    empty: Path, meta: dict[str, str], says: list[str]
) -> None:
    (row_id,) = say(empty, "the needle")
    with closing(sqlite3.connect(empty)) as con, con:
        con.executemany("INSERT INTO state_meta VALUES (?, ?)", meta.items())
    found = find(empty, "needle")
    assert (ids(found), codes(found)) == ([row_id], says)


def test_an_index_whose_tokenizer_is_not_here_is_never_touched(empty: Path) -> None:
    say(empty, "the needle", "去东京旅行")
    change(
        empty,
        "CREATE TABLE messages_fts_cjk_data (id INTEGER PRIMARY KEY, block BLOB)",
        "PRAGMA writable_schema = ON",
        "INSERT INTO sqlite_master VALUES ('table', 'messages_fts_cjk', 'messages_fts_cjk', 0, "
        "'CREATE VIRTUAL TABLE messages_fts_cjk USING fts5(content, tokenize=''cjk_unicode61'')')",
    )
    for q in ("needle", "东京", "东京旅", "->"):
        with reader_of(empty) as reader:
            assert "messages_fts_cjk" in reader.columns.tables
            seen: list[str] = []
            assert isinstance(reader.con, sqlite3.Connection)
            reader.con.set_trace_callback(seen.append)
            search.search(reader, parse(q), SearchFilter(), PageRequest(5))
        assert not any("cjk" in statement for statement in seen)


def test_only_the_first_characters_of_a_tools_result_are_indexed_and_it_says_so(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "SCANNED", 1)  # as in a store too large to look through
    (row_id,) = say(empty, "x " * 5_000 + "needle", role="tool")
    say(empty, "x")
    found = find(empty, "needle")
    assert (ids(found), codes(found)) == ([], ["tools_cut", "tools_not_indexed"])
    assert [hit.id for hit in walk(empty, "needle", indexed=False)] == [row_id]
    assert codes(find(empty, "needle", role="user")) == ["parts_not_indexed"]


def test_a_locked_store_says_so(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    say(empty, "needle")
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(empty, isolation_level=None)) as con:
        con.execute("PRAGMA journal_mode = DELETE")
        con.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreUnavailable, match="locked"):
            find(empty, "needle")


# -- what it costs -----------------------------------------------------------------------------------------------------


def _cost(path: Path, q: str, **wanted: Any) -> tuple[int, int]:
    """Statements of one first page, and the work of SQLite in thousands of steps."""
    with reader_of(path) as reader:
        statements: list[str] = []
        steps = 0

        def step() -> int:
            nonlocal steps
            steps += 1
            return 0

        assert isinstance(reader.con, sqlite3.Connection)
        reader.con.set_trace_callback(statements.append)
        reader.con.set_progress_handler(step, 1_000)
        found = search.search(reader, parse(q), SearchFilter(**wanted), PageRequest(25))
    assert len(found.hits) == 25
    return len([statement for statement in statements if not statement.startswith("--")]), steps


@pytest.mark.slow
@pytest.mark.parametrize("q", ["needle", "需要一", *slow("needle hay", '"needle in hay"')])
def test_a_page_costs_the_same_however_many_match(empty: Path, q: str) -> None:
    text = ["needle in hay 我需要一根针"]
    say(empty, *text * 100)
    few = _cost(empty, q)
    say(empty, *text * 8_000)
    many = _cost(empty, q)
    assert many[0] == few[0]
    assert many[1] <= few[1] + 2


def test_only_rows_that_are_shown_are_read_whole(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    say(empty, *["needle"] * 3_000)
    read: list[int] = []
    plain_read = search.read_rows

    def counted(reader: Reader, wanted: Sequence[int]) -> Any:
        read.extend(wanted)
        return plain_read(reader, wanted)

    monkeypatch.setattr(search, "read_rows", counted)
    assert len(find(empty, "needle").hits) == 25
    assert len(read) <= candidates.FIRST


# -- real databases ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("version", [16, 21, 31])
@pytest.mark.parametrize("q", ["reservation", "cancel*", "seat", "done moved"])
def test_each_message_of_a_real_store_is_found_once(
    hermes_databases: Callable[[int], Path], version: int, q: str
) -> None:
    path = hermes_databases(version)
    hits = walk(path, q)
    carried: Counter[tuple[str, int]] = Counter()
    with reader_of(path) as reader:
        histories: dict[str, Any] = {}
        for hit in hits:
            newest = tip(reader, hit.session.id)
            if newest not in histories:
                histories[newest] = messages.read_history(reader, newest)
            history = histories[newest]
            if hit.kind == "summary":
                assert hit.id in {boundary.handoff_id for boundary in history.boundaries}
            else:
                message = history.message_of(hit.id)
                assert message is not None
                carried[newest, message] += 1
    assert set(carried.values()) <= {1}


@pytest.mark.slow
@pytest.mark.parametrize("version", [16, 21, 31])
def test_the_index_and_the_rows_themselves_tell_the_same(hermes_copy: Copies, version: int) -> None:
    path = hermes_copy(version)
    for q in ("reservation done", '"anything else"', "move*", "seat -done"):
        assert [hit.id for hit in walk(path, q)] == [hit.id for hit in walk(path, q, indexed=False)], q
