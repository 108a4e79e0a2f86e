"""How tool calls read in one line, and what their results say about how they ended."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compaction.offline.failures import failure
from tests.agents.codex.by_hand import ENVELOPE
from viewer.enforcement.reads import reads_of
from viewer.rendering import outcomes, tools

FINE = outcomes.CallOutcome()
WELL = outcomes.CallOutcome(well=True)
FAILED = outcomes.CallOutcome("failed, exit 1")


def read(name: str, arguments: Any, result: outcomes.CallOutcome | None = FINE, cwd: str = "") -> str:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    value = None if isinstance(arguments, str) else arguments
    made = tools.title(name, text, value, tools.change(name, text, value), result, cwd)
    lines = "" if made.added is None else f"+{made.added} −{made.removed}"
    return " ".join(filter(None, (made.did, made.path, made.what, lines)))


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        # Hermes
        ("terminal", {"command": "pytest -x"}, "Ran pytest -x"),
        ("read_file", {"path": "src/app.py", "offset": 10, "limit": 31}, "Read src/app.py lines 10–40"),
        ("search_files", {"pattern": "foo", "path": "src"}, "Searched for “foo” in src"),
        ("search_files", {"pattern": "*.py", "target": "files"}, "Searched for files “*.py”"),
        ("patch", {"path": "a.py", "old_string": "a\nb", "new_string": "a\nc\nd"}, "Edit a.py +2 −1"),
        ("patch", {"mode": "patch", "patch": ENVELOPE}, "Edit a.py and 1 more +3 −1"),
        ("todo", {"todos": [{"status": "completed"}] * 3 + [{"status": "pending"}] * 4}, "To-do list 3 of 7 done"),
        ("todo", {"todos": [{"status": "completed"}], "merge": True}, "To-do list 1 item changed"),
        ("web_search", {"query": "foo"}, "Searched the web for “foo”"),
        ("web_extract", {"urls": ["https://a.example", "https://b.example"]}, "Fetched https://a.example and 1 more"),
        ("delegate_task", {"goal": "find the bug"}, "Asked a sub-agent: find the bug"),
        ("delegate_task", {"tasks": [{"goal": "a"}, {"goal": "b"}]}, "Asked a sub-agent: 2 tasks"),
        # Claude Code
        ("Bash", {"command": "ls", "description": "List"}, "Ran ls"),
        ("Read", {"file_path": "/x/y.py"}, "Read /x/y.py"),
        ("Edit", {"file_path": "y.py", "old_string": "a", "new_string": "b"}, "Edit y.py +1 −1"),
        ("MultiEdit", {"file_path": "y.py", "edits": [{"old_string": "a", "new_string": "b"}] * 2}, "Edit y.py +2 −2"),
        ("Write", {"file_path": "y.py", "content": "a\nb\n"}, "Write y.py +2 −0"),
        ("Grep", {"pattern": "a.b", "path": "src", "glob": "*.py"}, "Searched for “a.b” in src, *.py"),
        ("Glob", {"pattern": "**/*.py"}, "Looked for files “**/*.py”"),
        ("WebFetch", {"url": "https://a.example/", "prompt": "sum"}, "Fetched https://a.example/"),
        ("TodoWrite", {"todos": []}, "To-do list 0 of 0 done"),
        ("Task", {"description": "Look", "prompt": "long"}, "Asked a sub-agent: Look"),
        ("AskUserQuestion", {"questions": [{"question": "Which?"}]}, "Asked you: Which?"),
        # Gemini CLI and Qwen Code
        ("run_shell_command", {"command": "ls", "description": "List", "dir_path": "src"}, "Ran in src ls"),
        ("read_file", {"file_path": "a.py", "start_line": 3, "end_line": 9}, "Read a.py lines 3–9"),
        ("replace", {"file_path": "a.py", "old_string": "a", "new_string": "b", "instruction": "c"}, "Edit a.py +1 −1"),
        ("write_file", {"file_path": "a.py", "content": "a\nb\n"}, "Write a.py +2 −0"),
        ("list_directory", {"dir_path": "src"}, "Listed src"),
        ("grep_search", {"pattern": "pear", "dir_path": "src"}, "Searched for “pear” in src"),
        ("google_web_search", {"query": "foo"}, "Searched the web for “foo”"),
        ("web_fetch", {"prompt": "Sum up https://a.example/"}, "Fetched Sum up https://a.example/"),
        ("write_todos", {"todos": [{"description": "a", "status": "completed"}]}, "To-do list 1 of 1 done"),
        ("invoke_agent", {"agent_name": "investigator", "prompt": "find pears"}, "Asked a sub-agent: find pears"),
        # OpenClaw and pi
        ("bash", {"command": "ls"}, "Ran ls"),
        ("exec", {"command": "ls -la"}, "Ran ls -la"),
        ("edit", {"path": "a.py", "edits": [{"oldText": "a", "newText": "b"}]}, "Edit a.py +1 −1"),
        ("edit", {"path": "a.py", "oldText": "a", "newText": "b\nc"}, "Edit a.py +2 −1"),
        ("find", {"pattern": "*.py", "path": "src"}, "Looked for files “*.py” in src"),
        ("sessions_spawn", {"task": "find the bug"}, "Asked a sub-agent: find the bug"),
        # Codex
        ("shell", {"command": ["bash", "-lc", "ls -la"]}, "Ran ls -la"),
        ("shell", {"command": ["git", "commit", "-m", "a b"]}, "Ran git commit -m 'a b'"),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{ENVELOPE}\nEOF"]}, "Edit a.py and 1 more +3 −1"),
        ("exec_command", {"cmd": "ls"}, "Ran ls"),
        ("apply_patch", ENVELOPE, "Edit a.py and 1 more +3 −1"),
        ("apply_patch", {"input": ENVELOPE}, "Edit a.py and 1 more +3 −1"),
        ("update_plan", {"plan": [{"step": "a", "status": "completed"}, {"step": "b"}]}, "Plan, 1 of 2 done"),
        # SWE-agent, and airline desks
        ("open", {"path": "src/fields.py", "line_number": 1474}, "Read src/fields.py from line 1474"),
        ("find_file", {"file_name": "fields.py", "dir": "src"}, "Looked for files “fields.py” in src"),
        ("think", {"thought": "Hm."}, "Thought: Hm."),
        # tools nobody knows, and known ones whose arguments do not fit
        ("get_reservation_details", {"reservation_id": "JG7FMM"}, "get_reservation_details reservation_id=JG7FMM"),
        ("mcp__github__search", {"query": "x", "n": 7}, "mcp__github__search x"),
        ("read_file", {"id": 7}, "read_file id=7"),
        ("bash", "not json", "bash not json"),
        ("", {}, "tool"),
    ],
)  # fmt: skip
def test_a_call_in_one_line(name: str, arguments: Any, line: str) -> None:
    assert read(name, arguments) == line


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("Read", {"file_path": "/home/me/site/lib/a.py"}, "Read lib/a.py"),
        ("Read", {"file_path": "/home/me/sites/a.py"}, "Read ~/sites/a.py"),
        ("Read", {"file_path": "/etc/hosts"}, "Read /etc/hosts"),
        ("Read", {"file_path": "lib/a.py"}, "Read lib/a.py"),
        ("LS", {"path": "/home/me/site/"}, "Listed ."),
        ("Write", {"file_path": "/home/me/site/a.py", "content": "a"}, "Write a.py +1 −0"),
        ("apply_patch", ENVELOPE.replace("a.py", "/home/me/site/a.py"), "Edit a.py and 1 more +3 −1"),
        ("Grep", {"pattern": "x", "path": "/home/me/site/lib"}, "Searched for “x” in lib"),
        ("Grep", {"pattern": "x", "path": "/home/me/site"}, "Searched for “x” in ."),
        ("Bash", {"command": "cd /home/me/site && make"}, "Ran make"),
        ("Bash", {"command": "cd /home/me/site/lib && make"}, "Ran in lib make"),
        ("Bash", {"command": "cd 'lib/a b'; make"}, "Ran in lib/a b make"),
        ("Bash", {"command": "cd ../other && make"}, "Ran in ~/other make"),
        ("Bash", {"command": "cd lib"}, "Ran cd lib"),
        ("Bash", {"command": "cd $(mktemp -d) && make"}, "Ran cd $(mktemp -d) && make"),
        ("Bash", {"command": "cat /home/me/site/a.py /home/me/site2/a.py"}, "Ran cat a.py /home/me/site2/a.py"),
        ("exec_command", {"cmd": "make", "workdir": "/home/me/site"}, "Ran make"),
        ("terminal", {"command": "make", "workdir": "/srv"}, "Ran in /srv make"),
    ],
)
def test_paths_are_relative_to_the_sessions_directory(name: str, arguments: Any, line: str) -> None:
    assert read(name, arguments, FINE, "/home/me/site") == line


def test_a_long_path_keeps_its_end_and_is_whole_in_its_title() -> None:
    path = f"/home/me/site/{'deep/' * 80}a.py"
    made = tools.title("Read", "", {"file_path": path}, None, FINE, "/home/me/site")
    assert made.path.startswith("…") and made.path.endswith("deep/a.py")
    assert len(made.path) == tools.PATH_LIMIT + 1


@pytest.mark.parametrize(
    ("name", "arguments", "result", "line"),
    [
        ("Edit", {"file_path": "y", "old_string": "a", "new_string": "b"}, WELL, "Edited y +1 −1"),
        ("Edit", {"file_path": "y", "old_string": "a", "new_string": "b"}, FAILED, "Edit y +1 −1"),
        ("Edit", {"file_path": "y", "old_string": "a", "new_string": "b"}, None, "Edit y +1 −1"),
        ("Bash", {"command": "ls"}, FAILED, "Ran ls"),
        ("Bash", {"command": "ls"}, None, "Run ls"),
        ("Bash", {"command": "ls"}, outcomes.CallOutcome("refused"), "Run ls"),
        ("Write", {"file_path": "y", "content": ""}, WELL, "Wrote y +0 −0"),
    ],
)
def test_nothing_is_said_to_be_done_that_no_result_says(
    name: str, arguments: Any, result: outcomes.CallOutcome | None, line: str
) -> None:
    assert read(name, arguments, result) == line


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Exit code: 1\nWall time: 0.5 seconds\nOutput:\nno", "failed, exit 1"),
        ("Chunk ID: 1\nWall time: 1 s\nProcess exited with code 127\nOutput:\n", "failed, exit 127"),
        ("Exit code 2\nls: no such file", "failed, exit 2"),
        ("no such file\n\nCommand exited with code 2", "failed, exit 2"),
        ("no such file\n\n(Command exited with code 2)", "failed, exit 2"),
        ("The log says: command exited with code 2 and so on", ""),
        ('{"output": "x", "metadata": {"exit_code": 1, "duration_seconds": 0.5}}', "failed, exit 1"),
        ('{"exit_code": true}', ""),
        ("<tool_use_error>File has not been read yet.</tool_use_error>", "failed"),
        ("The user doesn't want to proceed with this tool use.", "refused"),
        ("[Request interrupted by user for tool use]", "refused"),
        ("The log says: Exit code: 1", ""),
        ("Tests passed, no Error:", ""),
    ],
)
def test_how_a_call_ended_is_what_its_text_says(text: str, found: str) -> None:
    assert outcomes.outcome(text).word == found


@pytest.mark.parametrize(
    "text",
    [
        "The file /x/y.py has been updated. Here's the result",
        "Exit code: 0\nOutput:\nSuccess. Updated the following files:\nM a.py",
        "Success. Updated the following files:\nM a.py",
        '{"success": true, "diff": ""}',
        '{"exit_code": 0, "output": ""}',
    ],
)
def test_success_that_a_text_states(text: str) -> None:
    assert outcomes.outcome(text) == WELL


def test_a_sub_agents_session_is_found_where_its_result_names_it() -> None:
    result = json.dumps(
        {"results": [{"status": "completed", "session_id": "20260101_120000_abc123"}, {"session_id": 7}]}
    )
    assert outcomes.sessions_in(result) == ("20260101_120000_abc123",)
    assert outcomes.sessions_in("session_id: 20260101_120000_abc123") == ()
    assert outcomes.sessions_in(json.dumps({"session_id": "../../settings"})) == ()


@pytest.mark.parametrize("key", ["exit_code", "exitCode", "exitcode", "returncode", "exit_status"])
def test_an_exit_code_that_one_of_us_knows_is_known_to_all(key: str) -> None:
    """A page, the audit of a startup and a summary judge the same result."""
    text = json.dumps({key: 2, "output": "# Rules"})
    call = {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "AGENTS.md"}'}}
    rows: list[dict[str, Any]] = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": text},
    ]
    assert outcomes.outcome(text).word == "failed, exit 2"
    assert reads_of(rows) == []
    assert failure(text).startswith("exit 2")
    rows[1]["content"] = text.replace("2", "0")
    assert [read.path for read in reads_of(rows)] == ["AGENTS.md"]
