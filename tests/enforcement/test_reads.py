"""Which files an agent read, in the words of every agent known."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction import Message
from viewer.enforcement.reads import Read, in_chat_shape, reads_of

TEXT = "# Soul\nBe kind. Errors are no such thing: file not found, permission denied.\n" * 20


def call(name: str, arguments: Any, id_: str = "c1") -> Message:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": name, "arguments": text}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id_, "type": "function", "function": function}]}


def result(content: Any = TEXT, id_: str = "c1", **more: Any) -> Message:
    text = content if isinstance(content, (str, list)) else json.dumps(content)
    return {"role": "tool", "tool_call_id": id_, "content": text, **more}


def paths(name: str, arguments: Any, answer: Any = TEXT, **more: Any) -> list[str]:
    return [read.path for read in reads_of([call(name, arguments), result(answer, **more)])]


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("read_file", {"path": "SOUL.md", "offset": 1}, ["SOUL.md"]),  # Hermes
        ("Read", {"file_path": "C:\\ws\\SOUL.md", "limit": 20}, ["C:\\ws\\SOUL.md"]),  # Claude Code
        ("read", {"path": "memory/2026-03-03.md"}, ["memory/2026-03-03.md"]),  # OpenClaw
        ("read_file", {"file_path": "/srv/SOUL.md"}, ["/srv/SOUL.md"]),  # Codex
        ("functions.read_file", {"target_file": "SOUL.md"}, ["SOUL.md"]),  # Cursor
        ("view_file", {"AbsolutePath": "/srv/SOUL.md"}, ["/srv/SOUL.md"]),  # Windsurf
        ("open", {"path": "SOUL.md", "line_number": 3}, ["SOUL.md"]),  # SWE-agent
        ("mcp__files__read_text_file", {"path": "SOUL.md"}, ["SOUL.md"]),
        ("mcp__files__read_multiple_files", {"paths": ["a.md", "b.md"]}, ["a.md", "b.md"]),
        ("mcp_files_read_file", {"path": "SOUL.md"}, ["SOUL.md"]),
        ("read-file", {"filename": "SOUL.md"}, ["SOUL.md"]),
        ("read_files", {"files": [{"path": "a.md"}, {"path": "b.md"}]}, ["a.md", "b.md"]),
        ("read_file", {"uri": "file:///srv/SOUL.md"}, ["file:///srv/SOUL.md"]),
        ("read_file", {"input": "SOUL.md"}, ["SOUL.md"]),
        ("read_file", {"input": {"path": "SOUL.md"}}, ["SOUL.md"]),
        ("read_file", {"input": '{"path": "SOUL.md"}'}, ["SOUL.md"]),
        ("read_file", {"arguments": '{"input": "{\\"file\\": \\"SOUL.md\\"}"}'}, ["SOUL.md"]),
        ("read_file", "SOUL.md", ["SOUL.md"]),
        ("read_file", '"SOUL.md"', ["SOUL.md"]),
        ("read_file", {"path": "SOUL.md", "cwd": "/srv"}, ["/srv/SOUL.md"]),
        ("read_file", {"path": "/a.md", "cwd": "/srv"}, ["/a.md"]),
        ("str_replace_based_edit_tool", {"command": "view", "path": "SOUL.md"}, ["SOUL.md"]),
        ("str_replace_editor", {"command": "create", "path": "SOUL.md"}, []),
        ("read_file", {"url": "https://example.com/a.md"}, []),
        ("read_file", {"path": "https://example.com/a.md"}, []),
        ("read_file", {"path": ""}, []),
        ("read_file", {"path": 7}, []),
        ("read_file", '{"path": "SOUL.md', []),
        ("write_file", {"path": "SOUL.md"}, []),
        ("search_files", {"path": "SOUL.md"}, []),
        ("view_image", {"path": "a.png"}, []),
        ("", {"path": "SOUL.md"}, []),
    ],
)
def test_read_tools(tool: str, arguments: Any, expected: list[str]) -> None:
    assert paths(tool, arguments) == expected


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("terminal", {"command": "cat SOUL.md"}, ["SOUL.md"]),  # Hermes
        ("terminal", {"command": "cat SOUL.md", "workdir": "/srv"}, ["/srv/SOUL.md"]),
        ("Bash", {"command": "cd memory && head -n 5 a.md", "description": "x"}, ["memory/a.md"]),  # Claude Code
        (
            "shell",
            {"command": ["bash", "-lc", "cat a.md b.md"], "workdir": "/srv"},
            ["/srv/a.md", "/srv/b.md"],
        ),  # Codex
        ("exec_command", {"cmd": "sed -n '1,200p' SOUL.md"}, ["SOUL.md"]),  # Codex
        ("container.exec", {"cmd": ["cat", "SOUL.md"]}, ["SOUL.md"]),
        ("local_shell", {"action": {"command": ["cat", "a.md"], "working_directory": "/srv"}}, ["/srv/a.md"]),
        ("shell", {"action": {"commands": ["cat a.md", "cat b.md"]}}, ["a.md", "b.md"]),
        ("shell", {"command": ["cat a.md"]}, ["a.md"]),
        ("exec", {"command": "cat SOUL.md", "workdir": "~/ws"}, ["~/ws/SOUL.md"]),  # OpenClaw
        ("run_shell_command", {"command": "cat SOUL.md"}, ["SOUL.md"]),  # Gemini CLI
        ("execute_bash", {"script": "cat SOUL.md"}, ["SOUL.md"]),  # OpenHands
        ("powershell", {"command": "Get-Content SOUL.md"}, ["SOUL.md"]),
        ("bash", "cat SOUL.md", ["SOUL.md"]),
        ("bash", {"input": "cat SOUL.md"}, ["SOUL.md"]),
        ("bash", {"command": "echo hi > SOUL.md"}, []),
        ("bash", {"command": None}, []),
        ("terminal", {"command": "cat SOUL.md", "background": True}, []),
        ("Bash", {"command": "cat SOUL.md", "run_in_background": True}, []),
        ("terminal", {"command": "cat SOUL.md", "background": False}, ["SOUL.md"]),
        ("execute_code", {"code": "cat SOUL.md"}, []),
    ],
)
def test_shells(tool: str, arguments: Any, expected: list[str]) -> None:
    assert paths(tool, arguments) == expected


@pytest.mark.parametrize(
    "answer",
    [
        TEXT,
        "",
        "Error: see below.\nThis file lists what can go wrong.\n",
        "Error handling: a file is not found when nobody wrote it.\n" * 15,
        {"content": "1|# Soul", "total_lines": 1, "file_size": 6, "truncated": False, "is_binary": False},
        {"content": "1|Error: no such file", "error": None},
        {"content": "text", "error": "the rest was left out"},
        json.dumps({"content": "1|# Soul"}) + "\n\n[a remark of the agent's]",
        '{"content": "1|# Soul, cut in the mi',
        "     1\u2192Error: no such file or directory",
        "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>",
    ],
)
def test_what_came_back_was_read(answer: Any) -> None:
    assert paths("read_file", {"path": "SOUL.md"}, answer) == ["SOUL.md"]


@pytest.mark.parametrize(
    "answer",
    [
        {"error": "File not found: SOUL.md", "similar_files": []},
        {"content": "", "total_lines": 0, "error": "File not found: SOUL.md"},
        {"success": False, "message": "no"},
        {"isError": True, "content": "no"},
        {"status": "unchanged", "dedup": True, "content_returned": False},
        json.dumps({"error": "BLOCKED"}) + "\n\n[a remark of the agent's]",
        "Error: ENOENT: no such file or directory, open '/srv/SOUL.md'",
        "Error: file not found",
        "File does not exist. Did you mean soul.md?",
        "<tool_use_error>File does not exist.</tool_use_error>",
        "[Errno 2] No such file or directory: 'SOUL.md'",
        "FileNotFoundError: [Errno 2] No such file or directory: 'SOUL.md'",
        "Access denied - path outside allowed directories: /srv/SOUL.md",
        "EISDIR: illegal operation on a directory, read (is a directory)",
        "The user doesn't want to proceed with this tool use.",
        "[Tool execution cancelled — read_file was skipped due to user interrupt]",
        "Error executing tool 'read_file': timed out after 60.0s",
        "[Tool execution skipped — read_file was not started. User sent a new message]",
        "File unchanged since last read. The content from the earlier Read is still current.",
    ],
)
def test_what_failed_was_not_read(answer: Any) -> None:
    assert paths("read_file", {"path": "SOUL.md"}, answer) == []


def test_a_flag_of_the_row_or_the_block_says_that_it_failed() -> None:
    assert paths("read_file", {"path": "SOUL.md"}, is_error=True) == []
    assert paths("read_file", {"path": "SOUL.md"}, isError=1) == []
    assert paths("read_file", {"path": "SOUL.md"}, is_error=False) == ["SOUL.md"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"output": TEXT, "exit_code": 0, "error": None}, ["a.md", "b.md"]),
        ({"output": "x", "exit_code": 1, "error": None}, []),
        ({"output": "", "exit_code": -1, "error": "", "status": "pending_approval"}, []),
        ({"output": TEXT, "metadata": {"exit_code": 0}}, ["a.md", "b.md"]),
        ({"output": TEXT, "metadata": {"exit_code": 1}}, []),
        ("Exit code 1\ncat: a.md: No such file or directory", []),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nx", []),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nx\nExit code: 1", ["a.md", "b.md"]),
        ("Chunk ID: 1\nWall time: 0 seconds\nProcess exited with code 2\nOutput:\n", []),
        ("text\n\nCommand exited with code 1", []),
        ("text\n[The command completed with exit code 1.]", []),
        ("text\n[The command completed with exit code 0.]", ["a.md", "b.md"]),
        ("cat: a.md: No such file or directory\ntext of b", ["b.md"]),
        ({"output": "cat: a.md: No such file or directory\ntext", "exit_code": 0}, ["b.md"]),
        ("head: cannot open 'b.md' for reading: No such file or directory", ["a.md"]),
        ("/bin/bash: line 1: a.md: Permission denied\ntext", ["b.md"]),
        ("cat: memory/a.md: No such file or directory\ntext", ["a.md", "b.md"]),
        ("no such file is named a.md in this text\n", ["a.md", "b.md"]),
        (TEXT, ["a.md", "b.md"]),
    ],
)
def test_a_shell_says_how_it_ended(answer: Any, expected: list[str]) -> None:
    assert paths("terminal", {"command": "cat a.md; cat b.md"}, answer) == expected


@pytest.mark.parametrize("flagged", [False, True])
def test_a_shell_that_failed_at_a_file_read_those_before_it(flagged: bool) -> None:
    answer = "Exit code 1\ntext\ncat: b.md: No such file or directory"
    for command, expected in {
        "cat a.md b.md": ["a.md"],
        "cat a.md && cat b.md && cat c.md": ["a.md"],
        "cat c.md": [],
        "cat b.md a.md": [],
    }.items():
        assert paths("bash", {"command": command}, answer, is_error=flagged) == expected


def test_a_date_that_the_shell_made_is_told_in_its_complaint() -> None:
    command = {"command": "cat m/$(date +%F).md; cat a.md"}
    assert paths("bash", command) == ["m/YYYY-MM-DD.md", "a.md"]
    assert paths("bash", command, "cat: m/2026-11-22.md: No such file or directory\ntext") == ["a.md"]


def test_one_of_many_files_may_be_missing() -> None:
    answer = "a.md: Error - ENOENT: no such file or directory\n---\nb.md:\ntext of b\n"
    assert paths("read_multiple_files", {"paths": ["a.md", "b.md"]}, answer) == ["b.md"]


def test_an_unanswered_call_read_nothing() -> None:
    assert reads_of([call("read_file", {"path": "a.md"})]) == []
    assert reads_of([call("read_file", {"path": "a.md"}), result(id_="other")]) == []


def test_reads_stand_in_the_order_of_their_calls() -> None:
    both = call("read_file", {"path": "a.md"}, "c1")
    both["tool_calls"] += call("Bash", {"command": "cat b.md"}, "c2")["tool_calls"]
    rows = [{"role": "user", "content": "go"}, both, result(id_="c2"), result(id_="c1"), call("read", {"path": "c.md"})]
    expected = [Read(1, "read_file", "a.md"), Read(1, "Bash", "b.md"), Read(4, "read", "c.md")]
    assert reads_of([*rows, result()]) == expected


def test_ids_may_repeat_in_a_session() -> None:
    rows = [call("read_file", {"path": "a.md"}), result(), call("read_file", {"path": "b.md"}), result({"error": "no"})]
    assert reads_of(rows) == [Read(0, "read_file", "a.md")]


def test_ids_may_repeat_in_a_message() -> None:
    both = call("read_file", {"path": "a.md"})
    both["tool_calls"] += call("read_file", {"path": "b.md"})["tool_calls"]
    assert reads_of([call("read_file", {"path": "c.md"}), both, result(), result({"error": "no"})]) == [
        Read(1, "read_file", "a.md")
    ]


def test_blocks_of_claude_code() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/srv/SOUL.md"}}
    back: dict[str, Any] = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": TEXT}]}
    rows: list[Message] = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [back]}]
    assert reads_of(rows) == [Read(0, "Read", "/srv/SOUL.md")]
    back["is_error"] = True
    assert reads_of(rows) == []


def test_a_call_that_a_person_shows_is_no_read() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/srv/SOUL.md"}}
    shown: list[Message] = [
        {"role": "user", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": TEXT}]},
        {**call("read_file", {"path": "a.md"}), "role": "user"},
        result(),
    ]
    assert reads_of(shown) == []


def test_items_of_codex() -> None:
    item = {"type": "function_call", "call_id": "f1", "name": "shell", "arguments": '{"command": ["cat", "a.md"]}'}
    rows: list[Message] = [item, {"type": "function_call_output", "call_id": "f1", "output": TEXT}]
    assert reads_of(rows) == [Read(0, "shell", "a.md")]
    rows[1]["output"] = json.dumps({"output": "", "metadata": {"exit_code": 1}})
    assert reads_of(rows) == []


def test_messages_of_openclaw() -> None:
    use = {"type": "toolCall", "id": "o1", "name": "read", "arguments": {"path": "memory/2026-03-03.md"}}
    back: Message = {"role": "toolResult", "toolCallId": "o1", "toolName": "read", "isError": False}
    back["content"] = [{"type": "text", "text": TEXT}]
    rows: list[Message] = [{"role": "assistant", "content": [{"type": "text", "text": "Reading."}, use]}, back]
    assert reads_of(rows) == [Read(0, "read", "memory/2026-03-03.md")]
    assert reads_of([rows[0], {**back, "isError": True}]) == []
    assert in_chat_shape(rows[0])["content"][1]["type"] == "tool_use"
    assert rows[0]["content"][1]["type"] == "toolCall", "the message itself stays as it was"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["path", "paths", "input", "command", "action", "cwd", "error", "exit_code", "content"])
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
TOOLS = st.sampled_from(["read_file", "Bash", "str_replace_editor", "read_multiple_files", "shell"]) | st.text(
    max_size=5
)


@given(TOOLS, JSON | st.text(max_size=20), JSON | st.text(max_size=20), st.booleans())
def test_any_arguments_and_any_result_are_read(tool: str, arguments: Any, answer: Any, raw: bool) -> None:
    rows: list[Message] = [call(tool, arguments), result(answer)]
    if raw:
        use = {"type": "toolCall", "id": "c1", "name": tool, "arguments": arguments}
        rows = [{"role": "assistant", "content": [use]}, {"role": "toolResult", "toolCallId": "c1", "content": answer}]
    assert all(read.message == 0 and read.path for read in reads_of(rows))


def test_deep_and_long_arguments_are_read() -> None:
    assert paths("read_file", "[" * 100_000) == []
    assert paths("read_file", '{"input":' * 500 + '"a.md"' + "}" * 500) == []
    assert paths("read_file", {"path": "a" * 100_000}) == []
    assert paths("bash", {"command": "cat " + "a.md " * 2_000}, "cat: b.md: No such file\n" * 2_000) == ["a.md"] * 2_000
