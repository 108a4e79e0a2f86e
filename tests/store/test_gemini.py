"""Gemini CLI's files: what a resume sends, compressions, rewinds, sub-agents, older files, and files that break."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import islice

import pytest

from tests.agents.base import Line, objects
from tests.agents.gemini.by_hand import ACKNOWLEDGED, CONTEXT, CWD, RECORDED, GeminiByHand, gemini, now
from tests.agents.google_contents import of_request, of_rows
from tests.agents.reading import history, opened, sent, shown, store_of
from tests.agents.talk import talk
from tests.listed import newest_ids
from tests.slow import slow
from tests.store.malformed import ask_everything, variants
from viewer.stores import parsed
from viewer.stores.base import Store
from viewer.stores.errors import StoreUnavailable
from viewer.stores.message import Handoff, ReportedCompaction
from viewer.stores.parsed_session import ParsedFile, ParsedSession
from viewer.stores.reader import Reader
from viewer.stores.registry import agent_of, kind_of, open_store

__all__ = ["gemini"]

SCENARIOS = sorted(path.name for path in RECORDED.iterdir())


def recorded(scenario: str) -> Store:
    return Store("recorded", f"gemini://{RECORDED / scenario}", "configured")


@pytest.fixture
def reader(request: pytest.FixtureRequest) -> Iterator[Reader]:
    with open_store(recorded(request.param)) as reader:
        yield reader


def of(scenario: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("reader", [scenario], indirect=True)


def main_session(reader: Reader) -> str:
    (session,) = (each.id for each in reader.listing.sessions(list_ids(reader)).values() if not each.delegated)
    return session


def list_ids(reader: Reader) -> list[str]:
    return newest_ids(reader)


# -- recordings of the client ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_model_is_sent_what_the_client_sent(scenario: str) -> None:
    with open_store(recorded(scenario)) as reader:
        rows = reader.live(main_session(reader))
    assert rows[-1].role == "assistant"
    request = of_request(RECORDED / scenario)
    if scenario == "legacy-0.20.0":  # it put its context before the first prompt, and did not store it
        role, kind, text = request[0]
        assert text.startswith("This is the Gemini CLI.")
        request[0] = role, kind, text[-len(rows[0].content) :]
    assert of_rows(rows[:-1]) == request


@of("plain")
def test_a_session_as_the_client_wrote_it(reader: Reader) -> None:
    session_id = main_session(reader)
    session, rows = reader.session(session_id), {row.role: row for row in reader.live(session_id)}
    assert (session.cwd, session.model, session.title) == ("/home/ana/shop", "gemini-2.5-pro", "")
    assert session.window == 1_048_576, "by which 900,000 tokens are the 86% that the client noted"
    assert session.name == "What is the price of a pear? And of a quince?"
    assert (len(list_ids(reader)), len(reader.live(session_id)), set(rows)) == (2, 18, {"user", "assistant", "tool"})
    assert history(reader, session_id).messages == 18 and history(reader, session_id).boundaries == ()
    assert session.last_active == max(row.timestamp for row in reader.live(session_id))
    usage = reader.usage(session_id)
    assert usage.tokens == 13_572 + 1 and usage.cost is not None and usage.cost.dollars > 0.1
    (added,) = reader.additions(session_id, [reader.live(session_id)[0].id], end=False)
    assert added.is_sent and added.text.startswith("<session_context>")


@of("plain")
def test_calls_have_results_failures_pictures_changes_and_sub_agents(reader: Reader) -> None:
    session_id = main_session(reader)
    rows = list(reader.messages(session_id, history(reader, session_id).ids).values())
    results = [row for row in rows if row.role == "tool"]
    calls = [each["id"] for row in rows for each in row.tool_calls]
    assert [row.tool_call_id for row in results] == calls and len(calls) == 6
    assert [row.extra.get("is_error", False) for row in results] == [False, True, False, False, False, False]
    assert results[3].content[1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert results[4].diff.startswith("Index: prices.txt")
    (child,) = reader.children([session_id])
    assert results[5].sub_agents == (child.id,) and child.kind == "delegate"
    assert [row.reasoning for row in rows if row.reasoning][0].startswith("Reading the list: I will read")
    assert not any(row.reasoning for row in reader.live(session_id)), "no model is sent its thoughts again"
    sub_agent = reader.session(child.id)
    assert (sub_agent.delegated_from, sub_agent.cwd, sub_agent.title) == (session_id, "/home/ana/shop", "")


@of("plain")
def test_what_a_file_brought_is_not_what_was_typed(reader: Reader) -> None:
    session_id = main_session(reader)
    row = next(row for row in reader.live(session_id) if isinstance(row.content, list) and row.role == "user")
    assert (
        reader.previews(session_id, [row.id])[row.id].text == "@pixel.png What colour is this? And raise the plum to 6."
    )


@of("compressed")
def test_a_compression_is_a_boundary(reader: Reader) -> None:
    session_id = main_session(reader)
    index = history(reader, session_id)
    (boundary,) = index.boundaries
    (handoff,) = [
        each for each in reader.shown(session_id, index.stretch(0, index.messages).items) if isinstance(each, Handoff)
    ]
    assert handoff.summary.startswith("<state_snapshot>") and handoff.reported == ReportedCompaction(
        "manual", None, None, ""
    )
    assert (boundary.summarised, boundary.kept, boundary.messages_before, boundary.messages_after) == (4, 3, 6, 4)
    texts = [str(content)[:24] for content in shown(reader, session_id)]
    assert texts[:4] == ["Tell me the price of a p", "I will look.", "apple 3\npear 4\nplum 5\n", "A pear costs 4."]
    assert len(texts) == len(set(texts)) + 1 == index.messages + 1, "each message once, though the end came back"
    states = {row.content: row.state for row in reader.messages(session_id, index.ids).values()}
    assert (states["A pear costs 4."], states["A plum costs 5."]) == ("under", "live")
    assert reader.usage(session_id).tokens == 12_002


@of("auto")
def test_a_compression_between_a_call_and_its_result(reader: Reader) -> None:
    session_id = main_session(reader)
    first, second = history(reader, session_id).boundaries
    assert (first.messages_before, first.kept) == (2, 1) and (second.messages_before, second.kept) == (4, 3)
    live = [(row.role, row.content or row.tool_calls[0]["function"]["name"]) for row in reader.live(session_id)]
    assert live[2:5] == [
        ("user", "Tell me the price of a pear."), ("assistant", "read_file"), ("tool", "apple 3\npear 4\nplum 5\n"),
    ]  # fmt: skip
    assert len({row.id for row in reader.live(session_id)}) == len(live) == 8


@of("rewound")
def test_what_was_rewound_is_out(reader: Reader) -> None:
    session_id = main_session(reader)
    (branch,) = reader.abandoned(session_id)
    rows = reader.messages(session_id, branch.ids)
    assert [row.content for row in rows.values()] == [
        "Tell me the price of a plum.", "A plum costs 5.", "Tell me the price of an apple.", "An apple costs 3.",
    ]  # fmt: skip
    assert {row.state for row in rows.values()} == {"out"} and branch.after in {
        row.id for row in reader.live(session_id)
    }
    assert "A plum costs 5." not in shown(reader, session_id)


@of("failing")
def test_prompts_of_failed_requests_are_out(reader: Reader) -> None:
    session_id = main_session(reader)
    left = [
        row.content for each in reader.abandoned(session_id) for row in reader.messages(session_id, each.ids).values()
    ]
    assert left == ["This one fails.", "This one fails, too."]
    assert [content for _, content in sent(reader, session_id)][0] == "Tell me the price of a pear."


@pytest.mark.parametrize(
    ("scenario", "cwd", "messages"),
    [("legacy-0.20.0", "", 7), ("legacy-0.36.0", "/home/ana/shop", 7), ("legacy-resumed", "/home/ana/shop", 9)],
)
def test_older_files_are_one_object_and_a_resumed_one_is_listed_once(scenario: str, cwd: str, messages: int) -> None:
    with open_store(recorded(scenario)) as reader:
        (session_id,) = list_ids(reader)
        assert reader.session(session_id).cwd == cwd
        assert len(reader.live(session_id)) == history(reader, session_id).messages == messages
        assert reader.live(session_id)[1].tool_calls and reader.live(session_id)[3].extra == {"is_error": True}


@of("same_minute")
def test_a_resume_in_the_same_minute_keeps_what_was_noted_first(reader: Reader) -> None:
    session_id = main_session(reader)
    rows = list(reader.messages(session_id, history(reader, session_id).ids).values())
    assert reader.session(session_id).started_at < rows[0].timestamp and reader.abandoned(session_id) == []
    assert rows[1].tool_calls and rows[1].reasoning == "Reading: First." and len(rows) == 6


# -- by hand -----------------------------------------------------------------------------------------------------------


def resumed(gemini: GeminiByHand, *changes: Line) -> None:
    """A resume writes all messages again, with parts, and the results as messages of their own."""
    for each in gemini.context("s"):
        parts = [{"text": each["content"]}] if isinstance(each["content"], str) else each["content"]
        calls = [
            {"functionCall": {name: call[name] for name in ("id", "name", "args")}}
            for call in each.get("toolCalls", ())
        ]
        changes = (*changes, each | {"content": [*parts, *calls]})
        if calls:
            results = [part for call in each["toolCalls"] for part in call["result"]]
            changes = (
                *changes,
                {"id": f"{each['id']}_response", "type": "user", "content": results, "timestamp": now()},
            )
    gemini.put("s", {"$set": {"messages": list(changes)}})


def test_results_that_a_resume_repeats_count_once(gemini: GeminiByHand) -> None:
    gemini.write("s", talk(2))
    with opened(gemini) as reader:
        before = sent(reader, gemini.id_of("s"))
    for _ in range(3):
        resumed(gemini)
    with opened(gemini) as reader:
        assert sent(reader, gemini.id_of("s")) == before == gemini_heard(2)
        assert history(reader, gemini.id_of("s")).messages == len(talk(2))


def gemini_heard(turns: int) -> list[tuple[str, str]]:
    return [(each["role"], each["content"]) for each in talk(turns)]


def test_a_message_keeps_its_id_when_it_is_written_again(gemini: GeminiByHand) -> None:
    gemini.write("s", talk(1)[:2])
    with opened(gemini) as reader:
        before = [row.id for row in reader.live(gemini.id_of("s"))]
    for message in talk(1)[2:]:
        gemini.say("s", message)
    resumed(gemini)
    with opened(gemini) as reader:
        assert [row.id for row in reader.live(gemini.id_of("s"))][:2] == before


def test_results_without_ids_are_all_there(gemini: GeminiByHand) -> None:
    gemini.write("s", talk(1)[:1])
    answers = [{"functionResponse": {"name": "ls", "response": {"output": each}}} for each in ("a", "b")]
    gemini.record("s", "gemini", "", toolCalls=[{"id": "c1", "name": "ls", "args": {}, "result": answers[:1]}])
    gemini.record("s", "user", answers)
    with opened(gemini) as reader:
        results = [row for row in reader.live(gemini.id_of("s")) if row.role == "tool"]
        assert [(row.content, row.tool_call_id) for row in results] == [("a", "c1"), ("a", ""), ("b", "")]


def test_commands_are_passed_over_and_notes_are_only_rows(gemini: GeminiByHand) -> None:
    gemini.write("s", talk(1))
    gemini.record("s", "user", [{"text": "/compress"}])
    gemini.record("s", "error", "[API Error: 400]")
    with opened(gemini) as reader:
        session_id = gemini.id_of("s")
        assert sent(reader, session_id) == gemini_heard(1) and history(reader, session_id).unlinked == 1
        assert [row.content for row in reader.raw(session_id, before=None, limit=4) if row.role == "error"] == [
            "[API Error: 400]"
        ]


def test_a_summary_of_another_kind_is_no_boundary(gemini: GeminiByHand) -> None:
    gemini.write("s", talk(2))
    fresh = [{"id": each, "type": kind, "timestamp": now(), "content": [{"text": text}]}
             for each, kind, text in (("a", "user", "So far."), ("b", "gemini", "Understood."))]  # fmt: skip
    gemini.put("s", {"$set": {"messages": fresh}})
    with opened(gemini) as reader:
        assert history(reader, gemini.id_of("s")).boundaries == ()
        assert sent(reader, gemini.id_of("s")) == [("user", "So far."), ("assistant", "Understood.")]
    fresh = [each | {"id": f"{each['id']}2"} for each in fresh]
    fresh[1]["content"] = [{"text": ACKNOWLEDGED}]
    gemini.put("s", {"$set": {"messages": fresh}})
    with opened(gemini) as reader:
        (boundary,) = history(reader, gemini.id_of("s")).boundaries
        assert boundary.messages_before == 2


RESULT = {"functionResponse": {"id": "call", "name": "look", "response": {"output": "seen"}}}


@pytest.mark.parametrize(
    "first",
    [
        {"id": "first", "type": "info", "content": "No summary."},
        {"id": "first", "type": "user", "content": [RESULT]},
        {"id": "kept", "type": "user", "content": "An id that was used before."},
    ],
    ids=["note", "result", "kept message"],
)
def test_what_is_answered_like_a_summary_and_cannot_be_one_is_no_boundary(gemini: GeminiByHand, first: Line) -> None:
    gemini.write("s", talk(1))
    kept = gemini.context("s")[-1] | {"id": "kept"}
    answers = [{"id": each, "timestamp": now(), "type": "gemini", "content": ACKNOWLEDGED} for each in ("one", "two")]
    summary = {"id": "summary", "timestamp": now(), "type": "user", "content": "What was said."}
    gemini.put("s", {"$set": {"messages": [summary, answers[0], kept]}}, {"$set": {"messages": [first, answers[1]]}})
    gemini.write("other", talk(1))
    with opened(gemini) as reader:
        assert {*list_ids(reader)} == {gemini.id_of("s"), gemini.id_of("other")}
        ask_everything(reader, gemini.id_of("s"))
        assert len(history(reader, gemini.id_of("s")).boundaries) == 1
        assert ("assistant", ACKNOWLEDGED) in sent(reader, gemini.id_of("s"))


def test_it_is_listed_by_its_title_and_the_time_of_its_newest_message(gemini: GeminiByHand) -> None:
    gemini.write("s", talk(1))
    stub = gemini.path("s").with_name(f"session-2026-11-26T11-00-{gemini.id_of('s')[:8]}.jsonl")
    stub.write_text(gemini.path("s").read_text().split('{"id"')[0])
    gemini.put("s", {"$set": {"summary": "Steps"}})
    with opened(gemini) as reader:
        assert list_ids(reader) == [gemini.id_of("s")]
        session = reader.session(gemini.id_of("s"))
        assert (session.title, session.cwd) == ("Steps", CWD)
        assert session.last_active == reader.live(session.id)[-1].timestamp
        assert "can be read" in str(reader.refusal(None)) and str(reader.refusal(None)).count(". ") == 0
    agent = agent_of(store_of(gemini))
    assert agent.resume_command(gemini.id_of("s")) == f"cd {CWD} && gemini --resume {gemini.id_of('s')}"
    assert agent.threshold("gemini-2.5-pro", 1_000_000) == 500_000


def test_text_for_the_index_goes_on_from_a_cursor(gemini: GeminiByHand) -> None:
    gemini.write("s", talk(2))
    with opened(gemini) as reader:
        first = reader.searchable(gemini.id_of("s"), "")
    assert first is not None and len(first.messages) == len(talk(2))
    gemini.say("s", {"role": "user", "content": "once more"})
    with opened(gemini) as reader:
        more = reader.searchable(gemini.id_of("s"), first.cursor)
        assert more is not None and [each.text for each in more.messages] == ["once more"]
    gemini.path("s").write_text(gemini.path("s").read_text().replace("request0", "another request"))
    with opened(gemini) as reader:
        assert reader.searchable(gemini.id_of("s"), more.cursor) is None


def test_a_file_is_parsed_once_in_its_state(gemini: GeminiByHand, monkeypatch: pytest.MonkeyPatch) -> None:
    gemini.write("s", talk(1))
    kind, count = kind_of(store_of(gemini)), [0]
    parse = type(kind).parse  # type: ignore[attr-defined]

    def counted(self: parsed.ParsedStores, file: ParsedFile) -> ParsedSession:
        count[0] += 1
        session: ParsedSession = parse(self, file)
        return session

    monkeypatch.setattr(type(kind), "parse", counted)
    for expected in (1, 2):
        for _ in range(3):
            with opened(gemini) as reader:
                assert reader.listing.sessions(list_ids(reader)) and reader.live(gemini.id_of("s"))
        assert count[0] == expected
        gemini.say("s", {"role": "user", "content": "once more"})


# -- files that break --------------------------------------------------------------------------------------------------

ODD: list[bytes] = [
    b"{broken", b"\0" * 100, b"[1, 2]", b'"text"', b"null", b'{"id": 7, "type": "user"}', b'{"id": "x"}',
    b'{"id": "x", "type": 3, "content": 4, "timestamp": []}', b'{"$set": 1}', b'{"$set": {"messages": 5}}',
    b'{"$set": {"messages": [1, {"id": 2}, {"id": "y", "type": "gemini", "toolCalls": [1, {"id": 2, "result": 3}]}]}}',
    b'{"$rewindTo": 4}', b'{"id": "z", "type": "gemini", "content": [{"functionCall": 1}, 2, null, {"thought": true}]}',
    b'{"id": "w", "type": "gemini", "toolCalls": [{"args": "{", "result": [{"functionResponse": {"response": 1}}]}]}',
    b'{"id": "v", "type": "user", "content": "half \\ud83d a sign"}', b'{"sessionId": 1, "projectHash": 2}',
    b'{"id": "u", "type": "user", "content": [{"inlineData": {"mimeType": "audio/wav", "data": 3}}, {"odd": {}}]}',
    b'{"id": "t", "type": "dream", "content": "of the future"}', b'{"id":"q","type":"gemini","tokens":{"input":-1}}',
    b'{"$set": {"directories": [{}], "summary": [1], "sessionId": {}}}',
    b'{"id": "s", "type": "gemini", "thoughts": 1}',
    b'{"$set": {"messages": [{"id": "r", "type": "user", "content": "a"}, {"id": "r", "type": "gemini",'
    b'"content": "%s"}, {"id": "r", "type": null}]}}' % ACKNOWLEDGED.encode(),
]  # fmt: skip


@pytest.mark.parametrize("line", ODD)
def test_a_line_of_any_content_is_shown_as_a_row(gemini: GeminiByHand, line: bytes) -> None:
    gemini.write("s", talk(1))
    with gemini.path("s").open("ab") as file:
        file.write(line + b"\n")
    gemini.say("s", {"role": "user", "content": "and on"})
    session_id = gemini.id_of("s")
    with opened(gemini) as reader:
        rows = reader.raw(session_id, before=None, limit=100)
        assert len(rows) == len(gemini.path("s").read_bytes().splitlines())
        assert ("user", "and on") in sent(reader, session_id) and shown(reader, session_id)
        assert json.dumps([row.extra for row in rows], default=str) and str(rows).encode()
        assert reader.session(session_id).name and reader.usage(session_id)


EACH = [
    each
    for scenario in ("auto", "plain")
    for path in sorted((RECORDED / scenario / "tmp/shop/chats").glob("session-*"))[:1]
    for each in variants(objects(path.read_bytes())[:18])
]
STEP = 150


@pytest.mark.parametrize("start", [0, *slow(*range(7, STEP, 13))])
def test_no_field_stops_a_reader(gemini: GeminiByHand, start: int) -> None:
    """One of so many variants each time, in files of their own."""
    some = list(islice(EACH, start, None, STEP))
    for number, variant in enumerate(some):
        lines = [json.dumps(each) + "\n" for each in variant.records]
        lines[0] = json.dumps({"sessionId": f"v{number}", "projectHash": ""}) + "\n" + lines[0]
        path = gemini.project / "chats" / f"session-{number}.jsonl"
        path.write_text("".join(lines), encoding="utf-8", errors="surrogatepass")
    with opened(gemini) as reader:
        assert len(list_ids(reader)) == len(some) > 10
        for number, variant in enumerate(some):
            try:
                ask_everything(reader, f"v{number}")
            except Exception as problem:
                problem.add_note(variant.says)
                raise


def test_an_unknown_type_is_shown_and_not_sent(gemini: GeminiByHand) -> None:
    gemini.write("s", talk(1))
    gemini.record("s", "dream", "of the future")
    with opened(gemini) as reader:
        assert shown(reader, gemini.id_of("s"))[-1] == "of the future"
        assert ("dream", "of the future") not in sent(reader, gemini.id_of("s"))


@pytest.mark.parametrize(
    "data", [b"{", b"[]", b'{"messages": 4}', b'{"messages": [1, {"id": "x"}, null]}', b"\xff\xfe{"]
)
def test_an_older_file_that_is_broken_is_shown(gemini: GeminiByHand, data: bytes) -> None:
    path = gemini.path("s").with_suffix(".json")
    path.write_bytes(data)
    with opened(gemini) as reader:
        for session_id in list_ids(reader):
            assert reader.raw(session_id, before=None, limit=9) and history(reader, session_id).messages in (0, 1)


def test_an_empty_file_is_not_listed(gemini: GeminiByHand) -> None:
    gemini.path("s").write_bytes(b"")
    with opened(gemini) as reader:
        assert list_ids(reader) == [] and reader.capabilities().sessions == 0


def test_a_huge_line_is_read_with_its_texts_cut(gemini: GeminiByHand) -> None:
    gemini.write("s", [])
    gemini.record("s", "user", [{"text": "x" * 33_000_000}])
    with opened(gemini) as reader:
        ((role, content),) = sent(reader, gemini.id_of("s"))
        assert role == "user" and "Too long to show" in content


def test_a_file_that_is_too_large_is_listed_and_says_so(gemini: GeminiByHand, monkeypatch: pytest.MonkeyPatch) -> None:
    gemini.write("s", talk(1))
    monkeypatch.setattr(parsed, "LARGEST", 1_000)
    with opened(gemini) as reader:
        assert list_ids(reader) == [gemini.id_of("s")] and reader.session(gemini.id_of("s")).cwd == CWD
        with pytest.raises(StoreUnavailable, match="no more than"):
            reader.live(gemini.id_of("s"))


def test_a_copy_in_another_folder_is_the_same_session(gemini: GeminiByHand) -> None:
    gemini.write("s", talk(1))
    shutil.copytree(gemini.project, gemini.project.with_name("0" * 64))
    (gemini.project.with_name("0" * 64) / ".project_root").unlink()
    with opened(gemini) as reader:
        assert list_ids(reader) == [gemini.id_of("s")] and reader.session(gemini.id_of("s")).cwd == CWD


def test_what_the_client_adds_first_is_no_message(gemini: GeminiByHand) -> None:
    gemini.write("s", talk(1))
    assert CONTEXT in gemini.path("s").read_text()
    with opened(gemini) as reader:
        assert not any("session_context" in str(content) for content in shown(reader, gemini.id_of("s")))
