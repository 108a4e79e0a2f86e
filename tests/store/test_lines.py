"""Lines of files that are damaged: what an agent may read of them, and what is left of them to be shown."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.stores.jsonl import lines
from viewer.stores.jsonl.lines import MARK, object_at
from viewer.stores.jsonl.long_lines import CutLine, CutText

ONE = b'{"type": "user", "text": "one {\\"a\\": 1} \xc3\xa4"}'
TWO = b'{"type": "assistant", "message": {"type": "message"}}'
HALF = b'{"type": "user", "message": {"content": [{"type": "text", "text": "abc'


def read(data: bytes) -> list[lines.Line]:
    return list(lines.lines_from(BytesIO(data), 0))


def told(data: bytes) -> list[tuple[str, Any]]:
    return [(each.place, (each.object or {}).get("type")) for each in read(data)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (ONE, [("alone", "user")]),
        (b" \t" + ONE + b" \r", [("alone", "user")]),
        (MARK + ONE, [("marked", "user")]),
        (ONE + b"\0" * 40, [("first", "user")]),
        (ONE + b" \0 \0 ", [("first", "user")]),
        (ONE + b"}", [("first", "user")]),
        (ONE + HALF, [("first", "user")]),
        (ONE + TWO, [("first", "user"), ("found", "assistant")]),
        (ONE + b"\0\0 " + TWO + b"\0", [("first", "user"), ("found", "assistant")]),
        (HALF + ONE, [("", None), ("found", "user")]),
        (HALF[:40] + ONE + TWO, [("", None), ("found", "user"), ("found", "assistant")]),
        (b'{"type": "user", "message": ' + ONE, [("", None), ("found", "user")]),
        (b"\0\0" + ONE, [("", None), ("found", "user")]),
        (ONE.replace(b"one", b"o\0ne"), [("found", "user")]),
        (b'{"type": "user", "a": NaN}', [("found", "user")]),
        (b'{"type": "user", "a": %s}' % (b"9" * 5_000), [("alone", "user")]),
        (b'{"type": "user", "a": %s}' % (b"[" * 5_000 + b"]" * 5_000), [("cut", "user")]),
        (HALF, [("", None)]),
        (b"\0" * 40, [("", None)]),
        (b"[1]", [("", None)]),
        (b"null", [("", None)]),
        (b'{"a": 1}, {"a": 2}', [("first", None)]),
    ],
)
def test_an_object_in_a_line(data: bytes, expected: list[tuple[str, Any]]) -> None:
    assert told(data + b"\n" + TWO + b"\n") == [*expected, ("alone", "assistant")]


def test_a_mark_is_one_in_front_of_the_file_alone() -> None:
    assert told(ONE + b"\n" + MARK + TWO + b"\n") == [("alone", "user"), ("", None), ("found", "assistant")]


@given(
    st.lists(st.sampled_from([ONE, TWO, HALF, MARK, b"\0", b" ", b"\r", b"\n", b"{", b'"', b"\\", b"}"]), max_size=12)
)
def test_no_byte_is_in_two_lines_and_each_object_is_read_again_by_its_place(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    end = 0
    for line in read(data):
        assert line.offset >= end and line.length > 0
        end = line.offset + line.length
        assert line.data == data[line.offset : end] and b"\n" not in line.data
        assert object_at(BytesIO(data), line.offset, line.length) == line.object or line.object is None


@pytest.mark.parametrize("piece", [1, 7, 1_000_000])
def test_of_a_line_that_is_too_long_the_long_texts_are_cut(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(lines, "LONGEST", 4_000)
    monkeypatch.setattr(lines, "BUFFER", piece)
    value = {
        "uuid": "u",
        "type": "user",
        "message": {"content": ["short", 'a "\\\u00e4\n' * 2_000]},
        "none": None,
        "alone": "\ud800",
        "behind": [1.5, True, {}],
    }
    data = json.dumps(value).encode()
    line, other = read(data + b"\n" + TWO + b"\n")
    assert (line.place, line.data, line.length, other.place) == ("cut", None, len(data), "alone")
    assert line.object is not None and object_at(BytesIO(data), 0, len(data)) == line.object
    short, cut = line.object["message"].pop("content")
    assert line.object == {**value, "message": {}, "alone": "?"} and short == "short"
    assert (
        isinstance(cut, CutText) and cut.startswith('a "\\\u00e4\n') and cut.size == len('a \\"\\\\\\u00e4\\n' * 2_000)
    )


@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda each: st.lists(each) | st.dictionaries(st.text(), each))
)
def test_a_line_in_pieces_says_what_it_says_as_a_whole(value: Any) -> None:
    data = json.dumps({"a": value}, ensure_ascii=False).encode("utf-8", "replace")
    cut = CutLine(1_000_000)
    for at in range(0, len(data), 3):
        cut.take(data[at : at + 3])
    assert cut.value() == json.loads(data)


def test_what_is_still_too_long_when_it_is_cut_is_no_object() -> None:
    cut = CutLine(1_000)
    cut.take(json.dumps({"a": ["short"] * 1_000}).encode())
    assert cut.value() is None
