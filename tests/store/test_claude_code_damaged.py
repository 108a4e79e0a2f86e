"""Damaged files of Claude Code: what is in context is what the client sends, every message is shown once, and nothing
that the client still has is summarised unread. What the client makes of such files is held in `tests/interop`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude_code.by_hand import ClaudeByHand, agent, reader
from viewer.stores.claude_code.writer import ClaudeWriter
from viewer.stores.errors import StoreUnavailable
from viewer.stores.jsonl import lines as jsonl_lines
from viewer.stores.reader import Reader
from viewer.stores.recorded import Recorded

__all__ = ["agent", "reader"]

AWAY = "00000000-0000-4000-8000-00000000ffff"  # a record that was never written
FAR = 60  # seconds between records, so that the client does not go on by time where a link is lost
Lines = list[dict[str, Any]]


def name(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def line(number: int, parent: int | None, text: str = "", *, step: float = FAR, **more: Any) -> dict[str, Any]:
    """A request where the number is even, a reply where it is odd."""
    role = ("user", "assistant")[number % 2]
    said: Any = text or f"request {number}"
    message: dict[str, Any] = {"role": role, "content": said}
    if role == "assistant":
        said = [{"type": "text", "text": text or f"reply {number}"}]
        message |= {"id": f"msg_{number}", "content": said}
    minutes, seconds = divmod(number * step, 60)
    around = {"uuid": name(number), "parentUuid": None if parent is None else name(parent), "isSidechain": False}
    stamp = f"2026-11-18T10:{int(minutes):02d}:{seconds:06.3f}Z"
    return {"type": role, **around, "timestamp": stamp, "message": message, **more}


def talk(count: int = 8, step: float = FAR) -> Lines:
    return [line(number, number - 1 if number else None, step=step) for number in range(count)]


def compacted(**boundary: Any) -> Lines:
    """Four messages, a boundary, its summary and four more."""
    facts: dict[str, Any] = {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "auto"}}
    return [
        *talk(4),
        {**line(4, None), **facts, **boundary},
        line(6, 4, "the summary", isCompactSummary=True),
        *(line(number, number - 1 if number > 8 else 6) for number in range(8, 12)),
    ]


def write(agent: ClaudeByHand, data: bytes | Sequence[dict[str, Any]]) -> str:
    session_id = agent.id_of("s")
    lines = b"" if isinstance(data, bytes) else b"".join(json.dumps(each).encode() + b"\n" for each in data)
    (agent.project / f"{session_id}.jsonl").write_bytes(data if isinstance(data, bytes) else lines)
    return session_id


def numbers(texts: Sequence[Any]) -> list[Any]:
    return [text.rpartition(" ")[2] for text in texts]


def live(reader: Reader, session_id: str) -> list[str]:
    return numbers([row.content for row in reader.live(session_id)])


def history(reader: Reader, session_id: str) -> list[tuple[str, str]]:
    """The messages of History with their states."""
    index = reader.index(session_id, Recorded(), reader.change_token(session_id))
    items = [item for item in reader.shown(session_id, index.window(limit=1_000).items) if hasattr(item, "entry")]
    return [(numbers([item.row.content])[0], item.entry.state) for item in items]


def all_of(count: int, lost: int = 0) -> list[tuple[str, str]]:
    return [(str(number), "lost" if number < lost else "live") for number in range(count)]


def damaged(change: Callable[[list[bytes]], None], step: float = FAR) -> bytes:
    lines = [json.dumps(each).encode() for each in talk(step=step)]
    change(lines)
    return b"".join(each + b"\n" for each in lines)


def put(at: int, change: Callable[[bytes], bytes]) -> Callable[[list[bytes]], None]:
    def changing(lines: list[bytes]) -> None:
        lines[at] = change(lines[at])

    return changing


def glue(lines: list[bytes]) -> None:
    lines[3:5] = [lines[3] + lines[4]]


# -- a line that the client reads --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        put(3, lambda line: line + b"\0" * 300),
        put(3, lambda line: line + b" \0 \0 "),
        put(3, lambda line: line + line[:90]),
        put(3, lambda line: b"\t " + line + b"\r"),
        put(0, lambda line: b"\xef\xbb\xbf" + line),
        put(3, lambda line: line[:-1] + b', "x": %s}' % (b"9" * 5_000)),
        put(3, lambda line: line[:-1] + b', "x": %s}' % (b"[" * 5_000 + b"]" * 5_000)),
    ],
    ids=["NUL", "NUL and blanks", "half a line behind", "blanks", "byte order mark", "many digits", "deep"],
)
def test_what_stands_around_an_object_cuts_nothing(
    agent: ClaudeByHand, reader: Reader, change: Callable[[list[bytes]], None]
) -> None:
    session_id = write(agent, damaged(change))
    assert live(reader, session_id) == [str(number) for number in range(8)]
    assert history(reader, session_id) == all_of(8)
    assert reader.refusal(session_id) is None


@pytest.mark.parametrize("in_message", [True, False])
def test_a_line_that_is_too_long_is_a_link_and_is_never_summarised_unread(
    agent: ClaudeByHand, reader: Reader, monkeypatch: pytest.MonkeyPatch, in_message: bool
) -> None:
    monkeypatch.setattr(jsonl_lines, "LONGEST", 5_000)
    lines = talk()
    if in_message:
        lines[4]["message"]["content"] = "x" * 40_000
    else:
        lines[4]["toolUseResult"] = {"stdout": "x" * 40_000}
    session_id = write(agent, lines)
    rows = reader.live(session_id)
    assert len(rows) == 8
    index = reader.index(session_id, Recorded(), reader.change_token(session_id))
    assert index.messages == len(index.live) == 8
    refused = reader.refusal(session_id)
    if in_message:
        assert rows[4].content.endswith("[Too long to show: 40,000 bytes]")
        assert refused is not None and "too long to be read here" in refused.message
        assert reader.refusal(session_id, "branch") is None
    else:
        assert rows[4].content == "request 4" and refused is None


# -- a line that it does not read --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "count", "lost"),
    [
        (put(3, lambda line: b"\0\0" + line), 8, 4),
        (put(3, lambda line: b'{"type": "pr-link", "prNu' + line), 8, 4),
        (put(3, lambda line: line.replace(b"reply", b"re\0ply")), 8, 4),
        (glue, 8, 5),
    ],
    ids=["NUL in front", "behind half a line", "NUL within", "two objects"],
)
def test_a_record_that_the_client_does_not_read_is_shown_and_a_summary_refused(
    agent: ClaudeByHand, reader: Reader, change: Callable[[list[bytes]], None], count: int, lost: int
) -> None:
    session_id = write(agent, damaged(change))
    assert live(reader, session_id) == [str(number) for number in range(lost, count)]
    assert history(reader, session_id) == all_of(count, lost=lost)
    assert reader.abandoned(session_id) == []
    refused = reader.refusal(session_id)
    assert refused is not None and f"{lost} of its messages are not reached" in refused.message
    raw = reader.raw(session_id, before=None, limit=100)
    assert len(raw) >= count and "lost" in {row.state for row in raw}


def test_a_record_that_is_gone_cuts_what_stands_before_it(agent: ClaudeByHand, reader: Reader) -> None:
    session_id = write(agent, damaged(put(3, lambda line: line[:120])))
    assert history(reader, session_id) == [
        (str(each), "lost" if each < 3 else "live") for each in (0, 1, 2, 4, 5, 6, 7)
    ]
    before = (agent.project / f"{session_id}.jsonl").read_bytes()
    refused = reader.refusal(session_id)
    assert refused is not None and "3 of its messages are not reached" in refused.message
    with pytest.raises(type(refused), match="3 of its messages"):
        ClaudeWriter(reader.store).apply(session_id, {}, [], mode="in_place", holder="h", now=0.0)
    assert (agent.project / f"{session_id}.jsonl").read_bytes() == before


def test_a_long_name_of_a_record_is_said_in_part(agent: ClaudeByHand, reader: Reader) -> None:
    session_id = write(agent, [*talk(4), line(4, 3) | {"parentUuid": "n" * 5_000}])
    refused = reader.refusal(session_id)
    assert refused is not None and "4 of its messages" in refused.message and len(refused.message) < 400


def test_every_message_is_found_by_search_once(agent: ClaudeByHand, reader: Reader) -> None:
    session_id = write(agent, damaged(glue))
    os.utime(agent.project / f"{session_id}.jsonl", (1, 1))  # long ago: no more lines of a reply are waited for
    found = reader.searchable(session_id, "")
    assert found is not None and numbers([each.text for each in found.messages]) == [str(number) for number in range(8)]


# -- links -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("step", "reached"), [(1, range(8)), (5, range(8)), (5.1, range(4, 8))])
def test_where_a_parent_is_not_there_the_client_goes_on_by_time(
    agent: ClaudeByHand, reader: Reader, step: float, reached: range
) -> None:
    lines = talk(step=step)
    lines[4]["parentUuid"] = AWAY
    session_id = write(agent, lines)
    assert live(reader, session_id) == [str(number) for number in reached]
    assert history(reader, session_id) == all_of(8, lost=reached[0])
    assert (reader.refusal(session_id) is None) == (len(reached) == 8)


def test_a_circle_of_parents_is_sent_as_it_stands(agent: ClaudeByHand, reader: Reader) -> None:
    lines = talk(6)
    lines[0]["parentUuid"] = name(5)
    session_id = write(agent, lines)
    assert live(reader, session_id) == ["0", "1", "2", "3", "4", "5"]
    refused = reader.refusal(session_id)
    assert refused is not None and "each other as parents" in refused.message


@pytest.mark.parametrize(
    ("parent", "said"),
    [
        (name(4), "parents in a circle. 4 of its messages"),
        (name(5), "parents in a circle. 4 of its messages"),
        (AWAY, f"from the record {AWAY}, which is not in its file or cannot be read. 4 of its messages"),
        (7, "from a record without an id, which is not in its file or cannot be read. 4 of its messages"),
    ],
    ids=["itself", "two", "away", "no id"],
)
def test_a_refusal_says_how_the_chain_is_broken(agent: ClaudeByHand, reader: Reader, parent: Any, said: str) -> None:
    lines = talk()
    lines[4]["parentUuid"] = parent
    refused = reader.refusal(write(agent, lines))
    assert refused is not None and said in refused.message and refused.message.isprintable()


@pytest.mark.parametrize("parent", [3, 11, 99])
def test_the_way_up_ends_at_a_boundary_whatever_its_parent_is(agent: ClaudeByHand, reader: Reader, parent: int) -> None:
    session_id = write(agent, compacted(parentUuid=name(parent)))
    assert live(reader, session_id) == ["summary", "8", "9", "10", "11"]
    assert history(reader, session_id) == [
        *((str(number), "under") for number in range(4)),
        *((str(number), "live") for number in range(8, 12)),
    ]
    assert reader.refusal(session_id) is None


def test_one_id_of_all_responses_makes_no_one_response(agent: ClaudeByHand, reader: Reader) -> None:
    lines = talk()
    for each in lines[1::2]:
        each["message"]["id"] = "msg_1"
    session_id = write(agent, lines)
    assert live(reader, session_id) == [str(number) for number in range(8)]
    assert history(reader, session_id) == all_of(8)
    assert reader.refusal(session_id) is None


def test_calls_of_one_id_in_several_places_are_not_compacted(agent: ClaudeByHand, reader: Reader) -> None:
    lines = talk()
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
    for each in (lines[1], lines[5]):
        each["message"] |= {"id": "msg_1", "content": [*each["message"]["content"], call]}
    refused = reader.refusal(write(agent, lines))
    assert refused is not None and "id of one response in several places" in refused.message


def test_a_line_of_a_response_beside_the_way_is_sent_in_its_place(agent: ClaudeByHand, reader: Reader) -> None:
    lines = talk()
    for number, each in enumerate(lines[3:6], 3):
        each |= {"type": "assistant", "message": {"role": "assistant", "id": "msg_1", "content": f"part {number}"}}
    lines[5]["parentUuid"] = name(3)
    session_id = write(agent, lines)
    (reply,) = [row.content for row in reader.live(session_id) if isinstance(row.content, list)]
    assert numbers([block["text"] for block in reply]) == ["3", "4", "5"]
    assert reader.refusal(session_id) is None


def test_a_rewind_is_left_by_going_back_and_what_hangs_on_nothing_is_lost(agent: ClaudeByHand, reader: Reader) -> None:
    lines = [*talk(4), line(6, 1), line(7, 6), line(8, 99), line(9, 8)]
    lines[-2]["parentUuid"] = AWAY
    session_id = write(agent, [*lines, {"type": "last-prompt", "leafUuid": name(7)}])
    assert live(reader, session_id) == ["0", "1", "6", "7"]
    assert history(reader, session_id) == [
        *((number, "live") for number in "0167"),
        *((number, "lost") for number in "89"),
    ]
    (branch,) = reader.abandoned(session_id)
    rows = reader.messages(session_id, list(branch.ids))
    assert numbers([rows[each].content for each in branch.ids]) == ["2", "3"]
    assert reader.refusal(session_id) is None


def test_going_back_to_the_very_start_is_going_back(agent: ClaudeByHand, reader: Reader) -> None:
    session_id = write(agent, [*talk(4), line(6, None), line(7, 6)])
    assert live(reader, session_id) == ["6", "7"]
    (branch,) = reader.abandoned(session_id)
    assert branch.after is None and len(branch.ids) == 4


@pytest.mark.parametrize("missing", [("parentUuid",), ("uuid", "parentUuid")])
@pytest.mark.parametrize("count", [6, 7])
def test_files_without_links_show_all_messages_in_their_order(
    agent: ClaudeByHand, reader: Reader, missing: Sequence[str], count: int
) -> None:
    lines = [{field: value for field, value in each.items() if field not in missing} for each in talk(count)]
    session_id = write(agent, lines)
    assert live(reader, session_id) == [str(count - 1)]
    assert history(reader, session_id) == all_of(count, lost=count - 1)
    assert reader.abandoned(session_id) == []


def test_a_uuid_that_is_repeated_loses_no_message(agent: ClaudeByHand, reader: Reader) -> None:
    lines = talk()
    again = line(8, 7) | {"uuid": name(2)}
    session_id = write(agent, [*lines, lines[5], again])
    assert sorted(text for text, _ in history(reader, session_id)) == [str(number) for number in range(9)]


def test_records_of_a_sub_agent_that_others_hang_on_are_links(agent: ClaudeByHand, reader: Reader) -> None:
    lines = talk()
    lines[4]["isSidechain"] = True
    session_id = write(agent, lines)
    assert live(reader, session_id) == [str(number) for number in range(8)]


def calls(*at: int) -> Lines:
    """A request, a response of three parallel calls and their results; then the lines of two turns that hang here."""
    lines = [line(0, None)]
    for number in (1, 2, 3):
        call = {"type": "tool_use", "id": f"call {number}", "name": "Bash", "input": {}}
        lines.append(line(number, number - 1, type="assistant", message={"id": "m", "content": [call]}))
    for number in (4, 5, 6):
        result = {"type": "tool_result", "tool_use_id": f"call {number - 3}", "content": f"result {number}"}
        lines.append(line(number, number - 3, type="user", message={"role": "user", "content": [result]}))
    for number, parent in zip((8, 10), at, strict=False):
        lines += [line(number, parent), line(number + 1, number)]
    return lines


@pytest.mark.parametrize("marked", [2, 3, 5, 6])
def test_lines_of_parallel_calls_that_are_marked_as_a_sub_agents_are_sent(
    agent: ClaudeByHand, reader: Reader, marked: int
) -> None:
    lines = calls(6)
    lines[marked]["isSidechain"] = True
    session_id = write(agent, lines)
    sent = [row.content for row in reader.live(session_id) if row.role == "tool"]
    assert numbers(sent) == ["4", "5", "6"]


@pytest.mark.parametrize(
    ("named", "at", "sent"),
    [
        (9, (6, 9), [8, 9, 10, 11]),  # what is newer hangs on it
        (9, (6, 0), [8, 9]),  # it does not
        (9, (6, 2), [8, 9]),
        (5, (6,), [8, 9]),  # a result that the way to the newest passes
        (3, (6, 2), [10, 11]),  # a call that it passes
        (4, (4, 1), []),  # the result of the only call on that way
    ],
)
def test_the_end_that_is_named_counts_unless_the_newest_belongs_to_it(
    agent: ClaudeByHand, reader: Reader, named: int, at: tuple[int, ...], sent: list[int]
) -> None:
    session_id = write(agent, [*calls(*at), {"type": "last-prompt", "leafUuid": name(named)}])
    said = json.dumps([row.content for row in reader.live(session_id)])
    assert [number for number in (8, 9, 10, 11) if f" {number}" in said] == sent


@pytest.mark.parametrize(("children", "sent"), [([], [8, 9]), ([12], [8, 9]), ([13], [8, 14])])
def test_behind_kept_messages_an_end_that_the_conversation_went_on_from_counts_no_more(
    agent: ClaudeByHand, reader: Reader, children: list[int], sent: list[int]
) -> None:
    facts = {"preservedMessages": {"anchorUuid": name(6), "uuids": [name(2), name(3)]}}
    lines = compacted(compactMetadata=facts)[:-2]
    lines[6]["parentUuid"] = name(3)
    for number in children:
        note = {"type": "system", "subtype": "turn_duration"} if number == 12 else {}
        lines.append(line(number, 9) | note)
    lines.append(line(14, 8))
    session_id = write(agent, [*lines, {"type": "last-prompt", "leafUuid": name(9)}])
    assert live(reader, session_id)[-2:] == list(map(str, sent))


def note(number: int, parent: int | None) -> dict[str, Any]:
    return line(number, parent) | {"type": "system", "subtype": "turn_duration", "message": None}


def typed(number: int, parent: int) -> dict[str, Any]:
    """What a person typed while a turn ran."""
    prompt = {"type": "queued_command", "prompt": f"typed {number}"}
    return line(number, parent) | {"type": "attachment", "message": None, "attachment": prompt}


BOUNDARY = {"subtype": "compact_boundary", "compactMetadata": {"trigger": "auto"}}
SIDE = {"isSidechain": True}
LATE = {"timestamp": "2026-11-18T11:00:00.000Z"}
BRANCHES = [*talk(4), line(4, 1), line(5, 4)]


@pytest.mark.parametrize(
    ("lines", "sent"),
    [
        ([*talk(4), note(4, None)], "0123"),  # a note without a parent
        ([*talk(4), note(4, None), note(5, 4)], "0123"),
        ([*talk(4), note(4, None) | BOUNDARY], "0123"),  # a boundary whose summary was not written
        ([*talk(4), note(4, 5), note(5, 4)], "0123"),
        ([*talk(4), note(4, None), {"type": "last-prompt", "leafUuid": name(4)}], "0123"),
        ([*BRANCHES, note(6, None)], "0145"),
        ([*BRANCHES, note(6, 3)], "0123"),
        ([*BRANCHES, note(6, 3), note(8, None)], "0145"),
        ([*talk(3), line(3, 2) | LATE, *BRANCHES[4:], note(6, None)], "0123"),  # the last by time
        ([*talk(3), line(3, 2) | LATE, line(4, 1), line(5, 4) | LATE, note(6, None)], "0123"),
        ([each | {"timestamp": "?"} for each in [*BRANCHES, note(6, None)]], "0145"),
        ([line(0, None), line(1, 0) | LATE, *BRANCHES[2:], note(6, None)], "0145"),  # 2 and 4 hang on the last
        ([line(0, None), line(1, 0) | LATE, note(7, 1), line(2, 7), line(3, 2), note(6, None)], "0123"),
        ([*BRANCHES, line(7, 5) | SIDE, note(8, None)], "0123"),
        ([*BRANCHES[:3], line(3, 2) | LATE | SIDE, *BRANCHES[4:], note(6, 3), note(8, None)], "0145"),
        ([*talk(4), typed(4, 3), note(6, None)], "01234"),
    ],
)
def test_a_session_that_ends_with_no_message_ends_at_the_last_by_time(
    agent: ClaudeByHand, reader: Reader, lines: Lines, sent: str
) -> None:
    session_id = write(agent, lines)
    assert live(reader, session_id) == list(sent)


@pytest.mark.parametrize("parent", [None, 2, 3, 4, 6])
def test_behind_kept_messages_a_note_on_one_of_them_is_not_the_end(
    agent: ClaudeByHand, reader: Reader, parent: int | None
) -> None:
    facts = {"preservedMessages": {"anchorUuid": name(6), "uuids": [name(2), name(3)]}}
    lines = [*compacted(compactMetadata=facts, parentUuid=name(3)), note(12, parent)]
    lines[6]["parentUuid"] = name(3)
    session_id = write(agent, lines)
    assert live(reader, session_id) == ["summary", "2", "3", "8", "9", "10", "11"]


def test_behind_kept_messages_also_a_dropped_one_goes_on_from_the_named_end(
    agent: ClaudeByHand, reader: Reader
) -> None:
    facts = {"preservedMessages": {"anchorUuid": name(6), "uuids": [name(2), name(3)]}}
    lines = [*compacted(compactMetadata=facts), line(14, 8), {"type": "last-prompt", "leafUuid": name(9)}]
    lines[6:9] = [line(8, 3), line(9, 8)]
    assert live(reader, write(agent, lines))[-2:] == ["8", "9"]
    assert live(reader, write(agent, [line(16, 9), *lines]))[-2:] == ["8", "14"]


def test_what_was_typed_beside_the_way_is_sent_and_so_the_session_is_not_compacted(
    agent: ClaudeByHand, reader: Reader
) -> None:
    session_id = write(agent, [*talk(4), typed(4, 3)])
    assert reader.refusal(session_id) is None
    session_id = write(agent, [*talk(4), typed(4, 3), note(6, 3)])
    assert "not known" in str(reader.refusal(session_id))


def test_a_damaged_line_that_is_written_later_is_noticed(agent: ClaudeByHand, reader: Reader, tmp_path: Path) -> None:
    session_id = write(agent, talk(4))
    assert len(history(reader, session_id)) == 4
    with (agent.project / f"{session_id}.jsonl").open("ab") as file:
        file.write(b"half a line" + json.dumps(line(4, 3)).encode() + b"\n")
    assert history(reader, session_id) == [*all_of(4), ("4", "lost")]


def test_a_file_of_more_than_two_gigabytes_is_listed_and_not_read(agent: ClaudeByHand, reader: Reader) -> None:
    session_id = write(agent, talk(4))
    assert len(reader.live(session_id)) == 4
    os.truncate(
        agent.project / f"{session_id}.jsonl", 2_000_000_001
    )  # its blocks behind the messages are never written
    with pytest.raises(StoreUnavailable, match="it has 2,000 MB: .* no more than 2,000 MB are read"):
        reader.live(session_id)
    assert reader.session(session_id).first_words == "request 0"


def test_words_that_only_begin_like_a_summary_are_a_persons(agent: ClaudeByHand, reader: Reader) -> None:
    lines = talk(4)
    lines[2] = line(2, 1, "This session is being continued from a previous conversation? Since when?")
    session_id = write(agent, lines)
    index = reader.index(session_id, Recorded(), reader.change_token(session_id))
    assert len(index.prompts) == 2
