"""Codex' files that were damaged, and forms that are not known: what the client leaves out is shown as not sent any
more, and where it cannot be known what a client makes of a file, it is not written to.
What the client makes of such files is held in `tests/interop/codex/test_damaged.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agents.base import Line
from tests.agents.codex.by_hand import CodexByHand, agent, fresh, meta, session_id
from tests.agents.codex.writing import lines_of, with_meta
from tests.agents.reading import history, sent
from tests.agents.talk import heard, talk
from tests.slow import slow
from viewer.stores.jsonl import lines
from viewer.stores.search.passages import words_of
from viewer.stores.transcript import HistoryEntry

__all__ = ["agent", "session_id"]

WORDS = "the words that are asked for"
ASKED, ANSWER = {"role": "user", "content": WORDS}, {"role": "assistant", "content": WORDS}


def changed(change: Callable[[Line], object]) -> Callable[[bytes], bytes]:
    """A line in which a field is another one."""

    def made(line: bytes) -> bytes:
        value = json.loads(line)
        change(value)
        return json.dumps(value).encode()

    return made


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "NULs behind": lambda line: line + b"\0" * 9,
    "NULs before": lambda line: b"\0" * 9 + line,
    "a mark before": lambda line: lines.MARK + line,
    "another object behind": lambda line: line + b'{"timestamp":"","type":"event_msg","payload":{}}',
    "another object before": lambda line: b'{"timestamp":"","type":"event_msg","payload":{}}' + line,
    "half of it before": lambda line: line[:50] + line,
    "words behind": lambda line: line + b" and so on",
    "no text": lambda line: line.replace(b"that are", b"that\xff\xfe are"),
    "half a character": lambda line: line.replace(b"that are", b"that\\ud83d are"),
    "no time": changed(lambda value: value.pop("timestamp")),
    "a number as time": changed(lambda value: value.update(timestamp=7)),
    "a text as number": changed(lambda value: value.update(ordinal="7")),
    "no role": changed(lambda value: value["payload"].pop("role")),
    "a number as id": changed(lambda value: value["payload"].update(id=7)),
    "a part without text": changed(lambda value: value["payload"]["content"].append({"type": "input_text"})),
    "notes that are none": changed(lambda value: value.update(metadata={"history_sequence": "x"})),
    "nothing around it": lambda line: json.dumps(json.loads(line)["payload"]).encode(),
}


def damaged(agent: CodexByHand, damage: Callable[[bytes], bytes], message: dict[str, Any]) -> None:
    """A session with a damaged line between two turns."""
    agent.write("s", [*talk(3), message, *talk(3)])
    path = agent.path("s")
    stored = path.read_bytes().splitlines()
    at = next(at for at, line in enumerate(stored) if WORDS.encode() in line)
    path.write_bytes(b"\n".join([*stored[:at], damage(stored[at]), *stored[at + 1 :]]) + b"\n")


@pytest.mark.parametrize("message", [ASKED, *slow(ANSWER)], ids=["asked", "answered"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_the_client_leaves_out_is_there_and_not_in_context(
    agent: CodexByHand, session_id: str, damage: Callable[[bytes], bytes], message: dict[str, Any]
) -> None:
    damaged(agent, damage, message)
    reader = fresh(agent)
    assert sent(reader, session_id) == [*heard(talk(3)), *heard(talk(3))]
    index = history(reader, session_id)
    entries = index.stretch(0, index.messages).items
    (lost,) = (each for each in entries if isinstance(each, HistoryEntry) and each.state == "lost")
    assert entries.index(lost) == len(heard(talk(3))), "where it was said"
    (row,) = reader.messages(session_id, [lost.id]).values()
    assert row.role in (message["role"], "user") and row.state == "lost" and "asked for" in words_of(row).text
    assert index.unlinked == 1 and index.in_context == index.messages - 1
    found = reader.searchable(session_id, "")
    assert found is not None and [each.text for each in found.messages if "asked for" in each.text]
    assert [each for each in reader.raw(session_id, before=None, limit=99) if "asked for" in str(each.content)]
    assert reader.abandoned(session_id) == []
    assert reader.refusal(session_id) is None


def test_a_damaged_line_and_the_same_one_whole(agent: CodexByHand, session_id: str) -> None:
    """What is said again in a whole line is in context, and not taken for the other."""
    agent.write("s", [*talk(2), ASKED])
    *before, line = agent.path("s").read_bytes().splitlines()
    agent.path("s").write_bytes(b"\n".join([*before, line + b"\0", line]) + b"\n")
    assert sent(fresh(agent), session_id) == [*heard(talk(2)), ("user", WORDS)]
    payload = json.loads(line)["payload"]
    agent.append("s", "compacted", {"message": "", "replacement_history": [payload]})
    assert sent(fresh(agent), session_id) == [("user", WORDS)]


def test_a_damaged_compaction_is_none(agent: CodexByHand, session_id: str) -> None:
    agent.write("s", talk(3))
    agent.append("s", "compacted", {"message": "", "replacement_history": []})
    stored = agent.path("s").read_bytes()
    agent.path("s").write_bytes(stored[:-1] + b"\0\n")
    agent.say("s", ASKED)
    reader = fresh(agent)
    assert sent(reader, session_id) == [*heard(talk(3)), ("user", WORDS)]
    assert not history(reader, session_id).boundaries


def test_a_line_that_is_too_long_is_in_context_and_not_written_behind(
    agent: CodexByHand, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.write("s", [*talk(3), {"role": "user", "content": f"{WORDS} {'x' * 200_000}"}])
    monkeypatch.setattr(lines, "LONGEST", 100_000)
    reader = fresh(agent)
    *others, (role, content) = sent(reader, session_id)
    assert others == heard(talk(3)) and role == "user" and content.startswith(WORDS)
    assert len(content) < 100_000
    refused = reader.refusal(session_id)
    assert refused is not None and "a line of 200," in refused.message and "shown in part" in refused.message


def test_bytes_that_are_no_text_stop_the_client_in_a_file_without_numbers(agent: CodexByHand, session_id: str) -> None:
    agent.write("s", talk(3))
    for numbered in (True, False):
        stored = lines_of(agent.path("s"))
        for each in stored if not numbered else ():
            del each["ordinal"]
        data = "".join(json.dumps(each) + "\n" for each in stored).encode()
        agent.path("s").write_bytes(data + b'{"timestamp":"\xff","type":"event_msg","payload":{}}\n')
        refused = fresh(agent).refusal(session_id)
        assert ("no text (UTF-8)" in refused.message if refused else False) is not numbered
        agent.path("s").write_bytes(data)


# -- the first line ----------------------------------------------------------------------------------------------------

STARTS: dict[str, Callable[[bytes, bytes], bytes]] = {
    "a mark": lambda first, rest: lines.MARK + first + b"\n" + rest,
    "its end cut": lambda first, rest: first[:-30] + b"\n" + rest,
    "its start cut": lambda first, rest: first[30:] + b"\n" + rest,
    "not there": lambda first, rest: rest,
    "glued": lambda first, rest: first + rest,
    "half of it before": lambda first, rest: first[:40] + first + b"\n" + rest,
    "words before": lambda first, rest: b"what is this\n" + first + b"\n" + rest,
    "NULs behind": lambda first, rest: first + b"\0\0\n" + rest,
    "no version": lambda first, rest: first.replace(b'"cli_version"', b'"other"') + b"\n" + rest,
    "nothing at all": lambda first, rest: b"\n",
}


UNREADABLE = ("its end cut", "its start cut", "not there", "nothing at all")


@pytest.mark.parametrize("how", STARTS)
def test_a_first_line_that_is_damaged(agent: CodexByHand, session_id: str, how: str) -> None:
    agent.write("s", talk(3))
    first, _, rest = agent.path("s").read_bytes().partition(b"\n")
    made = STARTS[how](first, rest)
    agent.path("s").write_bytes(made)
    reader = fresh(agent)
    assert sent(reader, session_id) == (heard(talk(3)) if rest in made else [])
    for refused in (reader.refusal(session_id), reader.refusal(session_id, "branch")):
        assert refused is not None and "is damaged or not there: Codex cannot go on" in refused.message
    found = reader.session(session_id)
    assert found.source == ("codex" if how in UNREADABLE else "cli")
    assert found.cwd == ("/home/user/work" if rest in made else "")
    assert rest not in made or found.first_words.startswith("request0")
    assert reader.listing.sessions([session_id])[session_id].cwd == found.cwd


def test_the_oldest_files_are_called_so(tmp_path: Path, agent: CodexByHand, session_id: str) -> None:
    agent.write("s", talk(1))
    lines = [{"id": session_id, "timestamp": "2025-05-01T10:00:00Z", "instructions": None}]
    lines += [each["payload"] for each in lines_of(agent.path("s")) if each["type"] == "response_item"]
    agent.path("s").write_text("".join(json.dumps(each) + "\n" for each in lines))
    refused = fresh(agent).refusal(session_id)
    assert refused is not None and "before its files had a first line" in refused.message
    assert sent(fresh(agent), session_id) == heard(talk(1))


# -- forms that are not known ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "payload", "named"),
    [
        ("context_reset", {"to": 3}, "a line “context_reset”"),
        ("compacted_v2", {"replacement_history": []}, "a line “compacted_v2”"),
        ("response_item", {"type": "narration", "text": "x"}, "an item “narration”"),
        (
            "response_item",
            {"type": "message", "role": "user", "content": [{"type": "input_video", "url": "x"}]},
            "a part “input_video”",
        ),
        ("compacted", {"message": "", "replacement_history": [{"type": "narration"}]}, "an item “narration”"),
    ],
)
def test_a_form_that_is_not_known_is_not_written_to(
    agent: CodexByHand, session_id: str, kind: str, payload: Line, named: str
) -> None:
    agent.write("s", talk(8))
    agent.append("s", kind, payload)
    agent.say("s", ASKED)
    reader = fresh(agent)
    for refused in (reader.refusal(session_id), reader.refusal(session_id, "branch")):
        assert refused is not None and refused.message.startswith(f"This session has {named}, which is not known here")
    assert sent(reader, session_id)[-1] == ("user", WORDS)


@pytest.mark.parametrize("mode", ["chunked", 7, []])
def test_a_history_mode_that_is_not_known(agent: CodexByHand, session_id: str, mode: object) -> None:
    agent.write("s", talk(8))
    with_meta(agent, "s", {"history_mode": mode})
    refused = fresh(agent).refusal(session_id)
    assert refused is not None and f"the history mode “{mode}”" in refused.message


def test_a_newer_client_alone_is_no_reason(agent: CodexByHand, session_id: str) -> None:
    agent.write("s", talk(8))
    with_meta(agent, "s", {"cli_version": "1.4.0", "a_new_field": {"x": 1}})
    agent.append("s", "event_msg", {"type": "a_new_event"})
    agent.append("s", "turn_context", {**meta(session_id), "turn_id": "t", "new": []})
    assert fresh(agent).refusal(session_id) is None
