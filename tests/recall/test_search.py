"""What was summarised away is found by a question in plain words, with its text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.factories.recalled import AWAY, KEY, QUESTION, fill
from tests.factories.stores import EmptyStore
from viewer.recall import texts
from viewer.recall.ranking import STEP, RankedPassage, nearest_first
from viewer.recall.search import ANSWER, NothingAsked, RecalledHits, search_history
from viewer.stores.errors import NotFound
from viewer.stores.registry import Reader, get_store, open_store
from viewer.web.cursors import BadCursor

pytestmark = pytest.mark.django_db


@pytest.fixture
def ids(empty_store: EmptyStore) -> dict[str, int]:
    return fill(empty_store)


@pytest.fixture
def reader(ids: dict[str, int]) -> Iterator[Reader]:
    texts.forget()
    with open_store(get_store("own")) as opened:
        yield opened


def found(hits: RecalledHits) -> list[int]:
    return [hit.id for hit in hits.hits]


def test_a_question_finds_its_answer_first(reader: Reader, ids: dict[str, int]) -> None:
    hits = search_history(reader, "s", QUESTION)
    assert found(hits)[0] == ids["settled"]
    assert "port 5433" in hits.hits[0].text
    assert (hits.hits[0].author, hits.hits[0].in_context) == ("agent", False)


def test_neither_the_question_nor_what_is_in_context_nor_our_own_calls_are_found(
    reader: Reader, ids: dict[str, int]
) -> None:
    hits = search_history(reader, "s", QUESTION)
    assert not {ids[name] for name in ("question", "kept", "handoff", "asked", "answered")} & set(found(hits))


def test_all_has_what_is_in_context_but_not_the_question(reader: Reader, ids: dict[str, int]) -> None:
    hits = search_history(reader, "s", QUESTION, "all")
    assert {ids["settled"], ids["kept"]} <= set(found(hits))
    assert not {ids["question"], ids["asked"], ids["answered"]} & set(found(hits))


@pytest.mark.parametrize(
    "question", ["listener burst window", "burstWindow", "What is the BURST window?", "burst-window of the listeners"]
)
def test_an_identifier_is_found_by_its_parts_deep_in_an_output(
    reader: Reader, ids: dict[str, int], question: str
) -> None:
    hit = search_history(reader, "s", question).hits[0]
    assert (hit.id, hit.author) == (ids["config"], "tool")
    assert "burstWindow = 90" in hit.text
    assert hit.tool == "terminal(cat /srv/relay/config.toml)"
    assert 0 < hit.start < hit.end < hit.length


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Der Müllmann leert dienstags die Tonnen.", "Wann leeren sie die Tonne?"),
        ("Le café ferme à 18 heures.", "quand ferme le cafe"),
        ("ステージング環境のデータベースは五番ポートです。", "データベースのポートは何番ですか"),
        ("The rollout was deployed at noon.", "when do we deploy"),
        ("retryBudget is now 12.", "retry budget"),
        ("See docs/ops/runbook.md before a failover.", "docs/ops/runbook.md"),
    ],
)
def test_endings_accents_and_scripts_do_not_count(empty_store: EmptyStore, text: str, question: str) -> None:
    empty_store.session("t")
    for number in range(12):
        empty_store.say("t", "assistant", f"Something else entirely, number {number}.", **AWAY)
    row = empty_store.say("t", "assistant", text, **AWAY)
    empty_store.say("t", "user", "[CONTEXT SUMMARY]: It went on.", _compressed_summary=1)
    with open_store(get_store("own")) as reader:
        assert found(search_history(reader, "t", question))[0] == row


def test_secrets_are_redacted(reader: Reader, ids: dict[str, int]) -> None:
    hits = search_history(reader, "s", "deploy with the token")
    assert found(hits)[0] == ids["key"]
    assert KEY not in hits.hits[0].text
    assert hits.hits[0].text.startswith("Deploy with the token [redacted: ")
    assert hits.hits[0].text.endswith("], please.")


def test_the_next_page_has_other_texts(reader: Reader) -> None:
    seen: set[tuple[int, int]] = set()
    cursor, pages = "", 0
    while True:
        hits = search_history(reader, "s", "listener queue_depth", cursor=cursor)
        places = {(hit.id, hit.start) for hit in hits.hits}
        assert places and not places & seen
        assert sum(len(hit.text) for hit in hits.hits) <= ANSWER
        seen, cursor, pages = seen | places, hits.next, pages + 1
        if not cursor:
            break
    assert pages > 1


def test_the_next_page_begins_with_what_is_around_the_best_match() -> None:
    best, other, beside, same = (RankedPassage(at, start, start + 9, score) for at, start, score in
                                 ((10, 0, 9.0), (50, 0, 3.0), (11, 0, 1.0), (10, 500, 0.5)))  # fmt: skip
    assert nearest_first([best, other, beside, same], 1) == [
        best,
        replace(same, score=9.5),
        replace(beside, score=1.0 + 9.0 * STEP),
        replace(other, score=6.0),
    ]


def test_a_file_that_was_read_after_every_edit_does_not_fill_the_first_answer(empty_store: EmptyStore) -> None:
    empty_store.session("t")
    file = "The queue of the listener keeps its jobs for some hours; then the queue drops the jobs it could not send. "
    for number in range(20):
        empty_store.say("t", "assistant", f"{file * 4}Nothing of edit {number} is about retention.", **AWAY)
        for _ in range(9):
            empty_store.say("t", "user", "Please rename the buttons on the welcome page.", **AWAY)
    answer = empty_store.say("t", "assistant", "Jobs are dropped by the queue after 36 hours at the latest.", **AWAY)
    empty_store.say("t", "user", "[CONTEXT SUMMARY]: It went on.", _compressed_summary=1)
    with open_store(get_store("own")) as reader:
        assert answer in found(
            search_history(reader, "t", "After how many hours does the queue of the listener drop jobs?")
        )


@pytest.mark.parametrize("cursor", ["x", "!!", "W10", "\0", "\ud800", "é"])
def test_a_cursor_of_something_else_is_refused(reader: Reader, cursor: str) -> None:
    with pytest.raises(BadCursor):
        search_history(reader, "s", QUESTION, cursor=cursor)
    first = search_history(reader, "s", "listener queue_depth")
    with pytest.raises(BadCursor):
        search_history(reader, "s", "another question", cursor=first.next)


@pytest.mark.parametrize("query", ["", " ?! ", "\0", "(((", "%_'\""])
def test_a_query_without_words_is_refused(reader: Reader, query: str) -> None:
    with pytest.raises(NothingAsked):
        search_history(reader, "s", query)


@pytest.mark.parametrize("query", ["a\0b", "\ud800 port", "\x1b[31mport", "((a", "%_'\"b", "port " * 5_000])
def test_odd_queries_are_answered(reader: Reader, query: str) -> None:
    search_history(reader, "s", query, "all")


def test_nothing_was_summarised_away(empty_store: EmptyStore) -> None:
    empty_store.session("new")
    empty_store.chat("new", 4)
    with open_store(get_store("own")) as reader:
        assert search_history(reader, "new", QUESTION).searched == 0
        with pytest.raises(NotFound):
            search_history(reader, "none", QUESTION)


def test_two_sessions_of_a_store_are_apart(empty_store: EmptyStore, reader: Reader) -> None:
    empty_store.session("other", title="Another")
    row = empty_store.say("other", "user", "Our staging database has port 9999.", **AWAY)
    empty_store.say("other", "user", "[CONTEXT SUMMARY]: x", _compressed_summary=1)
    assert "9999" not in "".join(hit.text for hit in search_history(reader, "s", QUESTION).hits)
    assert found(search_history(reader, "other", QUESTION)) == [row]


def test_the_newest_part_of_a_split_conversation_finds_what_earlier_parts_had(empty_store: EmptyStore) -> None:
    empty_store.session("old", title="Long", ended_at=3.0, end_reason="compression")
    row = empty_store.say("old", "user", "Our staging database has port 9999.")
    empty_store.session("new", title="Long #2", parent_session_id="old")
    empty_store.say("new", "user", "[CONTEXT SUMMARY]: x", _compressed_summary=1)
    empty_store.say("new", "user", QUESTION)
    with open_store(get_store("own")) as reader:
        assert found(search_history(reader, "new", QUESTION)) == [row]
        assert found(search_history(reader, "old", QUESTION)) == [row]


def test_only_new_messages_are_read_again(
    empty_store: EmptyStore, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    search_history(reader, "s", QUESTION)
    made: list[int] = []
    plain = texts.text_of

    def counted(row: object, calls: object = None, *, redacting: bool = False) -> texts.RecalledText:
        if not redacting:
            made.append(1)
        return plain(row, calls, redacting=redacting)  # type: ignore[arg-type]

    monkeypatch.setattr(texts, "text_of", counted)
    new = empty_store.say("s", "assistant", "The staging database has a janitor.")
    with open_store(get_store("own")) as again:
        assert new in found(search_history(again, "s", "the janitor", "all"))
    assert len(made) == 1
