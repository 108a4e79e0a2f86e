"""Qwen Code's files: what a resume sends, compressions, rewinds, forks, sub-agents, and files that break."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import pytest

from tests.agents.base import Line, objects
from tests.agents.gemini.by_hand import ACKNOWLEDGED
from tests.agents.google_contents import of_request, of_rows
from tests.agents.qwen.by_hand import CWD, RECORDED, QwenByHand, qwen
from tests.agents.reading import history, opened, sent, shown, store_of
from tests.agents.talk import talk
from tests.listed import newest_ids
from tests.slow import slow
from tests.store.malformed import ask_everything, variants
from viewer.stores import parsed
from viewer.stores.base import Store
from viewer.stores.errors import StoreUnavailable
from viewer.stores.message import Handoff, StoredMessage
from viewer.stores.reader import Reader
from viewer.stores.registry import agent_of, open_store
from viewer.stores.transcript import PROMPT

__all__ = ["qwen"]

SCENARIOS = sorted(path.name for path in RECORDED.iterdir())


def recorded(scenario: str) -> Store:
    return Store("recorded", f"qwen://{RECORDED / scenario}", "configured")


def listed(reader: Reader) -> list[str]:
    return newest_ids(reader)


def main(scenario: str) -> str:
    with open_store(recorded(scenario)) as reader:
        sessions = [reader.session(each) for each in listed(reader) if "/" not in each]
    return max(sessions, key=lambda each: each.last_active).id


# -- recordings of the client ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_model_is_sent_what_the_client_sent(scenario: str) -> None:
    with open_store(recorded(scenario)) as reader:
        rows = reader.live(main(scenario))
    assert rows[-1].role == "assistant"
    assert of_rows(rows[:-1]) == of_request(RECORDED / scenario)


def test_a_session_as_the_client_wrote_it() -> None:
    with open_store(recorded("plain")) as reader:
        session = reader.session(main("plain"))
        assert (session.cwd, session.model, session.window) == ("/home/ana/shop", "qwen3-vl-plus", 262_144)
        assert session.name == "What is the price of a pear? And of a quince?"
        rows = reader.live(session.id)
        assert len(rows) == history(reader, session.id).messages == 21 and len(listed(reader)) == 2
        assert session.last_active == rows[-1].timestamp
        assert reader.usage(session.id).tokens == 19_665
        assert rows[1].reasoning == "I will read the price list first.", "a model is sent its thoughts again"


def test_calls_have_results_failures_pictures_changes_and_sub_agents() -> None:
    with open_store(recorded("plain")) as reader:
        session_id = main("plain")
        rows = reader.live(session_id)
        results = [row for row in rows if row.role == "tool"]
        assert [row.tool_call_id for row in results] == [each["id"] for row in rows for each in row.tool_calls]
        assert [row.extra.get("is_error", False) for row in results] == [False, True, *[False] * 4]
        assert any("plum 6" in row.diff for row in results)
        picture = next(row for row in rows if row.role == "user" and isinstance(row.content, list))
        assert picture.content[1]["image_url"]["url"].startswith("data:image/jpeg;base64,")
        assert reader.previews(session_id, [picture.id])[picture.id].text.endswith("And raise the plum to 6.")
        (child,) = reader.children([session_id])
        assert (child.title, child.kind) == ("Find pears", "delegate") and results[-1].sub_agents == (child.id,)
        sub_agent = reader.session(child.id)
        assert (sub_agent.delegated_from, sub_agent.model) == (session_id, "qwen3-vl-plus")
        assert [row.role for row in reader.live(child.id)] == ["user", "assistant", "assistant", "tool", "assistant"]


def test_what_nobody_typed_is_no_prompt() -> None:
    with open_store(recorded("plain")) as reader:
        session_id = main("plain")
        index = history(reader, session_id)
        prompts = [row.content for row in reader.live(session_id) if row.role == "user"]
        assert len(prompts) == 5 and sum(kind & PROMPT > 0 for kind in index.kinds) == 4
        thanks = reader.live(session_id)[-2]
        assert reader.previews(session_id, [thanks.id])[thanks.id].text == "Thank you."


def test_a_compression_is_a_boundary() -> None:
    with open_store(recorded("compressed")) as reader:
        session_id = main("compressed")
        index = history(reader, session_id)
        (boundary,) = index.boundaries
        items = reader.shown(session_id, index.stretch(0, index.messages).items)
        (handoff,) = [each for each in items if isinstance(each, Handoff)]
        assert handoff.summary.startswith("<state_snapshot>")
        assert handoff.reported is not None and handoff.reported.trigger == "manual"
        assert (handoff.reported.tokens_before, handoff.reported.tokens_after) > (18_000, 16_000)
        assert (boundary.summarised, boundary.messages_before, boundary.messages_after) == (6, 6, 3)
        states = [row.state for row in reader.messages(session_id, index.ids).values()]
        assert states == ["under"] * 6 + ["live"] * 7
        assert sum(kind & PROMPT > 0 for kind in index.kinds) == 4, "a file that was read again is no prompt"


def test_a_compression_between_a_call_and_its_result_repeats_nothing() -> None:
    with open_store(recorded("auto")) as reader:
        session_id = main("auto")
        index = history(reader, session_id)
        first, second = index.boundaries
        assert (first.messages_before, first.summarised) == (3, 2), "what set it off is kept"
        texts = [str(each) for each in shown(reader, session_id)]
        assert texts.count("Tell me the price of a pear.") == texts.count("apple 3\npear 4\nplum 5\n") == 1
        assert second.messages_after == 5


def test_what_was_rewound_is_out_and_the_newest_title_counts() -> None:
    with open_store(recorded("rewound")) as reader:
        session_id = main("rewound")
        (branch,) = reader.abandoned(session_id)
        rows = reader.messages(session_id, branch.ids)
        assert [row.content for row in rows.values()] == [
            "Tell me the price of a plum.", "A plum costs 5.", "Tell me the price of an apple.", "An apple costs 3.",
        ]  # fmt: skip
        assert {row.state for row in rows.values()} == {"out"}
        assert reader.session(session_id).title == "Prices of fruit"


def test_a_fork_is_a_branch_and_counts_its_own_requests() -> None:
    with open_store(recorded("forked")) as reader:
        fork, origin = main("forked"), next(each for each in listed(reader) if each != main("forked"))
        assert reader.session(fork).branched_from == origin
        (child,) = reader.children([origin])
        assert (child.id, child.kind) == (fork, "branch")
        assert len(reader.live(fork)) == 6 and len(reader.live(origin)) == 4


# -- by hand -----------------------------------------------------------------------------------------------------------


def compress(qwen: QwenByHand, *entries: tuple[str, Any], **info: Any) -> None:
    history = [{"role": role, "parts": said if isinstance(said, list) else [{"text": said}]} for role, said in entries]
    qwen.note("s", "chat_compression", {"info": info, "compressedHistory": history, "completedToolCallIds": []})


def test_a_fast_compression_clears_results_and_is_no_boundary(qwen: QwenByHand) -> None:
    qwen.write("s", talk(1))
    kept = [record["message"] for record in qwen.thread("s") if record["type"] != "system"]
    for message in kept:
        for part in message["parts"]:
            if "functionResponse" in part:
                part["functionResponse"]["response"] = {"output": "[Old tool result content cleared]"}
    compress(qwen, *((each["role"], each["parts"]) for each in kept), triggerReason="manual")
    with opened(qwen) as reader:
        session_id = qwen.id_of("s")
        index = history(reader, session_id)
        assert index.boundaries == () and index.messages == len(talk(1))
        said = [content for _, content in sent(reader, session_id)]
        assert said[2:4] == ["[Old tool result content cleared]"] * 2 and said[0] == talk(1)[0]["content"]
        assert any("result0x0" in str(content) for content in shown(reader, session_id)), "History has what it was"


def test_a_second_compression_goes_on_from_the_first(qwen: QwenByHand) -> None:
    qwen.write("s", talk(1))
    for number in range(2):
        compress(qwen, ("user", f"<state_snapshot>{number}"), ("model", ACKNOWLEDGED), triggerReason="token_limit")
        for message in talk(1, str(number)):
            qwen.say("s", message)
    with opened(qwen) as reader:
        first, second = history(reader, qwen.id_of("s")).boundaries
        assert (first.messages_before, second.messages_before, second.messages_after) == (5, 7, 2)
        assert sent(reader, qwen.id_of("s"))[0] == ("user", "<state_snapshot>1")


def test_a_compression_that_was_rewound_is_none(qwen: QwenByHand) -> None:
    qwen.write("s", talk(2))
    newest = qwen.lines("s")[-1]["uuid"]
    compress(qwen, ("user", "<state_snapshot>x"), ("model", ACKNOWLEDGED))
    qwen.note("s", "rewind", {"truncatedCount": 0}, parentUuid=newest)
    with opened(qwen) as reader:
        assert history(reader, qwen.id_of("s")).boundaries == () and len(reader.live(qwen.id_of("s"))) == len(talk(2))


def test_a_prompt_that_calls_itself_a_compression_is_none(qwen: QwenByHand) -> None:
    qwen.write("s", talk(1))
    qwen.record("s", "user", subtype="chat_compression")
    qwen.note("s", "chat_compression", {"compressedHistory": [{"role": "user", "parts": [{"text": "So far."}]}]})
    with opened(qwen) as reader:
        assert listed(reader) == [qwen.id_of("s")]
        ask_everything(reader, qwen.id_of("s"))
        assert sent(reader, qwen.id_of("s")) == [("user", "So far.")]


def test_what_a_missing_record_cuts_off_is_shown_and_not_sent(qwen: QwenByHand) -> None:
    qwen.write("s", talk(2))
    lines = qwen.lines("s")
    del lines[4]
    qwen.path("s").write_text("".join(json.dumps(each) + "\n" for each in lines))
    with opened(qwen) as reader:
        session_id = qwen.id_of("s")
        index = history(reader, session_id)
        assert (index.unlinked, index.messages, len(reader.live(session_id))) == (4, 9, 5)
        assert reader.abandoned(session_id) == []


def test_records_outside_of_the_tree_end_nothing(qwen: QwenByHand) -> None:
    qwen.write("s", talk(1))
    qwen.note("s", "session_artifact_event", {}, parentUuid=None)
    with opened(qwen) as reader:
        assert len(reader.live(qwen.id_of("s"))) == len(talk(1))


def test_a_loop_of_parents_ends(qwen: QwenByHand) -> None:
    qwen.write("s", talk(1))
    lines = qwen.lines("s")
    lines[0]["parentUuid"] = lines[-1]["uuid"]
    qwen.path("s").write_text("".join(json.dumps(each) + "\n" for each in lines))
    with opened(qwen) as reader:
        assert len(reader.live(qwen.id_of("s"))) == len(talk(1)) and shown(reader, qwen.id_of("s"))


def test_it_is_listed_by_its_title_and_says_why_it_is_only_read(qwen: QwenByHand) -> None:
    qwen.write("s", talk(1))
    qwen.path("s").with_name("0.runtime.jsonl").write_text("{}")
    with opened(qwen) as reader:
        assert listed(reader) == [qwen.id_of("s")]
        session = reader.session(qwen.id_of("s"))
        assert (session.title, session.cwd, session.model) == ("s", CWD, "test-model")
        assert str(reader.refusal(None)).startswith("Sessions of Qwen Code can be read")
    agent = agent_of(store_of(qwen))
    assert agent.resume_command(session.id) == f"cd {CWD} && qwen --resume {session.id}"
    assert agent.untried_version(session.id) == ""
    qwen.record("s", "user", message={"role": "user", "parts": ["next"]}, version="0.31.0")
    assert "0.31.0" in agent.untried_version(session.id)


# -- files that break --------------------------------------------------------------------------------------------------

ODD: list[Line | bytes] = [
    b"{broken", b"\0" * 50, b"[]", b"7", {"uuid": 4}, {"uuid": "x"}, {"uuid": "x", "type": 3, "message": {"parts": 5}},
    {"uuid": "x", "type": "system", "subtype": "chat_compression", "systemPayload": 4},
    {"uuid": "x", "type": "system", "subtype": "chat_compression", "systemPayload": {"compressedHistory": [1, {}]}},
    {"uuid": "x", "type": "system", "subtype": [], "systemPayload": {}}, {"uuid": "x", "type": "dream", "message": {}},
    {"uuid": "x", "type": "assistant", "message": {"parts": [{"functionCall": {"args": [1], "name": 3}}, 1, None]}},
    {"uuid": "x", "type": "tool_result", "message": {"parts": [{"functionResponse": {"id": 2, "response": "odd"}}]}},
    {"uuid": "x", "type": "user", "message": {"parts": [{"text": "half \ud83d a sign"}]}, "toolCallResult": []},
    {"uuid": "x", "type": "assistant", "usageMetadata": {"promptTokenCount": "many"}, "timestamp": 5, "message": []},
    {"uuid": "x", "type": "user", "parentUuid": {}, "forkedFrom": 4, "message": {"parts": {"text": {"a": 1}}}},
]  # fmt: skip


@pytest.mark.parametrize("line", ODD)
def test_a_line_of_any_content_is_shown_as_a_row(qwen: QwenByHand, line: Line | bytes) -> None:
    qwen.write("s", talk(1))
    last = qwen.lines("s")[-1]["uuid"]
    data = line if isinstance(line, bytes) else json.dumps({"parentUuid": last} | line).encode()
    with qwen.path("s").open("ab") as file:
        file.write(data + b"\n")
    qwen.record("s", "user", message={"role": "user", "parts": [{"text": "and on"}]}, parentUuid=last)
    with opened(qwen) as reader:
        rows = reader.raw(qwen.id_of("s"), before=None, limit=100)
        assert len(rows) == len(qwen.path("s").read_bytes().splitlines())
        assert sent(reader, qwen.id_of("s"))[-1] == ("user", "and on") and shown(reader, qwen.id_of("s"))
        assert all(isinstance(row, StoredMessage) for row in rows) and str(rows).encode()
        assert reader.session(qwen.id_of("s")).name and reader.usage(qwen.id_of("s"))
    qwen.path("s").write_bytes(data + b"\n" + qwen.path("s").read_bytes())
    with opened(qwen) as reader:
        assert reader.session(qwen.id_of("s")) and history(reader, qwen.id_of("s")).messages


EACH = [
    each
    for scenario in ("auto", "plain")
    for path in (RECORDED / scenario / "projects/-home-ana-shop/chats").iterdir()
    for each in variants(
        [record for record in objects(path.read_bytes()) if record.get("subtype") != "ui_telemetry"][:12]
    )
]
STEP = 150


@pytest.mark.parametrize("start", [0, *slow(*range(7, STEP, 13))])
def test_no_field_stops_a_reader(qwen: QwenByHand, start: int) -> None:
    """One of so many variants each time, in files of their own."""
    some = list(islice(EACH, start, None, STEP))
    for number, variant in enumerate(some):
        text = "".join(json.dumps(each) + "\n" for each in variant.records)
        (qwen.chats / f"{number:032}.jsonl").write_text(text, encoding="utf-8", errors="surrogatepass")
    with opened(qwen) as reader:
        assert len(listed(reader)) == len(some) > 10
        for number, variant in enumerate(some):
            try:
                ask_everything(reader, f"{number:032}")
            except Exception as problem:
                problem.add_note(variant.says)
                raise


def test_an_empty_file_is_not_listed(qwen: QwenByHand) -> None:
    qwen.path("s").write_bytes(b"")
    with opened(qwen) as reader:
        assert listed(reader) == []


def test_a_huge_line_is_read_with_its_texts_cut(qwen: QwenByHand) -> None:
    qwen.write("s", [{"role": "user", "content": "x" * 33_000_000}])
    with opened(qwen) as reader:
        ((role, content),) = sent(reader, qwen.id_of("s"))
        assert role == "user" and "Too long to show" in content


def test_a_file_that_is_too_large_is_listed_and_says_so(qwen: QwenByHand, monkeypatch: pytest.MonkeyPatch) -> None:
    qwen.write("s", talk(1))
    monkeypatch.setattr(parsed, "LARGEST", 1_000)
    with opened(qwen) as reader:
        assert listed(reader) == [qwen.id_of("s")] and reader.session(qwen.id_of("s"))
        with pytest.raises(StoreUnavailable, match="no more than"):
            reader.live(qwen.id_of("s"))
