"""The summary line of a tool call: "Read src/app.py, lines 10–40", "Ran pytest -x", "To-do list, 3 of 7 done".

Tools of Hermes, Claude Code, Codex, OpenClaw, pi, Gemini CLI, Qwen Code and SWE-agent are known by name and arguments.
A call whose arguments do not fit, and any other tool, is shown with its name and its key argument. A line says what was
requested. It says that it was done only if the result does not contradict it, and that something was changed only if
the result says so.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import diffs, highlight
from .diffs import Change, file_of
from .outcomes import CallOutcome
from .paths import joined, near, within
from .texts import as_text, clean, json_value, line

LIMIT = 160  # characters of a line
PATH_LIMIT = 300  # characters of a path in it
Arguments = dict[str, Any]

# The argument that says most about a call of a tool nobody knows.
KEY_ARGUMENTS = (
    "command", "cmd", "file_path", "filePath", "path", "filename", "query", "pattern", "url", "expression", "code",
    "prompt",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Title:
    """`did` is emphasised, a `path` and `what` follow it; `known`: it is a sentence about the call and not only the
    tool's name. The path is relative to the session's directory, `whole_path` is as the call has it.

    `added` and `removed` are the lines of a change; None for unknown, and for what is no change.
    """

    did: str
    what: str
    known: bool = True
    path: str = ""
    whole_path: str = ""
    added: int | None = None
    removed: int | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """The wording of a known tool's call: requested, done, and its arguments. `strict`: done only if a result says so.

    `what` returns None for arguments it does not know, `where` the file or directory, None for none.
    """

    asked: str
    done: str
    what: Callable[[Arguments], str | None]
    strict: bool = False
    where: Callable[[Arguments], str | None] | None = None


def title(
    name: str, text: str, arguments: Any, change: Change | None, result: CallOutcome | None, cwd: str = ""
) -> Title:
    """The summary line of a call: `text` is its arguments as stored, `arguments` the same as JSON values, `result` its
    result, if any; `cwd` is the directory of its session, "" for unknown.
    """
    short = line(name, 80)
    tool = tool_of(name)
    if change is not None and tool in (EDIT, SHELL, _WRITE, _CREATE):
        return _changed(_word(tool if tool in (_WRITE, _CREATE) else EDIT, result), change, cwd)
    what = tool.what(arguments) if tool is not None and isinstance(arguments, dict) else None
    if tool is None or what is None:
        return Title(short or "tool", within(key_argument(arguments, text), cwd), known=False)
    did = _word(tool, result)
    path = (tool.where(arguments) if tool.where is not None else None) or ""
    if tool is SHELL:
        path, what = _placed(path, what, cwd)
        did = f"{did} in" if path else did
    return Title(did, line(within(what, cwd), LIMIT), path=path_end(near(path, cwd)), whole_path=path_end(path))


def tool_of(name: str) -> Tool | None:
    """The known tool of this name."""
    return _TOOLS.get(name.lower().removeprefix("functions."))


def _placed(place: str, command: str, cwd: str) -> tuple[str, str]:
    """The directory in which a command runs, "" for that of the session, and the command without its "cd" there and
    without the "git add" that goes before a commit.
    """
    changes = _CD.match(command[:2_000])
    if changes is not None and not place:
        place, command = joined(changes["to"].strip("\"'"), cwd), command[changes.end() :]
    if staging := _STAGING.match(command[:2_000]):
        command = command[staging.end() :]
    return ("" if place.rstrip("/") in ("", cwd.rstrip("/")) else place), command


_CD = re.compile(r"""\s*cd\s+(?P<to>"[^"$`]+"|'[^']+'|[^\s;&|<>()$`"'*?]+)\s*(?:&&|;)\s*(?=\S)""")
_STAGING = re.compile(r"\s*git add\s[^;&|<>\n]*&&\s*(?=\S)")


def path_end(path: str) -> str:
    """A path on one line; of a long one, its end."""
    shown = " ".join(clean(path[-2 * PATH_LIMIT :]).split())
    return shown if len(path) <= PATH_LIMIT else f"…{shown[-PATH_LIMIT:]}"


def changes_files(name: str) -> bool:
    """Whether a tool changes files by its arguments, as an editor does."""
    return tool_of(name) in (EDIT, _WRITE, _CREATE)


def is_shell(name: str) -> bool:
    """Whether a tool runs a command in a shell."""
    return tool_of(name) is SHELL


def may_change_files(name: str) -> bool:
    """Whether a call of a tool may be a change that `change` knows: an editor's, or a patch in a shell's command."""
    return changes_files(name) or is_shell(name)


def is_sub_agent(name: str) -> bool:
    """Whether a tool gives work to another agent, whose session its result may name."""
    return name.lower().removeprefix("functions.") in _SUB_AGENTS


def _word(tool: Tool, result: CallOutcome | None) -> str:
    is_done = result is not None and (result.well if tool.strict else result.word != "refused")
    return tool.done if is_done else tool.asked


def _changed(did: str, change: Change, cwd: str) -> Title:
    path = change.files[0].name if change.files else ""
    what = f"and {len(change.files) - 1} more" if len(change.files) > 1 else "" if path else "a file"
    return Title(did, what, True, path_end(near(path, cwd)), path_end(path), added=change.added, removed=change.removed)


def key_argument(arguments: Any, text: str) -> str:
    if not isinstance(arguments, dict):
        return line(text, LIMIT)
    for name in KEY_ARGUMENTS:
        if isinstance(arguments.get(name), str):
            return line(arguments[name], LIMIT)
    named = (f"{name[:LIMIT]}={_short(value)}" for name, value in list(arguments.items())[:20])
    return line(" ".join(named), LIMIT)


def _short(value: Any) -> str:
    if isinstance(value, (list, dict)):
        return f"[{len(value)}]" if isinstance(value, list) else "{…}"
    return as_text(value)[:LIMIT]


# -- arguments of the known tools ------------------------------------------------------------------------------------


def _text(*names: str) -> Callable[[Arguments], str | None]:
    def what(arguments: Arguments) -> str | None:
        return next((str(arguments[name]) for name in names if isinstance(arguments.get(name), str)), None)

    return what


def _quoted(text: Any) -> str:
    return f"“{line(str(text), 80)}”"


def _if(where: Callable[[Arguments], str | None]) -> Callable[[Arguments], str | None]:
    """Nothing more than where, if that is known."""
    return lambda arguments: "" if where(arguments) else None


def _number(arguments: Arguments, *names: str) -> int | None:
    values = (arguments.get(name) for name in names)
    return next((value for value in values if isinstance(value, int) and not isinstance(value, bool)), None)


def _reading(arguments: Arguments) -> str | None:
    """The lines of a file that are read."""
    first = _number(arguments, "offset", "start_line", "line_number")
    count, last = _number(arguments, "limit"), _number(arguments, "end_line")
    if first is not None and count is not None:
        last = first + count - 1
    if not file_of(arguments):
        return None
    if first is not None and last is not None:
        return f"lines {first}–{last}"
    if first is not None:
        return f"from line {first}"
    return f"first {count} lines" if count is not None else ""


def command_of(arguments: Arguments) -> str | None:
    """A command line; of `["bash", "-lc", line]` the line."""
    command = next((arguments[name] for name in ("command", "cmd", "script") if arguments.get(name)), None)
    if isinstance(command, list) and all(isinstance(word, str) for word in command[:20]):
        if len(command) == 3 and command[1] in ("-c", "-lc", "-ic"):
            return str(command[2])
        return shlex.join(word[:LIMIT] for word in command[:20])
    return command if isinstance(command, str) else None


def _search(arguments: Arguments) -> str | None:
    pattern = next((arguments[name] for name in ("pattern", "query", "regex") if arguments.get(name)), None)
    if not isinstance(pattern, str):
        return None
    where = next((arguments[name] for name in ("path", "dir", "dir_path") if arguments.get(name)), None)
    kind = next((arguments[name] for name in ("glob", "file_glob", "include", "type") if arguments.get(name)), None)
    sought = f"for {_quoted(pattern)}"
    return sought + (f" in {where}" if isinstance(where, str) else "") + (f", {kind}" if isinstance(kind, str) else "")


def _finding(arguments: Arguments) -> str | None:
    name = _text("pattern", "file_name", "name")(arguments)
    where = _text("path", "dir", "dir_path")(arguments)
    return None if name is None else f"files {_quoted(name)}" + (f" in {where}" if where else "")


def _searching(arguments: Arguments) -> str | None:
    """Hermes' one tool for searching in files and for files."""
    if arguments.get("target") != "files":
        return _search(arguments)
    sought = _finding(arguments)
    return None if sought is None else f"for {sought}"


def _addresses(arguments: Arguments) -> str | None:
    listed = arguments.get("urls")
    if isinstance(listed, list) and listed and isinstance(listed[0], str):
        return listed[0][:LIMIT] + (f" and {len(listed) - 1} more" if len(listed) > 1 else "")
    return _text("url")(arguments)


def _progress(arguments: Arguments) -> str | None:
    """How many items of a list are done; None for a list that only changes some items."""
    listed = next((arguments[name] for name in ("todos", "plan", "items") if name in arguments), None)
    if listed is None:
        return ""
    if not isinstance(listed, list):
        return None
    if arguments.get("merge") is True:
        return f"{len(listed)} item{'' if len(listed) == 1 else 's'} changed"
    done = sum(isinstance(item, dict) and item.get("status") in ("completed", "done") for item in listed)
    return f"{done} of {len(listed)} done"


def _delegation(arguments: Arguments) -> str | None:
    tasks = arguments.get("tasks")
    if isinstance(tasks, list) and tasks:
        return f"{len(tasks)} tasks" if len(tasks) > 1 else _goal(tasks[0])
    return _goal(arguments)


def _goal(arguments: Any) -> str | None:
    return _text("description", "goal", "message", "prompt")(arguments) if isinstance(arguments, dict) else None


def _question(arguments: Arguments) -> str | None:
    listed = arguments.get("questions")
    if isinstance(listed, list) and listed and isinstance(listed[0], dict):
        return _text("question", "header")(listed[0])
    return _text("question")(arguments)


def _both(first: str, second: str) -> Callable[[Arguments], str | None]:
    """Two arguments in a row, such as an action and what it is about; at least the first."""

    def what(arguments: Arguments) -> str | None:
        words = [str(arguments[name]) for name in (first, second) if isinstance(arguments.get(name), (str, int))]
        return ", ".join(words) if isinstance(arguments.get(first), str) else None

    return what


def _process(arguments: Arguments) -> str | None:
    process = _text("session_id", "bash_id", "shell_id", "task_id", "process_id")(arguments)
    number = _number(arguments, "session_id", "id")
    return process if process is not None else None if number is None else str(number)


_DIRECTORY = _text("path", "dir_path")
EDIT = Tool("Edit", "Edited", _if(file_of), strict=True, where=file_of)
SHELL = Tool("Run", "Ran", command_of, where=_text("workdir", "working_directory", "cwd", "dir_path", "directory"))
_READ = Tool("Read", "Read", _reading, where=file_of)
_WRITE = Tool("Write", "Wrote", _if(file_of), strict=True, where=file_of)
_CREATE = Tool("Create", "Created", _if(file_of), strict=True, where=file_of)
_SEARCH = Tool("Search", "Searched", _search)
_FIND = Tool("Find", "Looked for", _finding)
_LOOK = Tool("Look at", "Looked at", _if(file_of), where=file_of)
_LIST = Tool("List", "Listed", _if(_DIRECTORY), where=_DIRECTORY)
_WEB = Tool("Search the web", "Searched the web", lambda arguments: _search({"query": arguments.get("query")}))
_FETCH = Tool("Fetch", "Fetched", _addresses)
_TODO = Tool("To-do list", "To-do list", _progress)
_ASK = Tool("Ask a sub-agent:", "Asked a sub-agent:", _delegation)
_PERSON = Tool("Ask you:", "Asked you:", _question)
_SKILL = Tool("Skill", "Skill", _text("skill", "name", "command"))
_PROCESS = Tool("Look at a running command", "Looked at a running command", _process)
_TOOLS = {
    # Hermes
    "terminal": SHELL, "execute_code": Tool("Run code", "Ran code", _text("code")), "read_file": _READ,
    "write_file": _WRITE, "patch": EDIT, "search_files": Tool("Search", "Searched", _searching),
    "web_search": _WEB, "web_extract": _FETCH, "browser_navigate": Tool("Open", "Opened", _text("url")),
    "browser_click": Tool("Click", "Clicked", _text("ref", "selector")),
    "browser_type": Tool("Type", "Typed", _both("text", "ref")), "todo": _TODO,
    "vision_analyze": Tool("Look at an image:", "Looked at an image:", _text("question", "user_prompt")),
    "image_generate": Tool("Make an image:", "Made an image:", _text("prompt"), strict=True),
    "text_to_speech": Tool("Speak:", "Spoke:", _text("text"), strict=True),
    "memory": Tool("Memory:", "Memory:", _both("action", "content")),
    "session_search": Tool("Search old sessions", "Searched old sessions", _search),
    "delegate_task": _ASK, "clarify": _PERSON, "skill_view": _SKILL,
    "skill_manage": Tool("Skill", "Skill", _both("action", "name")),
    "cronjob": Tool("Schedule:", "Schedule:", _both("action", "name")),
    "send_message": Tool("Send a message:", "Sent a message:", _text("message"), strict=True),
    "process": Tool("Process:", "Process:", _both("action", "session_id")),
    # Claude Code
    "bash": SHELL, "read": _READ, "write": _WRITE, "edit": EDIT, "multiedit": EDIT, "notebookedit": EDIT,
    "grep": _SEARCH, "glob": _FIND, "ls": _LIST, "webfetch": _FETCH, "websearch": _WEB, "todowrite": _TODO,
    "task": _ASK, "agent": _ASK, "bashoutput": _PROCESS, "taskoutput": _PROCESS,
    "killshell": Tool("Stop a running command", "Stopped a running command", _process, strict=True),
    "askuserquestion": _PERSON, "skill": _SKILL, "slashcommand": Tool("Command", "Command", _text("command")),
    "exitplanmode": Tool("Plan:", "Plan:", _text("plan")),
    "taskcreate": Tool("New task:", "New task:", _text("subject", "description")),
    "taskupdate": Tool("Task", "Task", _both("taskId", "status")),
    # Codex
    "shell": SHELL, "shell_command": SHELL, "local_shell": SHELL, "exec_command": SHELL, "container.exec": SHELL,
    "apply_patch": EDIT, "update_plan": Tool("Plan,", "Plan,", _progress), "write_stdin": _PROCESS,
    "view_image": _LOOK, "grep_files": _SEARCH, "list_dir": _LIST, "spawn_agent": _ASK,
    "request_user_input": _PERSON,
    # OpenClaw and pi, whose other tools have names of the ones above
    "exec": SHELL, "find": _FIND,
    "sessions_spawn": Tool("Ask a sub-agent:", "Asked a sub-agent:", _text("task", "label")),
    # Gemini CLI and Qwen Code, whose other tools have names of the ones above
    "run_shell_command": SHELL, "replace": EDIT, "list_directory": _LIST, "grep_search": _SEARCH,
    "search_file_content": _SEARCH, "google_web_search": _WEB, "write_todos": _TODO, "todo_write": _TODO,
    "web_fetch": Tool("Fetch", "Fetched", _text("url", "prompt")), "invoke_agent": _ASK, "ask_user": _PERSON,
    "save_memory": Tool("Memory:", "Memory:", _text("fact")), "activate_skill": _SKILL, "notebook_edit": EDIT,
    # SWE-agent and others
    "open": _READ, "find_file": _FIND, "create": _CREATE,
    "think": Tool("Think:", "Thought:", _text("thought")),
    "calculate": Tool("Calculate", "Calculated", _text("expression")),
}  # fmt: skip


_SUB_AGENTS = ("task", "agent", "delegate_task", "spawn_agent", "invoke_agent")
_SORTS = {
    **dict.fromkeys((EDIT, _WRITE, _CREATE), "edit"),
    **dict.fromkeys((_READ, _LIST), "read"),
    **dict.fromkeys((_SEARCH, _FIND, _TOOLS["search_files"]), "search"),
    **dict.fromkeys((SHELL, _TOOLS["execute_code"]), "command"),
}


def sort(name: str, text: str) -> str:
    """What a call does: "edit", "read", "search", "command", or "" for anything else. `text` is its arguments as
    stored: a command may be a patch, which is an edit.
    """
    tool = tool_of(name)
    found = "" if tool is None else _SORTS.get(tool, "")
    if found == "command" and (diffs.ENVELOPE in text or "@@ -" in text) and change(name, text, json_value(text)):
        return "edit"
    return found


def language(name: str, text: str) -> str:
    """The language of a call's result: that of the file it reads. `text` is its arguments as stored."""
    if tool_of(name) is not _READ or len(text) > 10_000:
        return ""
    arguments = json_value(text)
    return highlight.language_of(file_of(arguments)) if isinstance(arguments, dict) else ""


def change(name: str, text: str, arguments: Any, noted: str = "") -> Change | None:
    """The change that a call requests. `text` is used for arguments that are not JSON, such as Codex' free-form
    patches; `noted` is the change as the agent noted it with the result, with line numbers.
    """
    if noted:
        return diffs.as_noted(noted, diffs.file_of(arguments) if isinstance(arguments, dict) else "")
    if isinstance(arguments, dict):
        requested = diffs.change_of(arguments)
        return diffs.whole_file(arguments) if requested is None and changes_files(name) else requested
    is_patch = name.lower().endswith("patch") or text.startswith(diffs.ENVELOPE)
    return diffs.change_of(text) if is_patch else None
