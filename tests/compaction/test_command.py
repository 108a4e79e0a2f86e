"""`python -m compaction`: a transcript in, a compacted one out; refusals in a sentence, with exit codes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from compaction.__main__ import main
from compaction.handoff import FLAG, is_handoff
from tests.agents.pi.by_hand import PiByHand
from tests.compaction.transcripts import exchange, result, system, user, words
from tests.compaction.transcripts import reply as said

ROOT = Path(__file__).resolve().parents[2]
LONG = [system(), *exchange(40)]


def as_text(given: Any) -> str:
    return given if isinstance(given, str) else json.dumps(given)


def run(given: Any, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in this process."""
    written, told = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(written), redirect_stderr(told):
        patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(as_text(given).encode())))
        try:
            code = main(arguments)
        except SystemExit as wrong_usage:
            code = int(wrong_usage.code or 0)
    return subprocess.CompletedProcess(arguments, code, written.getvalue(), told.getvalue())


@pytest.mark.slow
def test_it_is_a_command() -> None:
    command = [sys.executable, "-m", "compaction", "--window", "4000"]
    done = subprocess.run(command, input=as_text(LONG), capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == run(LONG, "--window", "4000").stdout
    assert subprocess.run(command, input="{", capture_output=True, text=True, cwd=ROOT).returncode == 2


def test_it_compacts_a_list_of_messages() -> None:
    done = run(LONG, "--window", "4000", "--today", "2026-11-22")
    messages = json.loads(done.stdout)
    assert done.returncode == 0 and len(messages) < len(LONG)
    [handoff] = [row for row in messages if is_handoff(row)]
    assert "on 2026-11-22" in handoff["content"]
    assert messages[-1] == LONG[-1]
    assert f"{len(LONG)} -> {len(messages)} messages" in done.stderr
    assert "details we recognise" not in done.stderr
    assert "details we recognise" in run(LONG, "--window", "4000", "--report").stderr


def test_it_reads_an_object_and_a_summary_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "summary.md").write_text("Forty questions were answered.")
    done = run({"messages": LONG}, "--window", "4000", "--summary", str(tmp_path / "summary.md"))
    assert "Forty questions were answered." in done.stdout and "Extracted" not in done.stdout


def test_it_can_shorten_tool_output_instead() -> None:
    turns = [
        row for i in range(30) for row in (user(f"{i}"), said("", f"c{i}"), result(f"c{i}", words(90)), said("ok"))
    ]
    done = run(turns, "--window", "4000", "--strategy", "prune")
    messages = json.loads(done.stdout)
    assert len(messages) == len(turns) + 1 and len(done.stdout) < len(json.dumps(turns, indent=2))


def test_a_summary_is_marked_as_hermes_does_where_that_is_asked_for() -> None:
    assert FLAG not in run(LONG, "--window", "4000").stdout
    assert FLAG in run(LONG, "--window", "4000", "--handoff", "hermes").stdout


def test_it_reads_the_file_of_an_agent(tmp_path: Path) -> None:
    agent = PiByHand(tmp_path)
    agent.write("s", LONG[1:])
    done = run(agent.path("s").read_text(), "--window", "4000")
    messages = json.loads(done.stdout)
    assert (
        done.returncode == 0 and sum(map(is_handoff, messages)) == 1 and messages[-1]["content"] == LONG[-1]["content"]
    )


@pytest.mark.parametrize(
    ("given", "arguments", "code", "says"),
    [
        ([], [], 1, "too few messages"),
        ([1], [], 1, "not an object"),
        (LONG, ["--keep-last", "100"], 1, "keep the last 100"),
        ("{", [], 2, "not JSON"),
        ({"rows": []}, [], 2, "no list of messages"),
        ('{"rows": []}\n{"rows": []}', [], 2, "no session of an agent"),
        ({"messages": "none"}, [], 2, "no list of messages"),
        (LONG, ["--strategy", "mask"], 2, "invalid choice"),
        (LONG, ["--window", "0"], 2, "context_window must be above 0"),
        (LONG, ["--summary", "no-such-file"], 2, "no-such-file"),
        (LONG, ["--strategy", "magic"], 2, "invalid choice"),
    ],
)
def test_what_it_cannot_do_it_says(given: Any, arguments: list[str], code: int, says: str) -> None:
    done = run(given, *arguments)
    assert done.returncode == code and says in done.stderr
    assert done.stdout == "" and "Traceback" not in done.stderr


def test_a_summary_of_somebody_else_is_judged_and_redacted(tmp_path: Path) -> None:
    (tmp_path / "refusal.md").write_text("I'm sorry, I can't help with this.")
    (tmp_path / "secret.md").write_text("The login is password=hunter22.")
    refused = run(LONG, "--window", "4000", "--summary", str(tmp_path / "refusal.md"))
    assert refused.returncode == 1 and "refusal" in refused.stderr
    assert "hunter22" not in run(LONG, "--window", "4000", "--summary", str(tmp_path / "secret.md")).stdout
