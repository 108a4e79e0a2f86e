"""One call and what it does: its kind, the file or command it names, its outcome."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from ..messages import Call
from ..redaction import redact
from ..sentences import set_of
from ..text.clip import clip
from ..tool_names import READ_TOOLS, SHELL_TOOLS
from . import wording
from .todo import is_plan_tool

Kind = Literal["edit", "write", "read", "run", "change", "look", "plan", "thought", "other"]
_EDIT = set_of(
    """edit multiedit multi_edit edit_file editfile apply_patch patch update_file insert_edit_into_file replace
    replace_in_file str_replace search_replace notebookedit notebook_edit edit_block insert_line apply_diff"""
)
_WRITE = set_of(
    """write write_file writefile create_file createfile save_file write_to_file file_write new_file create"""
)
_EDITORS = ("str_replace_based_edit_tool", "str_replace_editor", "text_editor")
_LOOK = set_of("""glob grep ls webfetch websearch web_search web_fetch toolsearch think browser_snapshot""")
_PATHS = (
    *("file_path", "filePath", "path", "filepath", "filename", "target_file", "notebook_path", "file"),
    "absolute_path",
)
_COMMANDS = ("command", "cmd", "script", "input", "code")
# What surrounds a command without being it: a change of directory, where output goes, how much of it is shown.
_BEFORE = re.compile(r"^\s*(?:cd\s+\S+\s*(?:&&|;)\s*|(?:export\s+)?[A-Z_]{3,}=\S+\s+|sudo\s+|time\s+)+")
_BEHIND = re.compile(r"\s*(?:2>&1|2>\s*/dev/null|\|\s*(?:tail|head)(?:\s+-\S+)*(?:\s+\d+)?|;\s*echo\s.*)\s*$")
_SHOWING = re.compile(
    r"^(?:cat|ls|cd|tac|cut|uniq|tr|true|column|grep|egrep|rg|ag|find|fd|head|tail|sed -n|less|more|wc|tree|pwd|echo"
    r"|which|file|stat|du|df|ps|curl(?!.*\s(?:-X|-d|-F|-T|--data|--request|--form|--upload))"
    r"|env|diff|nl|journalctl|pgrep|systemctl status"
    r"|git (?:status|log|diff|show|branch|remote|blame|ls-files|rev-parse|stash list)|type|printenv|sort|awk|jq"
    r"|\S+ (?:show|list|status|ready|--help|--version|-v))\b"
)
_FILTERING = re.compile(r"\|\s*(?:[ef]?grep|rg|awk|sed|jq|cut|sort|uniq|column)\b")
_CODE_FILE = re.compile(r"\.(?!md$|txt$|rst$|org$|adoc$|log$)\w{1,6}$")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_QUIET = re.compile(r"\d?>&?\s*(?:/dev/null|\d)")
_PARTS = re.compile(r"&&|\|\||[;|\n]")
_ELSEWHERE = re.compile(
    r"^(?:ssh(?: -\S+)* \S+|docker exec(?: -\S+)* \S+|kubectl exec(?: -\S+)* \S+ --)\s+[\"']?(?:sudo )?"
)
_THOUGHTS = set_of("think thinking sequentialthinking sequential_thinking")
COMMIT = re.compile(r"\bgit\s+commit\b")
_COMMIT_MESSAGE = re.compile(
    r"-m\s+(?:\"\$\(cat <<-?\s*'?\"?(\w+)'?\"?\s*\n(?P<here>[^\n]+)|(?P<mark>[\"'])(?P<text>[^\n]+?)(?:(?P=mark)|\n|$))"
)
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\[\d{1,2}(?:;\d{1,2})*m")
LONG_COMMAND = 160  # characters of a command that name it


@dataclass(slots=True)
class ToolCall:
    """One call and its outcome: `at` is its place in the transcript, `failure` what went wrong ("" if nothing)."""

    call: Call
    kind: Kind
    at: int
    arguments: dict[str, Any]
    outcome: str | None = None
    flagged: bool = False
    failure: str = ""
    person: str = ""
    day: date | None = None

    @property
    def shows(self) -> bool:
        """Whether the call only shows something."""
        return self.kind in ("read", "look") or (self.kind == "run" and shows(command_of(self)))

    @property
    def filters(self) -> bool:
        """Whether a command only shows something, or selects lines from another command's output."""
        return self.shows or (self.kind == "run" and bool(_FILTERING.search(_command(self))))

    @property
    def prints_text(self) -> bool:
        """Whether the call succeeded and showed text that is not a program."""
        if self.outcome is None or self.failure or not self.shows:
            return False
        return self.kind != "read" or not _CODE_FILE.search(path_of(self))


def kind_of(call: Call, arguments: dict[str, Any]) -> Kind:
    """What a call does, by the tool's name and, for a tool with commands, by its command."""
    name = re.split(r"__|[.:/]", call.name)[-1].lower().replace("-", "_")
    if is_plan_tool(call.name):
        return "plan"
    if name in _THOUGHTS:
        return "thought"
    if name in SHELL_TOOLS:
        return "run"
    if name in _EDITORS:
        command = arguments.get("command")
        return "read" if command == "view" else "write" if command == "create" else "edit"
    if any(isinstance(arguments.get(key), str) for key in _PATHS):
        if name in _EDIT:
            return "edit"
        if name in _WRITE:
            return "write"
        if name in READ_TOOLS:
            return "read"
    if name in _LOOK or wording.is_reading(call.name):
        return "look"
    return "change" if wording.is_changing(call.name) and arguments else "other"


def key_of(call: ToolCall) -> str:
    """A key that is equal for calls on the same thing."""
    if call.kind in ("edit", "write"):
        return f"file {path_of(call)}"
    if call.kind == "read":
        return f"read {path_of(call)}"
    if call.kind == "run":
        return f"run {command_of(call)}"
    if call.kind == "change":
        subject = wording.subject_of(call.call.name, call.arguments)[1]
        if subject:
            return f"thing {subject}"
    return f"{call.call.name} {call.call.arguments}"


def path_of(call: ToolCall) -> str:
    """The file a call names."""
    return clip(redact(next((v for key in _PATHS if isinstance(v := call.arguments.get(key), str)), "")), 400)


def command_of(call: ToolCall) -> str:
    """The command of a shell call without what surrounds it; for a commit, the first line of its message."""
    text = _BEFORE.sub("", _command(call)).strip()
    if COMMIT.search(text) and (message := _COMMIT_MESSAGE.search(text)):
        return f'git commit -m "{(message["here"] or message["text"]).strip()}"'
    for _ in range(4):
        shorter = _BEHIND.sub("", text)
        if shorter == text:
            break
        text = shorter
    return clip(text, LONG_COMMAND)


def raw_command(call: ToolCall) -> str:
    """The command as it was called; for a commit, the first line of its message."""
    return command_of(call) if COMMIT.search(text := _command(call)) else text


def _command(call: ToolCall) -> str:
    value = next((v for key in _COMMANDS if (v := call.arguments.get(key))), call.call.arguments)
    return redact((" ".join(map(str, value)) if isinstance(value, list) else str(value))[:4_000]).strip()


def shows(command: str) -> bool:
    """Whether a command, in each of its parts, only shows something."""
    quiet = _QUIET.sub("", _QUOTED.sub("''", _ELSEWHERE.sub("", command, count=1)))
    parts = [part for each in _PARTS.split(quiet) if (part := _BEFORE.sub("", each).strip())]
    return bool(parts) and ">" not in quiet and all(_SHOWING.match(part) for part in parts)
