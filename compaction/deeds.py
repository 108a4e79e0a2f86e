"""One call and what it does: its kind, the file or command it names, what came of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from . import wording
from .messages import Call
from .redaction import redact
from .sentences import set_of
from .text.clip import clip
from .todo import is_plan_tool
from .troubles import trouble

Kind = Literal["edit", "write", "read", "run", "change", "look", "plan", "thought", "other"]
READ_TOOLS = (
    *("read", "read_file", "readfile", "read_text_file", "file_read", "fs_read", "cat_file", "open", "open_file"),
    *("view", "view_file", "notebookread", "read_notebook", "read_files", "read_many_files", "read_multiple_files"),
)
SHELL_TOOLS = (
    *("bash", "shell", "sh", "zsh", "powershell", "pwsh", "cmd", "terminal", "exec", "exec_command", "unified_exec"),
    *("shell_command", "shell_exec", "shell_tool", "local_shell", "local_shell_call", "bash_command", "bash_tool"),
    *("run_command", "run_shell_command", "run_terminal_cmd", "run_terminal_command", "run_in_terminal"),
    *("execute_command", "execute_bash", "execute_shell_command"),
)
_EDIT = set_of(
    """edit multiedit multi_edit edit_file editfile apply_patch patch update_file insert_edit_into_file replace
    replace_in_file str_replace search_replace notebookedit notebook_edit edit_block insert_line apply_diff"""
)
_WRITE = set_of(
    """write write_file writefile create_file createfile save_file write_to_file file_write new_file create"""
)
_EDITORS = ("str_replace_based_edit_tool", "str_replace_editor", "text_editor")
_LOOK = set_of("""glob grep ls webfetch websearch web_search web_fetch toolsearch think browser_snapshot""")
_PATHS = ("file_path", "path", "filepath", "filename", "target_file", "notebook_path", "file", "absolute_path")
_COMMANDS = ("command", "cmd", "script", "input", "code")
# What surrounds a command without being it: a change of directory, where output goes, how much of it is shown.
_BEFORE = re.compile(r"^\s*(?:cd\s+\S+\s*(?:&&|;)\s*|(?:export\s+)?[A-Z_]{3,}=\S+\s+|sudo\s+|time\s+)+")
_BEHIND = re.compile(r"\s*(?:2>&1|2>\s*/dev/null|\|\s*(?:tail|head)(?:\s+-\S+)*(?:\s+\d+)?|;\s*echo\s.*)\s*$")
_SHOWING = re.compile(
    r"^(?:cat|ls|grep|egrep|rg|ag|find|fd|head|tail|sed -n|less|more|wc|tree|pwd|echo|which|file|stat|du|df|ps"
    r"|env|diff|nl|journalctl|pgrep|systemctl status"
    r"|git (?:status|log|diff|show|branch|remote|blame|ls-files|rev-parse|stash list)|type|printenv|sort|awk|jq"
    r"|\S+ (?:show|list|status|ready|--help|--version|-v)|search_dir|search_file|find_file|open|goto|scroll_up"
    r"|scroll_down)\b"
)
_ELSEWHERE = re.compile(
    r"^(?:ssh(?: -\S+)* \S+|docker exec(?: -\S+)* \S+|kubectl exec(?: -\S+)* \S+ --)\s+[\"']?(?:sudo )?"
)
_THOUGHTS = set_of("think thinking sequentialthinking sequential_thinking")
_EDITED = re.compile(r"(edit|create|insert)\b(?: \d+:\d+| \S+)?\s*")  # commands and tools of SWE-agent
_OPEN_FILE = re.compile(r"\(Open file: (/[^()\n]+)\)")
COMMIT = re.compile(r"\bgit\s+commit\b")
_COMMIT_MESSAGE = re.compile(
    r"-m\s+(?:\"\$\(cat <<-?\s*'?\"?(\w+)'?\"?\s*\n(?P<here>[^\n]+)|(?P<mark>[\"'])(?P<text>[^\n]+?)(?:(?P=mark)|\n|$))"
)
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\[\d{1,2}(?:;\d{1,2})*m")
_END = 600  # characters of a result in which SWE-agent says what is open
LONG_COMMAND = 160  # characters of a command that name it


@dataclass(slots=True)
class Deed:
    """One call and what came of it: `at` its place in the transcript, `named` the id a reply gives what it made."""

    call: Call
    kind: Kind
    at: int
    arguments: dict[str, Any]
    outcome: str | None = None
    flagged: bool = False
    person: str = ""
    day: date | None = None
    named: str = ""

    def trouble(self) -> str:
        """What went wrong, "" if nothing did."""
        if self.outcome is None:
            return ""
        only_shows = self.kind in ("read", "look") or (self.kind == "run" and shows(command_of(self)))
        return clip(redact(ESCAPES.sub("", trouble(self.outcome, self.flagged, only_shows))), 600)


def kind_of(call: Call, arguments: dict[str, Any]) -> Kind:
    """What a call does, by the tool's name and, of a tool with commands, by its command."""
    name = re.split(r"__|[.:/]", call.name)[-1].lower().replace("-", "_")
    if is_plan_tool(call.name):
        return "plan"
    if name in _THOUGHTS:
        return "thought"
    if name in SHELL_TOOLS or name == "command":
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


def settle(deed: Deed) -> None:
    """Note on which file an edit was made that names none: of SWE-agent, the one its result calls open."""
    if path_of(deed) or deed.kind not in ("run", "change", "other"):
        return
    text = _command(deed) if deed.kind == "run" else deed.call.name
    edited = _EDITED.match(text)
    match = _OPEN_FILE.search((deed.outcome or "")[-_END:]) if edited else None
    if edited and match:
        written = {"new_string": text[edited.end() :]} if deed.kind == "run" else {}
        deed.kind = "write" if edited[1] == "create" else "edit"
        deed.arguments = {**deed.arguments, **written, "path": match[1]}


def key_of(deed: Deed) -> str:
    """Equal for calls on the same thing."""
    if deed.kind in ("edit", "write"):
        return f"file {path_of(deed)}"
    if deed.kind == "read":
        return f"read {path_of(deed)}"
    if deed.kind == "run":
        return f"run {command_of(deed)}"
    if deed.kind == "change":
        subject = wording.subject_of(deed.call.name, deed.arguments)[1]
        if subject:
            return f"thing {subject}"
    return f"{deed.call.name} {deed.call.arguments}"


def path_of(deed: Deed) -> str:
    """The file a call names."""
    return clip(redact(next((v for key in _PATHS if isinstance(v := deed.arguments.get(key), str)), "")), 400)


def command_of(deed: Deed) -> str:
    """The command of a shell call, without what surrounds it; of a commit its message's first line."""
    text = _BEFORE.sub("", _command(deed)).strip()
    if COMMIT.search(text) and (message := _COMMIT_MESSAGE.search(text)):
        return f'git commit -m "{(message["here"] or message["text"]).strip()}"'
    for _ in range(4):
        shorter = _BEHIND.sub("", text)
        if shorter == text:
            break
        text = shorter
    return clip(text, LONG_COMMAND)


def raw_command(deed: Deed) -> str:
    """The command as it was called; of a commit its message's first line."""
    return command_of(deed) if COMMIT.search(text := _command(deed)) else text


def _command(deed: Deed) -> str:
    value = next((v for key in _COMMANDS if (v := deed.arguments.get(key))), deed.call.arguments)
    return redact((" ".join(map(str, value)) if isinstance(value, list) else str(value))[:4_000]).strip()


def shows(command: str) -> bool:
    """Whether a command only shows something."""
    return bool(_SHOWING.match(_ELSEWHERE.sub("", command, count=1))) and ">" not in command
