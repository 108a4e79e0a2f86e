"""Tool output that is shortened in pi's files: the note and the edits, what is sent then, and what takes them back."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compaction.handoff import PRUNE_SENTENCE, PRUNED
from tests.agents.pi.by_hand import PiByHand, said
from tests.agents.reading import history, opened, sent, store_of
from tests.agents.talk import heard, talk
from tests.agents.writing import undo
from viewer.runs import branching, candidate, planning
from viewer.runs.planning import Options
from viewer.stores.changes import Commit
from viewer.stores.errors import CompactionConflict, NotUndoable, StoreReadOnly
from viewer.stores.lock_owners import new_holder
from viewer.stores.registry import writer_of
from viewer.stores.trees import commit as commits

LONG = "A line of a log, which says that all is well. " * 200
OPTIONS = Options(strategy="prune")


@pytest.fixture
def agent(tmp_path: Path) -> PiByHand:
    """A session with long tool output, in a directory that pi 0.87 was used in last."""
    made = PiByHand(tmp_path / "pi")
    made.write("s", [])
    for number in range(8):
        turn = talk(1, of=f" {number}")
        for message in turn:
            if message["role"] == "tool":
                message = {**message, "content": f"{number} {LONG}"}
            made.say("s", message)
    version(made, "0.87.1")
    return made


def version(agent: PiByHand, number: str) -> None:
    (agent.root / "settings.json").write_text(json.dumps({"lastChangelogVersion": number, "theme": "dark"}))


def shortened(agent: PiByHand, meanwhile: Callable[[], object] = str) -> Commit:
    """Old tool output is shortened; `meanwhile` happens between the plan and the commit."""
    session = agent.id_of("s")
    with opened(agent) as reader:
        basis = planning.read_basis(reader, session)
    plan = planning.plan_of(basis, OPTIONS, "")
    result = planning.strategy_of("prune").apply(plan, "")
    edits = candidate.edits_of(basis, result)
    holder = new_holder()
    meanwhile()
    return writer_of(store_of(agent)).apply(
        session, basis.token, edits, mode="in_place", holder=holder, now=time.time()
    )


def redo(agent: PiByHand, commit: Commit) -> None:
    writer_of(store_of(agent)).redo(agent.id_of("s"), commit.receipt, holder=new_holder())


def now_sent(agent: PiByHand) -> list[tuple[str, Any]]:
    with opened(agent) as reader:
        return sent(reader, agent.id_of("s"))


def age(agent: PiByHand) -> None:
    then = time.time() - 60
    os.utime(agent.path("s"), (then, then))


def test_the_lines(agent: PiByHand) -> None:
    before, stored = agent.entries("s"), agent.path("s").read_bytes()
    commit = shortened(agent)
    assert agent.path("s").read_bytes().startswith(stored)
    note, *edits = agent.entries("s")[len(before) :]
    assert (note["type"], note["customType"], note["parentId"]) == (
        "custom_message",
        "palimpsest.pruned",
        before[-1]["id"],
    )
    assert PRUNE_SENTENCE in note["content"] and note["display"] is True
    assert {each["type"] for each in edits} == {"context_edit"} and len(edits) > 6
    assert [each["parentId"] for each in edits] == [each["id"] for each in (note, *edits[:-1])]
    results = {each["id"] for each in before if each["type"] == "message" and each["message"]["role"] == "toolResult"}
    assert {each["targetId"] for each in edits} < results
    assert all(each["replacement"]["content"][0]["text"].startswith(PRUNED) for each in edits)
    assert commit.receipt["entry"] == note["id"]


def test_what_is_sent_and_what_history_shows(agent: PiByHand) -> None:
    before = now_sent(agent)
    commit = shortened(agent)
    after = now_sent(agent)
    *same, (role, note) = after
    assert role == "user" and PRUNE_SENTENCE in note and len(same) == len(before)
    changed = [(old, new) for old, new in zip(before, same, strict=True) if old != new]
    assert (
        all(old[0] == new[0] == "tool" and len(new[1]) < len(old[1]) / 10 for old, new in changed) and len(changed) > 6
    )
    assert same[-4:] == before[-4:], "recent output stays"
    with opened(agent) as reader:
        index = history(reader, agent.id_of("s"))
        (cut,) = index.boundaries
        assert cut.shortened == len(changed) and cut.handoff_id == commit.handoff_id
        assert index.messages == len(before)
        items = index.stretch(0, index.messages).items
        assert getattr(items[-1], "handoff_id", None) == commit.handoff_id, "the note stands behind what it is about"
        shown = reader.shown(agent.id_of("s"), items)
        assert [getattr(each, "content", None) for each in shown[:-1]] == [text for _, text in before]
        assert PRUNE_SENTENCE in shown[-1].summary  # type: ignore[union-attr]
        assert sum(entry.entry.shortened for entry in shown[:-1]) == len(changed)  # type: ignore[union-attr]


def test_undo_and_redo_move_no_byte(agent: PiByHand) -> None:
    before = now_sent(agent)
    commit = shortened(agent)
    after, size = now_sent(agent), agent.path("s").stat().st_size
    agent.say("s", {"role": "user", "content": "And now?"})
    age(agent)
    undo(agent, commit)
    assert now_sent(agent) == [*before, ("user", "And now?")]
    assert {each["type"] for each in agent.entries("s")} & {"context_edit", "custom_message"} == set()
    with opened(agent) as reader:
        assert reader.commit_state(agent.id_of("s"), commit.receipt).state == "undone"
        assert not history(reader, agent.id_of("s")).boundaries
        assert reader.commit_state(agent.id_of("s"), commit.receipt).redo_refusal == ""
    age(agent)
    redo(agent, commit)
    assert now_sent(agent) == [*after, ("user", "And now?")]
    assert agent.path("s").read_bytes()[:size].count(b"\n") == len(agent.entries("s")) - 1
    age(agent)
    undo(agent, commit)
    assert now_sent(agent) == [*before, ("user", "And now?")]


def test_what_another_process_takes_back_is_seen_in_a_file_that_grew(agent: PiByHand) -> None:
    """Lines that were read before are not read again, but for those of which the beginning may be another one."""
    before = now_sent(agent)
    commit = shortened(agent)
    later = [{"role": "user", "content": LONG}] * 10
    for message in later:
        agent.say("s", message)
    assert now_sent(agent)[: len(before)] != before
    with opened(agent) as reader:
        what = reader.undo_plan(agent.id_of("s"), commit.receipt).what
    with agent.path("s").open("r+b") as file:
        for at, data in what.inert.items():
            file.seek(at)
            file.write(data)
    agent.say("s", {"role": "user", "content": "And now?"})
    assert now_sent(agent) == [*before, *heard(later), ("user", "And now?")]


def test_a_second_time_takes_the_first_note_away(agent: PiByHand) -> None:
    before = now_sent(agent)
    first = shortened(agent)
    once = now_sent(agent)
    for number in range(8):
        for message in talk(1, of=f" later {number}"):
            agent.say("s", {**message, "content": f"later {LONG}"} if message["role"] == "tool" else message)
    long = now_sent(agent)
    second = shortened(agent)
    notes = [text for role, text in now_sent(agent) if PRUNE_SENTENCE in str(text)]
    assert len(notes) == 1 and len(now_sent(agent)) == len(long)
    with opened(agent) as reader:
        assert [cut.handoff_id for cut in history(reader, agent.id_of("s")).boundaries] == [
            first.handoff_id,
            second.handoff_id,
        ]
        assert "undo that one first" in reader.undo_plan(agent.id_of("s"), first.receipt).refusal
    age(agent)
    undo(agent, second)
    assert now_sent(agent) == long and long[: len(once)] == once
    age(agent)
    undo(agent, first)
    assert now_sent(agent)[: len(before)] == before


def test_arguments_that_are_long(agent: PiByHand) -> None:
    call = {"type": "toolCall", "id": "w", "name": "write", "arguments": {"path": "a.txt", "content": LONG}}
    agent.append("s", "message", message=said({"role": "user", "content": "Write it."}))
    reply = said({"role": "assistant", "content": "I write it."})
    thought = {"type": "thinking", "thinking": "So be it.", "thinkingSignature": "x"}
    reply["content"] = [thought, *reply["content"], call]
    entry = agent.append("s", "message", message=reply)
    result = said({"role": "tool", "content": "done", "tool_call_id": "w"})
    agent.append("s", "message", message=result)
    for number in range(6):
        for message in talk(1, of=f" then {number}"):
            agent.say("s", message)
    shortened(agent)
    (edit,) = [each for each in agent.entries("s") if each.get("targetId") == entry["id"]]
    *others, made = edit["replacement"]["content"]
    assert others == reply["content"][:-1] and made["arguments"]["path"] == "a.txt"
    assert len(made["arguments"]["content"]) < len(LONG) / 10 and {**made, "arguments": 0} == {**call, "arguments": 0}


def test_of_a_message_with_an_edit_that_is_shortened(agent: PiByHand) -> None:
    """The newest edit counts."""
    entries = agent.entries("s")
    target = next(each for each in entries if each["type"] == "message" and each["message"]["role"] == "toolResult")
    agent.append("s", "context_edit", targetId=target["id"], replacement={"content": f"other words {LONG}"})
    shortened(agent)
    *_, edit = [each for each in agent.entries("s") if each.get("targetId") == target["id"]]
    assert "other words" in edit["replacement"]["content"][0]["text"]
    texts = [text for role, text in now_sent(agent) if role == "tool"]
    assert texts[0] == edit["replacement"]["content"][0]["text"]


@pytest.mark.django_db
def test_a_branch_has_the_edits_and_one_of_before_has_none(agent: PiByHand) -> None:
    before = now_sent(agent)
    commit = shortened(agent)
    made = branching.branch(store_of(agent), agent.id_of("s"), None)
    old = branching.branch(store_of(agent), agent.id_of("s"), commit.handoff_id)
    with opened(agent) as reader:
        assert sent(reader, made) == now_sent(agent) and len(history(reader, made).boundaries) == 1
        assert sent(reader, old) == before and not history(reader, old).boundaries


def test_edits_are_nothing_that_was_said_since(agent: PiByHand) -> None:
    commit = shortened(agent)
    with opened(agent) as reader:
        assert reader.next_message(agent.id_of("s"), commit.handoff_id) is None
    agent.say("s", {"role": "user", "content": "And now?"})
    with opened(agent) as reader:
        later = reader.next_message(agent.id_of("s"), commit.handoff_id)
        assert later is not None and later.content == "And now?"


def test_a_summary_on_top(agent: PiByHand) -> None:
    """The client's newest compaction counts, and an edit before it of what it keeps."""
    shortened(agent)
    keep = [each for each in agent.entries("s") if each["type"] == "message"][-10]
    agent.append("s", "compaction", summary="All was well.", firstKeptEntryId=keep["id"], tokensBefore=9)
    found = now_sent(agent)
    assert "All was well." in found[0][1]
    with opened(agent) as reader:
        first, second = history(reader, agent.id_of("s")).boundaries
        assert first.shortened and not second.shortened


def test_a_killed_writer_leaves_a_note_and_fewer_edits(agent: PiByHand) -> None:
    """What it wrote counts as far as it is there, and is taken back whole."""
    before, stored = now_sent(agent), agent.path("s").stat().st_size
    commit = shortened(agent)
    data = agent.path("s").read_bytes()
    written = data[stored:].split(b"\n")
    torn = [*written[:3], written[3][:20].ljust(len(written[3])), *(b" " * len(each) for each in written[4:])]
    agent.path("s").write_bytes(data[:stored] + b"\n".join(torn))
    age(agent)
    assert sum(old != new for old, new in zip(before, now_sent(agent), strict=False)) == 2
    with opened(agent) as reader:
        assert reader.commit_state(agent.id_of("s"), commit.receipt).state == "in effect"
    undo(agent, commit)
    assert now_sent(agent) == before


@pytest.mark.parametrize(
    "content", [None, 7, "<script>alert(1)</script>", [{"type": "text", "text": "\x00"}], {"a": []}]
)
def test_a_note_that_says_something_else(agent: PiByHand, content: Any) -> None:
    """Anybody may write a line with our mark: it is shown as it is, and what cannot be is left out."""
    shortened(agent)
    lines = agent.path("s").read_text().splitlines()
    at = next(at for at, line in enumerate(lines) if '"palimpsest.pruned"' in line)
    lines[at] = json.dumps(json.loads(lines[at]) | {"content": content})
    agent.path("s").write_text("\n".join(lines) + "\n")
    with opened(agent) as reader:
        index = history(reader, agent.id_of("s"))
        assert len(index.boundaries) == 1
        assert len(reader.shown(agent.id_of("s"), index.stretch(0, index.messages).items)) > 1
        reader.live(agent.id_of("s"))


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["0.73.1", "0.86.9", "", "newest", "0.87x"])
def test_an_older_pi_would_go_on_without_it(agent: PiByHand, number: str) -> None:
    version(agent, number)
    with pytest.raises(StoreReadOnly, match=r"from version 0\.87 on"):
        shortened(agent)


@pytest.mark.parametrize("number", ["0.87.0", "0.88.0-beta.1", "1.0.0"])
def test_a_newer_one_goes_on_from_it(agent: PiByHand, number: str) -> None:
    version(agent, number)
    assert shortened(agent)


def test_edits_of_the_client_tell_as_well(agent: PiByHand) -> None:
    version(agent, "0.73.1")
    target = next(each for each in agent.entries("s") if each["type"] == "message")
    agent.append("s", "context_edit", targetId=target["id"], replacement=None)
    assert shortened(agent)


def test_what_changed_since_it_was_planned(agent: PiByHand) -> None:
    with pytest.raises(CompactionConflict, match="were changed or taken back"):
        shortened(agent, meanwhile=lambda: agent.overwrite("s"))
    assert not any(each["type"] == "context_edit" for each in agent.entries("s"))


def test_what_reads_back_otherwise_is_taken_off(agent: PiByHand, monkeypatch: pytest.MonkeyPatch) -> None:
    before = now_sent(agent)
    monkeypatch.setattr(commits.NewCompaction, "live", lambda self, found, made: [])
    with pytest.raises(CompactionConflict, match="did not read back"):
        shortened(agent)
    assert now_sent(agent) == before


def test_the_note_is_the_last_that_an_undo_writes_and_the_first_that_is_put_back(agent: PiByHand) -> None:
    """As long as it counts, all of it can be taken back by somebody else."""
    commit = shortened(agent)
    with opened(agent) as reader:
        what = reader.undo_plan(agent.id_of("s"), commit.receipt).what
    assert len(what.types) > 2 and [*what.types.values()][-1] == b'"custom_message"'
    assert [*what.inert] == [*what.types] and [*what.active.items()] == [*what.types.items()][::-1]


def test_a_line_that_somebody_wrote_anew(agent: PiByHand) -> None:
    commit = shortened(agent)
    data = agent.path("s").read_text().replace('{"type":"context_edit"', '{"n":1,"type":"context_edit"', 1)
    agent.path("s").write_text(data)
    age(agent)
    with pytest.raises(NotUndoable, match="somebody changed the file"):
        undo(agent, commit)
    with opened(agent) as reader:
        assert history(reader, agent.id_of("s")).boundaries
