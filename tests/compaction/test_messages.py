"""Reading a message in every shape the engine meets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compaction import messages as m
from compaction.handoff import MERGE_DELIMITER, PRIOR_HEADER, handoff_text
from compaction.tokens import message_tokens
from tests.compaction.transcripts import call, call_item, count, handoff, image, reply, result, result_item, user

ANTHROPIC_USE = {"type": "tool_use", "id": "t1", "name": "look", "input": {"q": "ä"}}
CUSTOM = {"type": "custom_tool_call", "call_id": "c1", "name": "run", "input": "print(1)"}
ANTHROPIC_RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "found"}, image()]}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("hi", "hi"),
        (None, ""),
        (7, "7"),
        ([], ""),
        ([{"type": "text", "text": "a"}, "b", {"type": "input_text", "text": "c"}, image()], "a\nb\nc"),
        ({"type": "text", "text": "one block"}, "one block"),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "said"}], "said"),
        ([ANTHROPIC_USE], ""),
        ([ANTHROPIC_RESULT], "found"),
        ([{"type": "tool_result", "tool_use_id": "t1", "content": "plain"}], "plain"),
        ([None, 3, {"text": 5}], ""),
        (b"bytes", ""),
        (object(), ""),  # whose text would differ from run to run
    ],
)
def test_text_of_any_content(content: Any, text: str) -> None:
    assert m.text(content) == text


def test_said_leaves_tool_results_out() -> None:
    assert m.said([ANTHROPIC_RESULT, {"type": "text", "text": "and go on"}]) == "and go on"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (reply("", "c1"), [(("c1",), "read_file", '{"path": "a.txt"}')]),
        ({"tool_calls": json.dumps([call("c1")])}, [(("c1",), "read_file", '{"path": "a.txt"}')]),
        (
            {"tool_calls": [{"id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"}]},
            [(("c1", "fc_1"), "f", "{}")],
        ),
        ({"tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"a": 1}}}]}, [(("c1",), "f", '{"a":1}')]),
        ({"content": [ANTHROPIC_USE]}, [(("t1",), "look", '{"q":"ä"}')]),
        (call_item("c1"), [(("c1", "fc_c1"), "read_file", '{"path": "a.txt"}')]),
        ({**call_item("c1"), "role": None}, [(("c1", "fc_c1"), "read_file", '{"path": "a.txt"}')]),
        (CUSTOM, [(("c1",), "run", "print(1)")]),
        ({"type": "function_call"}, [(("",), "", "")]),
        ({**call_item("c1"), "role": "user"}, []),
        (result_item("c1"), []),
        ({"tool_calls": "not json"}, []),
        ({"tool_calls": {"id": "c1"}}, []),
        ({"tool_calls": [None, 3]}, []),
        ({"tool_calls": [{}]}, [(("",), "", "")]),
        ({"tool_calls": "[" * 100_000}, []),
    ],
)
def test_calls_of_every_shape(message: m.Message, expected: list[Any]) -> None:
    assert [tuple(found) for found in m.calls(message)] == expected


@pytest.mark.parametrize(
    ("message", "ids"),
    [
        (result("c1"), ("c1",)),
        ({"role": "tool", "call_id": "c1"}, ("c1",)),
        ({"role": "tool", "content": "x"}, ("",)),
        ({"role": "tool", "tool_call_id": 7}, ("",)),
        ({"role": "user", "content": [ANTHROPIC_RESULT, {"type": "text", "text": "hi"}]}, ("t1",)),
        ({"role": "assistant", "content": [ANTHROPIC_RESULT]}, ()),
        (user("hi"), ()),
        (result_item("c1"), ("c1",)),
        ({"type": "custom_tool_call_output", "call_id": "c1", "output": "1"}, ("c1",)),
        ({"type": "function_call_output"}, ("",)),
        ({**result_item("c1"), "role": "user"}, ()),
        (call_item("c1"), ()),
        ({"type": ["function_call_output"], "call_id": "c1"}, ()),
    ],
)
def test_answers(message: m.Message, ids: tuple[str, ...]) -> None:
    assert m.answers(message) == ids


@pytest.mark.parametrize(
    ("message", "role", "beside", "said", "tokens"),
    [
        (call_item("c1"), "assistant", "", "", 31),
        (CUSTOM, "assistant", "", "", 23),
        (result_item("c1", "found it"), "tool", "tool", "found it", 7),
        (result_item("c1", [{"type": "input_text", "text": "seen"}, image()]), "tool", "tool", "seen", 1_606),
        (result_item("c1", None), "tool", "tool", "", 5),
        ({"role": "assistant", "type": "message", "content": "Done."}, "assistant", "assistant", "Done.", 6),
        ({"type": "reasoning", "summary": []}, "", "", "", 9),
        ({"type": "web_search_call", "id": "ws_1"}, "", "", "", 14),
        ({"type": ["odd"]}, "", "", "", 8),
        ({"content": "hi"}, "", "", "hi", 5),
    ],
)
def test_a_row_without_a_role(message: m.Message, role: str, beside: str, said: str, tokens: int) -> None:
    assert (m.role(message), m.role_beside(message)) == (role, beside)
    assert m.text(m.body(message)) == said
    assert message_tokens(message, count) == tokens


def test_the_result_of_an_item() -> None:
    assert m.results(result_item("c1", [{"type": "input_text", "text": "seen"}])) == (("c1", "seen"),)


@pytest.mark.parametrize(
    ("message", "rest"),
    [
        (user("hi"), {}),
        (call_item("c1"), {}),
        (result_item("c1"), {}),
        ({**reply("", "c1"), "extra": 1}, {}),
        ({**reply(""), "tool_calls": "[]"}, {}),
        ({**reply(""), "tool_calls": "not json"}, {"tool_calls": "not json"}),
        ({"content": "hi", "type": "note", "n": 0, "empty": []}, {"type": "note", "n": 0}),
        ({"role": 7, "tool_calls": [call("c1")]}, {"role": 7}),
    ],
)
def test_what_nothing_else_reads(message: m.Message, rest: Any) -> None:
    assert m.unread(message) == rest


def test_images_in_three_shapes_and_inside_results() -> None:
    anthropic = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    assert m.image_count([image(), {"type": "input_image", "image_url": "x"}, anthropic, ANTHROPIC_RESULT]) == 4
    assert m.image_count("an image") == m.image_count(None) == 0


@pytest.mark.parametrize(
    ("message", "is_user", "typed"),
    [
        (user("hi"), True, True),
        (user([image()]), True, True),
        (user("[System: the process ended]"), True, False),
        ({"role": "user", "content": "hi", "display_kind": "hidden"}, True, False),
        ({"role": "user", "content": "hi", "display_kind": "steer"}, True, True),
        ({"role": "user", "content": "hi", "display_kind": {}}, True, True),
        (handoff(), False, False),
        (handoff(live="And now?"), True, True),
        (user([ANTHROPIC_RESULT]), False, False),
        (user([ANTHROPIC_RESULT, {"type": "text", "text": "and go on"}]), True, True),
        (user([ANTHROPIC_RESULT, {"type": "text", "text": " "}]), False, False),
        (user([ANTHROPIC_RESULT, image()]), True, True),
        (user([{"type": "file", "file": {"file_id": "f"}}]), True, True),
        (user(None), True, True),
        (reply("hi"), False, False),
    ],
)
def test_who_wrote_a_user_row(message: m.Message, is_user: bool, typed: bool) -> None:
    assert (m.is_user_message(message), m.is_typed(message)) == (is_user, typed)


@pytest.mark.parametrize(
    ("message", "readable"),
    [
        (reply("Done."), True),
        (reply("Let me look.", "c1"), True),
        (reply("", "c1"), False),
        (reply(" \n", "c1"), False),
        (reply(None), False),
        (reply([{"type": "thinking", "thinking": "hm"}, ANTHROPIC_USE]), False),
        (handoff(role="assistant"), False),
        (handoff(role="assistant", live="Done."), True),
        (user("Done."), False),
    ],
)
def test_a_reply_a_person_could_read(message: m.Message, readable: bool) -> None:
    assert m.is_readable_reply(message) is readable


def test_a_handoff_with_calls_is_not_standalone() -> None:
    assert m.is_standalone_handoff(handoff(role="assistant"))
    assert not m.is_standalone_handoff({**handoff(role="assistant"), "tool_calls": [call("c1")]})
    assert m.live_content({**handoff(role="assistant"), "tool_calls": [call("c1")]}) == ""


def test_live_content_of_both_layouts_is_put_together() -> None:
    prior = f"{PRIOR_HEADER}\nOld.\n\n{MERGE_DELIMITER}\n\n{handoff_text('Body')}\n\nNew."
    assert m.live_content(user(prior)) == "Old.\n\nNew."
    assert m.live_content(user("plain")) == "plain"


def test_a_number_that_python_refuses_to_write_reads_as_empty() -> None:
    assert m.text(10**5_000) == m.countable(user(10**5_000)) == ""


def test_nothing_nested_too_deep_raises() -> None:
    deep: Any = "x"
    for _ in range(5_000):
        deep = [{"type": "tool_result", "tool_use_id": "t", "content": deep}]
    circular: list[Any] = []
    circular.append({"type": "tool_result", "content": circular})
    for content in (deep, circular):
        row = user(content)
        assert (m.text(content), m.said(content), m.image_count(content)) == ("", "", 0)
        assert m.countable(row).strip() in ("t", "")
