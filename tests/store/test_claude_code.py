"""Claude Code's files: what lines say, which records a resume sends, and files that grow, break and are replaced."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agents.claude_code.by_hand import ClaudeByHand, agent, reader, record
from tests.agents.talk import talk
from viewer.stores import conversation
from viewer.stores.base import Store
from viewer.stores.claude_code import paths
from viewer.stores.claude_code.messages import SessionMessages, conversation_of, extended
from viewer.stores.claude_code.records import Record, record_of
from viewer.stores.errors import CompactionConflict, NotFound
from viewer.stores.jsonl import lines as jsonl_lines
from viewer.stores.jsonl.append import appending
from viewer.stores.jsonl.files import FileState, RecordCache, state_of
from viewer.stores.jsonl.lines import parts_of
from viewer.stores.message import message_of
from viewer.stores.reader import Reader
from viewer.stores.recorded import Recorded
from viewer.stores.registry import open_store, version_of

__all__ = ["agent", "reader"]

SHARED = Path(__file__).parents[3] / "shared" / "data" / "claude-code"


@pytest.fixture
def session_id(agent: ClaudeByHand) -> str:
    """The id of the session that the agent calls "s"."""
    return agent.id_of("s")


@pytest.fixture
def path(agent: ClaudeByHand, session_id: str) -> Path:
    """Its file."""
    return agent.project / f"{session_id}.jsonl"


def index_of(reader: Reader, session_id: str) -> Any:
    return reader.index(session_id, Recorded(), reader.change_token(session_id))


# -- files -------------------------------------------------------------------------------------------------------------


def test_only_files_named_by_a_uuid_are_sessions(agent: ClaudeByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(1))
    for name in ("notes.jsonl", "11111111-2222-3333-4444-555555555555.json", "x.jsonl.bak"):
        (agent.project / name).write_text("{}")
    assert [each.id for each in paths.all_files(reader.store)] == [session_id]
    for wrong in ("notes", "../notes", f"{session_id}/../../x", f"{session_id}/agent-..%2F", ""):
        with pytest.raises(NotFound):
            reader.session(wrong)


def test_a_line_that_is_not_finished_is_read_once_it_is(
    agent: ClaudeByHand, reader: Reader, session_id: str, path: Path
) -> None:
    agent.write("s", talk(1))
    before = len(reader.live(session_id))
    agent.say("s", {"role": "user", "content": "whole"})
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    assert len(reader.live(session_id)) == before
    path.write_bytes(whole)
    assert [row.content for row in reader.live(session_id)][-1] == "whole"


def test_bad_lines_are_rows_and_no_messages(
    agent: ClaudeByHand, reader: Reader, session_id: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl_lines, "LONGEST", 5_000)
    agent.write("s", [*talk(1), {"role": "user", "content": "x" * 10_000}])
    with path.open("ab") as file:
        file.write(b'[1]\n{"type": \n\xff\xfe\x00\n\n{"type": "new-thing", "a": {"b": 1}}\n')
    live = reader.live(session_id)
    assert len(live) == len(talk(1)) + 1 and live[-1].content.endswith("\n[Too long to show: 10,000 bytes]")
    raw = reader.raw(session_id, before=None, limit=100)
    assert len(raw) == 1 + len(talk(1)) + 1 + 4
    assert raw[-1].role == "new-thing" and raw[-1].extra == {"a": {"b": 1}}
    assert [row.role for row in raw[-5:-1]] == ["user", "", "", ""] and {row.state for row in raw[-4:]} == {"out"}


def test_a_file_that_is_another_is_read_anew(agent: ClaudeByHand, reader: Reader, session_id: str, path: Path) -> None:
    agent.write("s", talk(2))
    first = reader.live(session_id)
    half = path.read_text().splitlines(keepends=True)[: 1 + len(talk(1))]
    path.write_text("".join(half))
    assert [row.content for row in reader.live(session_id)] == [row.content for row in first[: len(talk(1))]]
    agent.say("s", {"role": "user", "content": "something else"})
    assert reader.live(session_id)[-1].content == "something else"
    path.unlink()
    with pytest.raises(NotFound):
        reader.live(session_id)


def test_two_files_are_held_however_long_they_are(tmp_path: Path) -> None:
    """Or a worker that takes turns with stores would read a long one anew at each turn."""
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        path.write_text('{"type": "tag"}\n' * 20)
    cache = RecordCache(record_of, held=10)
    read = [cache.read(path) for path in paths[:2]]
    assert [cache.read(path) for path in paths[:2]] == read
    assert all(cache.read(path) is known for path, known in zip(paths[:2], read, strict=True))
    cache.read(paths[2])
    assert cache.read(paths[1]) is read[1] and cache.read(paths[0]) is not read[0]


def test_nothing_is_appended_to_a_file_that_somebody_wrote_meanwhile(agent: ClaudeByHand, path: Path) -> None:
    agent.write("s", talk(1))
    with appending(path) as opened:
        seen = opened.state
        agent.say("s", {"role": "user", "content": "first"})
        before = path.read_bytes()
        with pytest.raises(CompactionConflict):
            opened.append(b"{}\n", seen)
    assert path.read_bytes() == before
    replaced = path.with_suffix(".new")
    replaced.write_bytes(before)
    with appending(path) as opened:
        seen = opened.state
        os.replace(replaced, path)
        with pytest.raises(CompactionConflict):
            opened.append(b"{}\n", seen)
    assert path.read_bytes() == before


def test_a_last_line_without_its_end_is_ended_first_and_times_stay(agent: ClaudeByHand, path: Path) -> None:
    agent.write("s", talk(1))
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    os.utime(path, ns=(1, 5_000_000_000))
    size = path.stat().st_size
    with appending(path) as opened:
        assert opened.append(b"{}\n", opened.state) == size + 1
    assert path.read_bytes().endswith(b"}\n{}\n") and path.stat().st_mtime_ns == 5_000_001_000


def test_spilled_output_is_read_from_the_sessions_own_directory_alone(
    agent: ClaudeByHand, reader: Reader, session_id: str, tmp_path: Path
) -> None:
    agent.write("s", talk(1))
    directory, outside = agent.project / session_id / "tool-results", tmp_path / "secret.txt"
    directory.mkdir(parents=True)
    (directory / "own.txt").write_text("all of it")
    outside.write_text("a secret")
    (directory / "linked.txt").symlink_to(outside)
    stubs = [
        f"<persisted-output>\nOutput too large (1MB). Full output saved to: {name}\n\nPreview:\n</persisted-output>"
        for name in (directory / "own.txt", outside, directory / "linked.txt")
    ]
    for stub in stubs:
        agent.say("s", {"role": "tool", "tool_call_id": "call_0_0", "content": stub})
    items = reader.shown(session_id, index_of(reader, session_id).window().items)
    assert [vars_of(each) for each in items][-3:] == ["all of it", *stubs[1:]]
    assert [row.content for row in reader.live(session_id)][-3:] == stubs


def vars_of(item: Any) -> Any:
    return item.content


# -- conversations -----------------------------------------------------------------------------------------------------


def records_of(values: list[dict[str, Any]]) -> list[Record]:
    found, offset = [], 0
    for place, value in enumerate(values):
        data = json.dumps(value).encode()
        (line,) = parts_of(data, offset)
        found.append(record_of(line, place))
        offset += len(data) + 1
    return found


def told(found: SessionMessages) -> Any:
    return (
        [each.uuid for each in found.thread], found.live, found.states, found.end, found.units, found.compactions,
        found.further_lines,
    )  # fmt: skip


KINDS = ("user", "assistant", "assistant", "system", "tool", "last-prompt", "boundary", "summary", "again")


@st.composite
def sessions(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Records that hang on the one before, on any other, on none; responses of several lines; ends of the thread."""
    values: list[dict[str, Any]] = []
    uuids: list[str] = []
    for number in range(draw(st.integers(1, 14))):
        kind, hangs = draw(st.sampled_from(KINDS)), draw(st.sampled_from(["end", "end", "end", "any", "none"]))
        if kind == "last-prompt":
            values.append({"type": kind, "leafUuid": draw(st.sampled_from([*uuids, "?"]))})
            continue
        parent = None if hangs == "none" or not uuids else uuids[-1] if hangs == "end" else draw(st.sampled_from(uuids))
        uuid = draw(st.sampled_from(uuids)) if kind == "again" and uuids else f"u{number}"
        kept = draw(st.lists(st.sampled_from([*uuids, "?"]), max_size=4, unique=True)) if kind == "boundary" else []
        group = f"m{draw(st.integers(0, 3))}" if kind == "assistant" else ""
        side = kind in ("assistant", "tool") and draw(st.sampled_from([False, False, False, True]))
        values.append(line_of(kind, uuid, group, kept) | {"uuid": uuid, "parentUuid": parent, "isSidechain": side})
        uuids = list(dict.fromkeys([*uuids, uuid]))
    return values


def line_of(kind: str, uuid: str, group: str, kept: list[str]) -> dict[str, Any]:
    if kind == "assistant":
        message: dict[str, Any] = {"id": group, "role": "assistant", "content": [{"type": "text", "text": uuid}]}
        return {"type": "assistant", "message": message}
    if kind == "boundary":
        facts = {"preservedMessages": {"anchorUuid": uuid, "uuids": kept}} if kept else {}
        return {"type": "system", "subtype": "compact_boundary", "compactMetadata": facts}
    if kind == "system":
        return {"type": "system", "subtype": "turn_duration"}
    content: Any = [{"type": "tool_result", "tool_use_id": "t", "content": "r"}] if kind == "tool" else f"said {uuid}"
    return {"type": "user", "message": {"role": "user", "content": content}, "isCompactSummary": kind == "summary"}


@given(sessions(), st.data())
def test_what_grew_is_what_would_be_made_anew(values: list[dict[str, Any]], data: st.DataObject) -> None:
    records = records_of(values)
    cut = data.draw(st.integers(0, len(records)))
    grown = extended(conversation_of(records[:cut]), records[cut:], sidechain=False)
    if grown is not None:
        assert told(grown) == told(conversation_of(records))


def test_a_summary_that_comes_after_its_boundary_takes_the_place_of_what_stood_for_it() -> None:
    around: list[dict[str, Any]] = [
        {"uuid": "a", "parentUuid": None},
        {"uuid": "b", "parentUuid": None},
        {"uuid": "c", "parentUuid": "b"},
    ]
    said = [line_of(kind, kind, "", []) for kind in ("user", "boundary", "summary")]
    records = records_of([one | other for one, other in zip(said, around, strict=True)])
    early = conversation_of(records[:2])
    assert [unit.role for unit in early.units.values()] == ["user", "system"]
    found = extended(early, records[2:], sidechain=False) or conversation_of(records)
    assert [unit.role for unit in found.units.values()] == ["user", "user"]
    assert [each.handoff for each in found.compactions] == found.live == [records[2].offset]


@given(sessions())
def test_no_record_is_sent_twice_and_no_line_stops_the_reading(values: list[dict[str, Any]]) -> None:
    found = conversation_of(records_of(values))
    assert len({each.uuid for each in found.thread}) == len(found.thread)
    assert len(set(found.live)) == len(found.live)


def test_an_appended_message_extends_the_index(agent: ClaudeByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(3))
    token, index = reader.change_token(session_id), index_of(reader, session_id)
    agent.say("s", {"role": "user", "content": "one more"})
    longer = reader.extended(session_id, index, token, reader.change_token(session_id))
    assert longer is not None and list(longer.ids) == list(index_of(reader, session_id).ids)
    agent.take_back("s")
    assert reader.extended(session_id, longer, token, reader.change_token(session_id)) is None


def test_whether_a_session_was_written_takes_a_look_at_its_own_file_alone(
    agent: ClaudeByHand, reader: Reader, session_id: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("s", "another", "third"):
        agent.write(name, talk(1))
    looks: list[str] = []

    def seen(path: str | Path) -> FileState:
        looks.append(str(path))
        return state_of(path)

    monkeypatch.setattr(paths, "state_of", seen)
    before = version_of(reader.store, session_id)
    assert looks == [str(path)]
    agent.say("another", {"role": "user", "content": "one more"})
    assert version_of(reader.store, session_id) == before
    agent.say("s", {"role": "user", "content": "one more"})
    assert version_of(reader.store, session_id) != before
    path.unlink()
    assert version_of(reader.store, session_id) == ""


def test_lines_of_one_response_are_one_message(agent: ClaudeByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(1)[:1])
    line = record(talk(1)[1])
    text, *calls = line["message"]["content"]
    thinking = {"type": "thinking", "thinking": "Let me see.", "signature": "x" * 50}
    for block in (thinking, text, *calls):
        agent.hang("s", agent.lines("s")[-1]["uuid"], line | {"message": line["message"] | {"content": [block]}})
    (reply,) = [row for row in reader.live(session_id) if row.role == "assistant"]
    assert (reply.content, reply.reasoning, len(reply.tool_calls)) == ("looking0", "Let me see.", 2)
    index = index_of(reader, session_id)
    offsets = [each.id for each in reader.raw(session_id, before=None, limit=10)][-4:]
    assert [index.message_of(offset) for offset in offsets] == [reply.id] * 4 and index.messages == 2


def test_what_the_client_adds_is_no_prompt(agent: ClaudeByHand, reader: Reader, session_id: str) -> None:
    agent.write("s", talk(1))
    for text in ("<task-notification>done</task-notification>", "[Request interrupted by user]"):
        agent.say("s", {"role": "user", "content": text})
    assert len(index_of(reader, session_id).prompts) == 1
    said = [message_of(row) for row in reader.live(session_id)]
    assert [message.get("display_kind", "") for message in said][-2:] == ["added by Claude Code"] * 2
    assert reader.session(session_id).first_words.startswith("request0")


def test_every_message_is_offered_to_an_index_once(
    agent: ClaudeByHand, reader: Reader, session_id: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "PORTION", 1_500)
    agent.hang("s", None, record({"role": "user", "content": "the very first line"}))
    for message in talk(3):
        agent.say("s", message)
    os.utime(path, (1, 1))  # long ago: nothing is waited for
    found, cursor = [], ""
    while True:
        portion = reader.searchable(session_id, cursor)
        assert portion is not None
        found += [message.id for message in portion.messages]
        cursor = portion.cursor
        if not portion.more:
            break
    assert found == [row.id for row in reader.live(session_id)] and found[0] == 0
    agent.say("s", {"role": "user", "content": "late"})
    late = reader.searchable(session_id, cursor)
    assert late is not None and [message.text for message in late.messages] == ["late"]
    path.write_bytes(path.read_bytes()[:200])
    assert reader.searchable(session_id, cursor) is None


# -- real sessions -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not SHARED.is_dir(), reason="no sample data beside the checkout (CONTRIBUTING.md)")
def test_every_message_of_real_sessions_is_shown_once(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "p"
    project.mkdir(parents=True)
    for path in SHARED.glob("*.jsonl"):
        name = path.stem if len(path.stem) == 36 else str(uuid4())
        (project / f"{name}.jsonl").write_bytes(path.read_bytes())
        if (SHARED / path.stem).is_dir():
            (project / path.stem).symlink_to(SHARED / path.stem)
    with open_store(Store("real", f"claude-code://{tmp_path}", "configured")) as reader:
        ids = [each.id for each in paths.all_files(reader.store)]
        assert len([each for each in ids if "/" not in each]) == 5 and len([each for each in ids if "/" in each]) == 4
        for session_id in ids:
            assert_each_message_once(reader, session_id)


def assert_each_message_once(reader: Reader, session_id: str) -> None:
    index = index_of(reader, session_id)
    window = index.window(limit=10**6)
    shown = reader.shown(session_id, window.items)
    assert len(shown) == len(window.items)
    rows = reader.raw(session_id, before=None, limit=10**6)
    lines = {row.extra.get("message.id") or row.id for row in rows if row.role in ("user", "assistant")}
    queued = [item for item in shown if item.row.extra.get("queued")]  # no line of a message has these words
    assert index.messages + len(index.boundaries) == len(lines) + len(queued)
