"""A site that is updated: the runs that an older version left go on. The databases were made by the version before
receipts (`tests/data/before_receipts`), by compacting, undoing and previewing six made-up sessions of the demo store.
"""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

OLD = Path(__file__).parents[1] / "data/before_receipts"
LATE, UNDONE, READY, PRUNED, FIRST, SECOND, CONFLICT = map(str, range(1, 8))  # their runs

pytestmark = pytest.mark.slow  # two versions, each in a process


@pytest.fixture(scope="module")
def updated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    data = tmp_path_factory.mktemp("data")
    for packed in OLD.glob("*.xz"):
        (data / packed.stem).write_bytes(lzma.decompress(packed.read_bytes()))
    surroundings = {**os.environ, "PALIMPSEST_DATA_DIR": str(data), "PALIMPSEST_STORES": "none=sqlite:////nowhere.db"}
    for command in (["manage.py", "migrate", "-v0"], ["-m", "tests.runs.updated"]):
        done = subprocess.run([sys.executable, *command], env=surroundings, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_what_was_written_is_known_as_ours(updated: dict[str, Any]) -> None:
    found = updated["found"]
    assert {number: run["status"] for number, run in found.items()} == {
        LATE: "applied", UNDONE: "undone", READY: "ready", PRUNED: "applied", FIRST: "applied", SECOND: "applied",
        CONFLICT: "conflict",
    }  # fmt: skip
    assert found[PRUNED]["strategy"] == "prune"
    assert [found[number]["boundaries"] for number in (LATE, UNDONE, PRUNED, SECOND)] == [[1], [], [4], [5, 6]]
    assert [found[number]["undoable"] for number in (LATE, UNDONE, PRUNED, FIRST, SECOND)] == [
        True, False, True, False, True,
    ]  # fmt: skip


def test_what_was_undone_is_known(updated: dict[str, Any]) -> None:
    [receipt] = updated["undone"]
    assert len(receipt["block"]) == 12 and len(receipt["taken_back"]) == 0


def test_a_candidate_is_written_and_each_compaction_is_undone(updated: dict[str, Any]) -> None:
    """The newest first, so that the first of two in one session is undone after the second."""
    assert updated["undo"] == dict.fromkeys((LATE, READY, PRUNED, FIRST, SECOND), "undone")
    assert updated["left"] == {number: [] for number in updated["found"]}
