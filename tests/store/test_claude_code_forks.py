"""Copies of a session that Claude Code makes: where they came from, and that what they repeat is spent once."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import pytest

from tests.agents.claude_code.recorded import RECORDED
from viewer.stores.base import Store
from viewer.stores.claude_code import forks
from viewer.stores.claude_code.records import RECORDS, SessionRecords
from viewer.stores.registry import open_store

ORIGIN, FORK, OF_COMPACTED = (
    "c0ddd174-4d57-4147-9f36-ed467551fe0c", "0838f399-5efa-4974-9f64-3b70bd3b7c71",
    "2505a7dd-225c-4a3e-a273-b05ce89244f9",
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "projects" / "-srv").mkdir(parents=True)
    return tmp_path


def branched_from(home: Path) -> dict[str, str]:
    with open_store(Store("s", f"claude-code://{home}", "configured")) as reader:
        ids = [each.id for each in reader.listing.all()]  # type: ignore[attr-defined]
        listed = {each: reader.listing.sessions([each])[each].branched_from for each in ids}
        assert listed == {each: reader.session(each).branched_from for each in ids}
        for each in ids:
            born = {child.id for child in reader.children([each])}
            assert born <= {child for child in ids if listed[child] == each}
        return listed


def test_forks_of_the_client_name_where_they_came_from(home: Path) -> None:
    for name in ("origin", "compacted-fork", "fork-of-compacted"):
        (file,) = (RECORDED / f"forks.{name}" / "projects").glob("*/*.jsonl")
        shutil.copy2(file, home / "projects" / "-srv")
    assert branched_from(home) == {ORIGIN: "", FORK: ORIGIN, OF_COMPACTED: FORK}


def line(session: str, number: int, parent: int | None, *, said: str = "") -> dict[str, Any]:
    uuid = str(uuid5(NAMESPACE_OID, f"{number}"))
    role = "assistant" if said else "user"
    message: dict[str, Any] = {"role": role, "content": said or "a request"}
    if said:
        usage = {"input_tokens": 1_000, "output_tokens": 1_000}
        message |= {"id": f"msg_{number}", "model": "claude-opus-4-6", "usage": usage}
    up = None if parent is None else str(uuid5(NAMESPACE_OID, f"{parent}"))
    return {"type": role, "uuid": uuid, "parentUuid": up, "sessionId": session, "message": message}


def write(home: Path, session: str, numbers: list[int]) -> None:
    above = [None, *numbers]
    lines = [line(session, each, above[at], said="x" * (each % 2)) for at, each in enumerate(numbers)]
    path = home / "projects" / "-srv" / f"{session}.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))


A, B, C = (str(uuid5(NAMESPACE_OID, name)) for name in "abc")


@pytest.mark.parametrize("names", [(A, B, C), (C, B, A), (B, A, C)])
def test_what_is_repeated_is_spent_once(home: Path, names: tuple[str, str, str]) -> None:
    """Whichever id is lower: three replies in the first, of which a copy has two and one of its own."""
    first, copy, other = names
    write(home, first, [0, 1, 2, 3, 90, 4, 5])
    write(home, copy, [0, 1, 2, 3, 10, 11])
    write(home, other, [20, 21])
    with open_store(Store("s", f"claude-code://{home}", "configured")) as reader:
        costs = [reader.usage(each).cost for each in names]
    assert [cost and round(cost.dollars, 6) for cost in costs] == [0.09, 0.09, 0.03]
    spent = sum(cost.dollars - cost.inherited for cost in costs if cost)
    assert spent == pytest.approx(0.03 * 5), "as many as there are responses"
    assert set(branched_from(home).values()) - {""} < {first, copy}
    assert branched_from(home)[other] == ""


def test_of_many_copies_each_is_compared_with_few(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one is still found, so that what all of them repeat is spent once."""
    names = [str(uuid5(NAMESPACE_OID, f"copy {number}")) for number in range(60)]
    for at, each in enumerate(names):
        write(home, each, [0, 90, 1, 2, 3] if not at else [0, 1, 2, 3])
        os.utime(home / "projects" / "-srv" / f"{each}.jsonl", (1_790_000_000 + at,) * 2)
    read: list[Path] = []
    reading = RECORDS.read

    def noting(path: Path) -> SessionRecords:
        read.append(path)
        return reading(path)

    monkeypatch.setattr(RECORDS, "read", noting)
    with open_store(Store("s", f"claude-code://{home}", "configured")) as reader:
        listed = reader.listing.sessions(names)
    assert [each for each in names if not listed[each].branched_from] == names[:1]
    assert len(read) <= len(names) * (2 * forks.MOST + 1)


def test_a_file_that_is_written_later_is_seen(home: Path) -> None:
    write(home, A, [0, 90, 1, 2, 3])
    assert branched_from(home) == {A: ""}
    empty = home / "projects" / "-srv" / f"{B}.jsonl"
    empty.write_bytes(b"")
    assert B not in branched_from(home), "an empty file is no session yet"
    write(home, B, [0, 1, 5])
    os.utime(empty)
    assert branched_from(home)[B] == A
    assert branched_from(home)[A] == ""
