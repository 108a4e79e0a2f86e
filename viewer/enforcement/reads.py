"""Which files an agent read: calls of known read tools and shells that returned a file's text.

Tools are known by name, from those of Hermes (`read_file`, `terminal`), Claude Code (`Read`, `Bash`), Codex (`shell`,
`exec_command`), OpenClaw (`read`, `exec`), Gemini CLI, Cursor, OpenHands, SWE-agent, Anthropic's text editor and MCP's
filesystem servers. A result is judged by its structure: a file may well be about errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple

from compaction import messages as m
from compaction.lines import parsed
from compaction.messages import Call, Message
from compaction.tool_groups import CallPosition, OpenCalls
from compaction.tool_names import READ_TOOLS, SHELL_TOOLS
from compaction.tool_results import (
    EXIT_FIRST,
    EXIT_LINE,
    EXIT_SENTENCE,
    HEAD,
    NOT_ALLOWED,
    exit_code,
    is_failure,
    is_flagged,
    says_failure,
)
from viewer.workspaces.paths import is_absolute

from .commands import ShownFile, files_shown

EDITORS = ("str_replace_based_edit_tool", "str_replace_editor", "text_editor")  # they read with the command "view"
_PATH_KEYS = (
    *("path", "file_path", "filepath", "filename", "target_file", "targetfile", "absolute_path", "absolutepath"),
    *("relative_path", "file", "paths", "files", "uri", "input"),
)
_COMMAND_KEYS = ("command", "cmd", "script", "commands", "input")
_DIRECTORY_KEYS = ("workdir", "cwd", "working_directory", "working_dir", "workingdirectory")
_INNER_KEYS = ("arguments", "args", "parameters", "params", "action", "input")  # keys that may hold more arguments
_LONGEST = 4_096  # characters of a path
_DEEPEST = 4  # levels of arguments inside arguments

# --- what a result says ----------------------------------------------------------------------------------------------
_JSON = json.JSONDecoder()
_TEXT_KEYS = ("output", "content", "stdout", "result", "text")  # keys of the text in a JSON object
# Claude Code's words for a call that failed and for a file it did not send again; Hermes' for a call that an interrupt
# left out, or that ended in its own program.
_NOTHING_CAME = re.compile(
    r"\s*(?:<tool_use_error>|File unchanged since last read|\[Tool execution (?:cancelled|skipped)"
    r"|Error executing tool\b)"
)
_EXIT_LAST = re.compile(EXIT_SENTENCE.pattern + r"\.?[)\]]?\s*\Z")
_REPORT = re.compile(
    r"(?i)\s*(?:\[?Error\b|\[Errno|\w*(?:Error|Exception)\b|fatal\b|failed|cannot|can't|could not|unable|ENOENT|EACCES"
    r"|EISDIR|(?:the )?(?:file|path|directory)\b|no such|access|permission|(?:[\w./-]+: ){1,3})"
)
_ABSENT = re.compile(
    r"(?i)no such file|not found|(?:does not|doesn't) exist|cannot find|ENOENT|EACCES|EISDIR|permission denied"
    r"|access (?:is )?denied|is a directory|outside (?:of )?(?:the |your )?(?:allowed|workspace|working)|not allowed"
    r"|(?:failed|unable) to (?:read|open|access)|(?:could not|cannot|can't) (?:be )?(?:read|open|access)"
)
_COMPLAINT = re.compile(r"(?i): (?:error\b|.{0,40}(?:no such file|permission denied|is a directory|not found))")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_BEHIND = re.compile(r"['\"`’]?(?: for reading)?: ")
_MOST_COMPLAINTS = 50


class Read(NamedTuple):
    """A file that a call read: the index of the message with the call, the tool, and the path.

    The path is as named in the call, joined to the directory in which the call ran or to which it changed, if given.
    """

    message: int
    tool: str
    path: str


class _Result(NamedTuple):
    text: str
    values: dict[str, Any]  # of the JSON object that the text is
    failed: bool  # as its message says


def reads_of(messages: Sequence[Message]) -> list[Read]:
    """The files read, in the order of the calls. A call that failed or has no result (yet) read
    nothing. Never raises.
    """
    open_calls = OpenCalls()
    reads: list[tuple[CallPosition, Read]] = []
    for at, message in enumerate(map(in_chat_shape, messages)):
        open_calls.see(at, message)
        for each in m.blocks(message.get(m.INNER)):
            result = _result(str(each.get("output") or ""), None, {})
            reads += (
                ((at, 0), Read(at, call.name, path))
                for call in m.calls({"tool_calls": [each]})
                for path in _paths_read(call, result)
            )
        answered = zip(open_calls.answered, open_calls.places, _results(message), strict=True)
        for call, position, result in answered:
            if call and position and m.role(messages[position[0]]) != "user":  # a user's row only shows a call
                reads += ((position, Read(position[0], call.name, path)) for path in _paths_read(call, result))
    return [read for _, read in sorted(reads, key=lambda each: each[0])]


def in_chat_shape(message: Message) -> Message:
    """The message in chat shape; OpenClaw's (`toolCall` blocks, role `toolResult`) are converted."""
    if message.get("role") == "toolResult":
        return {**message, "role": "tool", "tool_call_id": message.get("toolCallId")}
    content = message.get("content")
    if not isinstance(content, list) or not any(_is_openclaw_call(block) for block in content):
        return message
    return {**message, "content": [{**b, "type": "tool_use"} if _is_openclaw_call(b) else b for b in content]}


def _is_openclaw_call(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "toolCall"


# --- calls -----------------------------------------------------------------------------------------------------------
def _paths_read(call: Call, result: _Result) -> Iterator[str]:
    kind = _kind(call.name)
    failed = bool(kind) and _failed(result, shell=kind == "shell")
    if not kind or (failed and kind != "shell"):
        return
    arguments = _arguments(call.arguments)
    if kind == "editor" and arguments.get("command") != "view":
        return
    if any(arguments.get(key) is True for key in ("background", "run_in_background")):
        return  # what it prints comes with another call
    directory = next((v for v in map(arguments.get, _DIRECTORY_KEYS) if isinstance(v, str) and v.strip()), "")
    files = _shown(arguments, directory) if kind == "shell" else list(_named(arguments, directory))
    if kind != "shell" and len(files) == 1 and _is_report(result.text):
        return
    complaints = _complaints(result.text)
    blamed = [at for at, shown in enumerate(files) if any(_is_about(each, shown.named) for each in complaints)]
    for at in range(max(blamed, default=0) if failed else len(files)):  # it got as far as the last file it names
        if at not in blamed:
            yield files[at].path


def _kind(tool: str) -> Literal["read", "editor", "shell", ""]:
    """What a tool does, by its name: `read_file`, but also "mcp__files__read_file" and "functions.read_file"."""
    name = re.split(r"__|[.:/]", tool)[-1].lower().replace("-", "_")
    for kind, names in _KINDS.items():
        if name in names or (name.startswith("mcp_") and name.endswith(tuple(f"_{each}" for each in names))):
            return kind
    return ""


_KINDS: dict[Literal["read", "editor", "shell"], tuple[str, ...]] = {
    "read": READ_TOOLS,
    "editor": EDITORS,
    "shell": SHELL_TOOLS,
}


def _arguments(text: str) -> dict[str, Any]:
    """The arguments by name in lower case, nested ones included; a plain text is `input`."""
    value = parsed(text) if text.lstrip()[:1] in ("{", "[", '"') else text.strip()
    return _flat(value if isinstance(value, dict) else {"input": value}, _DEEPEST)


def _flat(value: dict[str, Any], depth: int) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for key, item in value.items():
        name = str(key).lower()
        if name in _INNER_KEYS and depth:
            inner = parsed(item) if isinstance(item, str) and item.lstrip()[:1] == "{" else item
            if isinstance(inner, dict):
                arguments = {**_flat(inner, depth - 1), **arguments}
                continue
        arguments[name] = item
    return arguments


def _shown(arguments: dict[str, Any], directory: str) -> list[ShownFile]:
    key = next((key for key in _COMMAND_KEYS if arguments.get(key)), "")
    command = arguments.get(key)
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        command = "\n".join(words) if key == "commands" or len(words) == 1 else words
    return files_shown(command, directory) if isinstance(command, (str, list)) else []


def _named(arguments: dict[str, Any], directory: str) -> Iterator[ShownFile]:
    value = next((arguments[key] for key in _PATH_KEYS if arguments.get(key)), None)
    for named in _texts(value, _DEEPEST):
        if 0 < len(named) <= _LONGEST and "\n" not in named and ("://" not in named or named[:5].lower() == "file:"):
            yield ShownFile(named, named if is_absolute(named) or not directory else f"{directory}/{named}")


def _texts(value: Any, depth: int) -> Iterator[str]:
    """The paths in an argument: a text, a list of them, or objects that each name one."""
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, list) and depth:
        for item in value:
            yield from _texts(item, depth - 1)
    elif isinstance(value, dict) and depth:
        yield from _texts(next((value[key] for key in _PATH_KEYS if value.get(key)), None), depth - 1)


# --- results ---------------------------------------------------------------------------------------------------------
def _results(message: Message) -> list[_Result]:
    answered = m.results(message)
    if m.role(message) in m.RESULT_ROLES:
        return [_result(answered[0][1], m.body(message), message)]
    blocks = (b for b in m.blocks(message.get("content")) if isinstance(b, dict) and b.get("type") == "tool_result")
    return [_result(text, b.get("content"), b) for (_, text), b in zip(answered, blocks, strict=False)]


def _result(text: str, content: Any, flags: dict[str, Any]) -> _Result:
    """A result; if a tool wrapped its text in JSON, the text replaces the JSON."""
    values = content if isinstance(content, dict) and not text else _object(text)
    inner = next((values[key] for key in _TEXT_KEYS if isinstance(values.get(key), str)), text)
    return _Result(inner, values, is_flagged(flags))


def _object(text: str) -> dict[str, Any]:
    """The JSON object at the beginning of a text: some agents put a remark after it."""
    try:
        value, _ = _JSON.raw_decode(text.lstrip()) if text.lstrip()[:1] == "{" else ({}, 0)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _failed(result: _Result, shell: bool) -> bool:
    """Whether no text of a file was returned."""
    head = result.text[:HEAD]
    if result.failed or NOT_ALLOWED.match(head) or _NOTHING_CAME.match(head):
        return True
    if result.values and _says_failure(result.values):
        return True
    return shell and _exit_code(result.text) != 0


def _says_failure(values: dict[str, Any]) -> bool:
    if is_failure(exit_code(values)) or says_failure(values) or values.get("content_returned") is False:
        return True  # Hermes' `content_returned`: "unchanged since you read it" in place of the text
    return bool(values.get("error") and not values.get("content") and not values.get("output"))


def _exit_code(text: str) -> int:
    """The exit code in a shell's output: in its head, first, or last; 0 if there is none."""
    head, output, _ = text[:HEAD].partition("\nOutput:")
    match = EXIT_FIRST.match(head) or (EXIT_LINE.search(head) if output else EXIT_LINE.match(head))
    match = match or _EXIT_LAST.search(text[-HEAD:])
    return int(match["code"]) if match else 0


def _is_report(text: str) -> bool:
    """Whether a read tool's text is only a short report that the file could not be read."""
    if len(text) > HEAD or text.strip().count("\n") > 4:
        return False
    first = text.strip().partition("\n")[0]
    return bool(_REPORT.match(first) and _ABSENT.search(first))


def _complaints(text: str) -> list[str]:
    """The lines in which programs report that they could not read a file."""
    lines = (line.strip() for line in text.split("\n") if ": " in line and len(line) < HEAD)
    return list(islice((line for line in lines if _COMPLAINT.search(line)), _MOST_COMPLAINTS))


def _is_about(complaint: str, named: str) -> bool:
    """Whether a report is about this file, as in "cat: a.md: No such file" and "head: cannot open 'a.md' for reading:
    …".
    """
    if "YYYY-MM-DD" in named:  # as `files_shown` writes today's date
        complaint = _DAY.sub("YYYY-MM-DD", complaint)
    before, _, behind = complaint.partition(named)
    return before.rstrip("'\"`‘")[-1:] in ("", " ") and bool(_BEHIND.match(behind))
