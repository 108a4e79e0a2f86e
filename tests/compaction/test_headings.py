"""What Codex says before the output of a command is no output: kept are the output, and how the command ended."""

from __future__ import annotations

import json
from typing import Any

import pytest

import compaction
from compaction import offline
from compaction.lines import unwrapped
from compaction.llm.digest import request_of
from compaction.strategy import STRATEGIES
from compaction.tool_results import without_heading

NOW = "Chunk ID: cab172\nWall time: 0.0123 seconds\nProcess exited with code {}\nOriginal token count: 12\nOutput:\n"
RUNNING = NOW.replace("exited with code {}", "running with session ID 4711")
OLDER = "Exit code: {}\nWall time: 0.1 seconds\nOutput:\n"
LONGER = "Exit code: {}\nWall time: 1 second\nTotal output lines: 900\nOutput:\n"
HEADINGS = ("Chunk ID", "Wall time", "token count", "Output:", "Process exited")
POLICY = compaction.Policy(context_window=3_000, protect_first_n=1, protect_last_n=2)
COUNT = compaction.counter_for("")


@pytest.mark.parametrize("heading", [NOW, OLDER, LONGER])
@pytest.mark.parametrize("output", ["main.py\nsetup.cfg\n", "", "Output:\nis a line of its own\n"])
@pytest.mark.parametrize("code", [0, 1, -9])
def test_a_heading(heading: str, output: str, code: int) -> None:
    text = heading.format(code) + output
    assert without_heading(text) == (str(code), output)
    assert unwrapped(text) == (f"exit code {code}: {output}" if code else output)


def test_of_a_command_that_runs() -> None:
    assert without_heading(RUNNING + "port 8080\n") == ("", "port 8080\n")


@pytest.mark.parametrize(
    "text",
    [
        "", "main.py\n", "Output:\nmain.py\n", "Wall time: long\nOutput:\nx\n", "Exit code: 1\nno such file\n",
        "It says\n" + NOW.format(0) + "x\n", '{"output": "Chunk ID: 1"}',
    ],
)  # fmt: skip
def test_what_is_no_heading(text: str) -> None:
    assert without_heading(text) == ("", text)


def told(printed: dict[str, str]) -> list[dict[str, Any]]:
    """A conversation in which these commands print that."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Find out why the build fails."}]
    for at, (command, text) in enumerate(printed.items()):
        function = {"name": "exec_command", "arguments": json.dumps({"cmd": command})}
        call = {"id": f"c{at}", "type": "function", "function": function}
        rows += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{at}", "content": text},
        ]
    for number in range(3):
        rows += [{"role": "user", "content": f"Next {number}?"}, {"role": "assistant", "content": "ok " * 600}]
    return rows


def test_a_summary_without_a_model_keeps_the_output() -> None:
    rows = told({"make build": NOW.format(0) + "built 12 modules\n", "make deploy": NOW.format(2) + "no such host\n"})
    before = json.dumps(rows)
    plan = compaction.plan(rows, POLICY, COUNT)
    summary = offline.summarize(request_of(plan))
    assert "built 12 modules" in summary and "exit 2: no such host" in summary
    assert not [each for each in HEADINGS if each in summary]
    assert json.dumps(rows) == before


def test_a_command_that_printed_nothing_has_its_exit_code() -> None:
    plan = compaction.plan(told({"make deploy": NOW.format(2)}), POLICY, COUNT)
    summary = offline.summarize(request_of(plan))
    assert "`make deploy`: exit 2\n" in f"{summary}\n"


def test_a_shortened_output_begins_with_the_output() -> None:
    long = "a line of the log\n" * 300
    rows = told({"make build": NOW.format(0) + long, "make deploy": NOW.format(2) + long + "no such host\n"})
    prune = STRATEGIES["prune"]
    made = prune.apply(prune.plan(rows, POLICY, COUNT), "").messages
    built, deployed = (str(each["content"]) for each in made if each["role"] == "tool")
    assert ": a line of the log [" in built and "exit code 2" in deployed
    assert not [each for each in HEADINGS if each in built + deployed]
