"""pi's files whose links are lost: what is sent is what pi sends, all else is shown once and in order."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tests.agents.base import Line
from tests.agents.pi.by_hand import CWD, HEADER, PiByHand, agent, entry, put, row, session_id
from tests.agents.reading import history, opened, sent, shown
from viewer.stores.jsonl.values import seconds
from viewer.stores.reader import Reader
from viewer.usage.pricing import Cost

__all__ = ["agent", "session_id"]  # fixtures

TEN = row(*(f"m{at}" for at in range(1, 11)))
ALL = [each["id"] for each in TEN]


def contents(reader: Reader, session_id: str) -> list[str]:
    return [content for _, content in sent(reader, session_id)]


def without(at: int, *instead: Line | bytes) -> list[Line | bytes]:
    """The ten with something in place of the one at this place."""
    return [HEADER, *TEN[:at], *instead, *TEN[at + 1 :]]


SALVAGED: dict[str, tuple[Sequence[Line | bytes], int]] = {  # and at which place what is sent begins
    "NUL bytes behind it": (without(5, json.dumps(TEN[5]).encode() + b"\0" * 40), 6),
    "NUL bytes before it": (without(5, b"\0" * 40 + json.dumps(TEN[5]).encode()), 6),
    "half of it, then the whole": (without(5, json.dumps(TEN[5]).encode()[:60] + json.dumps(TEN[5]).encode()), 6),
    "two on one line": ([HEADER, *TEN[:5], b"".join(json.dumps(each).encode() for each in TEN[5:7]), *TEN[7:]], 7),
    "no JSON but nearly": (without(5, json.dumps(TEN[5] | {"n": float("nan")}).encode()), 6),
    "the last two on one line": ([HEADER, *TEN[:8], b"".join(json.dumps(each).encode() for each in TEN[8:])], 0),
}


@pytest.mark.parametrize("case", SALVAGED)
def test_what_a_damaged_line_says_is_shown(agent: PiByHand, session_id: str, case: str) -> None:
    """pi does not read such a line."""
    lines, start = SALVAGED[case]
    put(agent, lines)
    with opened(agent) as reader:
        assert shown(reader, session_id) == ALL
        assert contents(reader, session_id) == (ALL[start:] if start else ALL[:8])
        assert history(reader, session_id).unlinked == (start or 2)
        found = reader.searchable(session_id, "")
        assert found is not None and [each.text for each in found.messages] == ALL
        problem = reader.refusal(session_id)
        assert (problem is None) is (not start)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_byte_order_mark(agent: PiByHand, session_id: str, version: int) -> None:
    """pi has not opened such a file since 0.87."""
    header = b"\xef\xbb\xbf" + json.dumps(HEADER | {"version": version}).encode()
    put(agent, [header, *TEN])
    with opened(agent) as reader:
        assert contents(reader, session_id) == ALL and shown(reader, session_id) == ALL
        session = reader.session(session_id)
        assert (session.cwd, session.started_at) == (CWD, seconds(HEADER["timestamp"]))
        problem = reader.refusal(session_id)
        assert problem is not None and "begins with a byte order mark" in problem.message


CUTS: dict[str, tuple[Sequence[Line | bytes], int, int]] = {
    "a parent that is missing": (without(5), 9, 5),
    "a broken line": (without(5, json.dumps(TEN[5]).encode()[:-5]), 9, 5),
    "two broken lines": ([*without(5, b'{"type":"mess')[:4], b"\0\0\0", *without(5, b"{}")[5:]], 8, 4),
    "a beginning that is gone": ([HEADER, *TEN[4:]], 6, 0),
}


@pytest.mark.parametrize("case", CUTS)
def test_where_a_link_is_lost(agent: PiByHand, session_id: str, case: str) -> None:
    lines, there, unreached = CUTS[case]
    put(agent, lines)
    with opened(agent) as reader:
        messages = shown(reader, session_id)
        assert messages == [name for name in ALL if name in messages] and len(messages) == there
        assert contents(reader, session_id) == messages[unreached:]
        index = history(reader, session_id)
        assert (index.unlinked, index.in_context) == (unreached, there - unreached)
        assert [each.state for each in index.entries] == ["lost"] * unreached + ["live"] * (there - unreached)
        assert not reader.abandoned(session_id), "nobody went back"
        found = reader.searchable(session_id, "")
        assert found is not None and [each.text for each in found.messages] == messages
        problem = reader.refusal(session_id)
        assert problem is not None and f"{unreached} of its messages are not reached" in problem.message


def test_what_a_compaction_stands_before_is_no_matter(agent: PiByHand, session_id: str) -> None:
    def compacted(first: str) -> list[Line | bytes]:
        summary = entry("x", "m8", "compaction", summary="So far.", firstKeptEntryId=first, tokensBefore=9)
        return [*without(2)[:8], summary, entry("m9", "x")]

    for first, kept, is_refused in (("m7", ["m7", "m8"], False), ("x", [], False), ("m2", [], True), ("?", [], True)):
        put(agent, compacted(first))
        with opened(agent) as reader:
            assert contents(reader, session_id)[1:] == [*kept, "m9"], first
            assert bool(reader.refusal(session_id)) is is_refused, first
            assert history(reader, session_id).unlinked == 2


def test_only_what_stands_beside_the_path_was_left(agent: PiByHand, session_id: str) -> None:
    """Two who went back, one of them twice; what is lost before that is not theirs."""
    lost = [entry("m20", "gone"), entry("m21", "m20")]
    put(agent, [HEADER, *lost, *TEN, entry("m11", "m3"), entry("m12", "m11"), entry("m13", "m11")])
    with opened(agent) as reader:
        assert contents(reader, session_id) == ["m1", "m2", "m3", "m11", "m13"]
        assert shown(reader, session_id) == ["m20", "m21", "m1", "m2", "m3", "m11", "m13"]
        rows = [reader.messages(session_id, each.ids) for each in reader.abandoned(session_id)]
        assert [[row.content for row in each.values()] for each in rows] == [
            ["m4", "m5", "m6", "m7", "m8", "m9", "m10"], ["m12"],
        ]  # fmt: skip
        assert history(reader, session_id).unlinked == 2
        assert reader.refusal(session_id) is None, "what is sent goes back to the beginning"


def test_two_beginnings(agent: PiByHand, session_id: str) -> None:
    """Somebody went back to before the first message; what never had a link is nobody's."""
    put(agent, [HEADER, *row("m1", "m2"), *row("m3", "m4")])
    with opened(agent) as reader:
        assert shown(reader, session_id) == ["m3", "m4"] and len(reader.abandoned(session_id)) == 1
    put(agent, [HEADER, *(entry(name, None) for name in ALL)])
    with opened(agent) as reader:
        assert contents(reader, session_id) == ["m10"]
        assert shown(reader, session_id) == ALL and not reader.abandoned(session_id)


def test_a_line_that_is_there_twice_is_shown_once(agent: PiByHand, session_id: str) -> None:
    put(agent, [HEADER, *(each for each in TEN for _ in range(2)), TEN[3], TEN[3]])
    with opened(agent) as reader:
        assert contents(reader, session_id) == ["m1", "m2", "m3", "m4"], "pi goes on behind the newest line"
        assert shown(reader, session_id) == [*ALL[:3], *ALL[4:], "m4"]
        assert not reader.abandoned(session_id) and history(reader, session_id).unlinked == 6
        assert reader.usage(session_id).cost == Cost(0.5), "of five replies"
        found = reader.searchable(session_id, "")
        assert found is not None and len(found.messages) == 10
    put(agent, [HEADER, *TEN, TEN[3], entry("m11", "m4")])
    with opened(agent) as reader:
        assert contents(reader, session_id) == [*ALL[:4], "m11"]
        assert len(reader.abandoned(session_id)) == 1, "it went on from there"


def test_other_words_under_an_id_that_repeats_are_shown(agent: PiByHand, session_id: str) -> None:
    other = TEN[7] | {"id": "m4"}
    put(agent, [HEADER, *TEN[:7], other, TEN[8] | {"parentId": "m4"}])
    with opened(agent) as reader:
        assert sorted(shown(reader, session_id)) == sorted([*ALL[:9]])
        assert reader.refusal(session_id) is not None


CIRCLES: dict[str, list[Line]] = {
    "of three": [entry("m1", "m3"), entry("m2", "m1"), entry("m3", "m2")],
    "of one": [*row("m1", "m2"), entry("m3", "m3")],
    "far from the end": [entry("m1", "m3"), entry("m2", "m1"), entry("m3", "m2"), entry("m4", "m3"), entry("m5", "m4")],
}  # fmt: skip


@pytest.mark.parametrize("case", CIRCLES)
def test_a_circle_is_shown_and_not_compacted(agent: PiByHand, session_id: str, case: str) -> None:
    put(agent, [HEADER, *CIRCLES[case]])
    with opened(agent) as reader:
        assert shown(reader, session_id) == [each["id"] for each in CIRCLES[case]]
        assert not reader.abandoned(session_id)
        problem = reader.refusal(session_id)
        assert problem is not None and "name one another as their parents" in problem.message


def test_a_circle_beside_the_path_is_no_matter(agent: PiByHand, session_id: str) -> None:
    put(agent, [HEADER, entry("m20", "m21"), entry("m21", "m20"), entry("m22", "m21"), *TEN])
    with opened(agent) as reader:
        assert contents(reader, session_id) == ALL
        assert shown(reader, session_id) == ["m20", "m21", "m22", *ALL]
        assert not reader.abandoned(session_id) and reader.refusal(session_id) is None


def test_what_was_lost_is_left_once_it_goes_on_beside_it(agent: PiByHand, session_id: str) -> None:
    """An index that is kept is not extended over it."""
    put(agent, [HEADER, *TEN[:4], TEN[1]])
    with opened(agent) as reader:
        index, before = history(reader, session_id), reader.change_token(session_id)
        assert (index.unlinked, contents(reader, session_id)) == (2, ["m1", "m2"])
    put(agent, [HEADER, *TEN[:4], TEN[1], entry("m11", "m2")])
    with opened(agent) as reader:
        assert reader.extended(session_id, index, before, reader.change_token(session_id)) is None
        assert history(reader, session_id).unlinked == 0 and len(reader.abandoned(session_id)) == 1
