"""What was done long ago is told in short before it is dropped."""

from __future__ import annotations

import pytest

from compaction.earlier import files_in, merged
from compaction.sections import read_back
from tests.compaction.offline_summaries import sections
from tests.compaction.transcripts import user
from tests.compaction.work_steps import step

COMMIT = 'Ran `git commit -m "{}"`: 4 files changed, 231 insertions(+)'


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([COMMIT.format("Add a"), COMMIT.format("Fix b")], ['Committed before: "Add a"; "Fix b"']),
        (['Committed before: "Add a"', "3 May 2026: " + COMMIT.format("C; d")], ['Committed before: "Add a"; "C, d"']),
        (
            [
                "Cancelled reservation A1B for mia_li_1: reason weather",
                "Cancelled reservation: C2D A1B (mia_li_1), E3F",
            ],
            ["Cancelled reservation: A1B C2D (mia_li_1), E3F"],
        ),
        (["Updated booking KG-7712: room 3; added note: late"], ["Updated booking: KG-7712"]),
        (["Edited /srv/a1.py (2 edits); code: x", "Wrote /srv/2.py, then edited it", "Ran `make 2`: 3 passed"], []),
        (['Answered mia_li_1\'s request: "Where?" -> There.', "Also ran: `make 1`; `make 2`"], []),
    ],
)
def test_lines_are_merged_by_what_was_done(lines: list[str], told: list[str]) -> None:
    assert merged(lines) == told


def test_of_many_commits_the_newest_stay() -> None:
    [line] = merged(COMMIT.format(f"Change number {n} of the whole lot") for n in range(90))
    assert "number 89" in line and "number 0 " not in line and len(line) < 700


def test_files_that_an_earlier_summary_says_were_written_are_listed_as_written() -> None:
    lines = ["Wrote /srv/app/a.py, then edited it (2 times); code: load_it", "Edited b.py (1 edit)", "Ran `make`: ok"]
    assert files_in(lines) == ["/srv/app/a.py", "b.py"]
    earlier = "## Actions done\n" + "\n".join(f"- Wrote /srv/app/part{n}.py; code: part_{n}" for n in range(40))
    turns = [user("Go on.")]
    for n in range(20):
        turns += step(f"w{n}", "Write", {"file_path": f"/srv/app/new{n}.py", "content": "x = 1"}, "written")
    found = sections(turns, previous_summary=earlier, budget_tokens=1_000)
    [line] = [line for line in found["Files"] if line.startswith("- written in /srv/app: ")]
    assert all(f"part{n}.py" in line + " ".join(found["Actions done"]) for n in range(40)), found


def test_commits_of_the_morning_are_told_after_many_compactions() -> None:
    summary = ""
    for day in range(6):
        turns = [user("Go on.")]
        for n in range(30):
            turns += step(
                f"c{n}", "Bash", {"command": f"make part-{n}"}, f"built part {n} of the whole thing, all well"
            )
        turns += step("g", "Bash", {"command": f'git commit -m "Finish part {day}"'}, "[main 1a2b3c4] Finish")
        found = sections(turns, previous_summary=summary, budget_tokens=600)
        summary = "\n".join(f"## {title}\n" + "\n".join(lines) for title, lines in found.items() if lines)
    assert all(f"Finish part {day}" in summary for day in range(6)), summary


def test_a_long_list_of_an_earlier_summary_is_read_back_whole() -> None:
    names = " ".join(f"load_part_{n}_of_it" for n in range(200))
    [line] = read_back(f"## Identifiers\n- code: {names}")["Identifiers"]
    assert line == f"code: {names}"
