"""Which files a command line shows: `cat a.md`, `cd memory && head -n 5 b.md`, `sed -n 1,20p c.md | less`.

A rough reading of what shells have in common, POSIX and PowerShell: quotes, separators, redirections, here documents.
Expanded are the home and the working directory, variables that the script itself sets or loops over, and today's date,
which becomes "YYYY-MM-DD"; a word with another variable or substitution, or a glob, names no file. Any text can be
read; broken quoting only loses words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from viewer.workspaces.paths import is_absolute

SHELLS = ("sh", "bash", "zsh", "dash", "ash", "ksh", "fish", "powershell", "pwsh", "cmd")
_READERS = (
    *("cat", "head", "tail", "less", "more", "bat", "batcat", "nl", "tac", "sed"),
    *("type", "get-content", "gc"),  # cmd, PowerShell
)
_CHANGE = ("cd", "chdir", "pushd", "set-location", "sl", "push-location")
_ENTER, _LEAVE = ("(", "pushd", "push-location"), (")", "popd", "pop-location")
_CHANGE_OPTION = re.compile(r"-|/[dD]$")
_BEFORE = ("sudo", "command", "builtin", "env", "nohup", "time", "exec", "then", "do", "else", "if", "while", "!", "{")
_PAGER = "-p -t -x -b -h -j -y -z --pattern --tabs"
_BAT = (
    "-r --line-range -l --language -H --highlight-line -m --map-syntax --file-name --theme --style --paging --color"
    " --wrap --tabs --decorations --terminal-width"
)
_ENDS = "-n -c -s --lines --bytes --pid --sleep-interval"
_VALUED = {  # options whose value is the next word
    **{"head": _ENDS, "tail": _ENDS, "less": _PAGER, "more": "-n", "bat": _BAT, "batcat": _BAT},
    **{"nl": "-b -d -f -h -i -l -n -s -v -w", "tac": "-s --separator", "sed": "-e -f -l --expression --file"},
}
_POWERSHELL = (
    *("-encoding", "-totalcount", "-head", "-first", "-tail", "-last", "-readcount", "-delimiter"),
    *("-filter", "-include", "-exclude"),
)
_SCRIPT = re.compile(r"-\w*[ef]|--(?:expression|file)(?:=.*)?", re.DOTALL)  # of sed; without one its first word is it
_IN_PLACE = re.compile(r"-[nErsuz]*i|--in-place")
_DEEPEST = 3  # shells inside shells
_MOST_TURNS = 50  # of a loop
_MOST_TOKENS = 10_000  # of a script, the first; nobody types that many
_MOST_NAMES, _LONGEST = 4, 4_096  # variables in a word, and characters of what they make of it, and of a directory

_TOKEN = re.compile(
    r"""(?P<blank>(?:[^\S\n]|\\\r?\n)++|\#[^\n]*+)
    |(?P<here><<-?(?!<))|(?P<text><<<)|(?P<source><)
    |(?P<sink>(?:\d|&)?>[>|]?(?:&[\d-])?)
    |(?P<pipe>\|(?!\|)&?)
    |(?P<stop>\n|&&|\|\||[;&()])
    |(?P<word>(?:[^\s'"\\;&|<>()]|\\.|'[^']*+'|"(?:[^"\\]|\\.)*+")++)
    |(?P<odd>.)""",
    re.VERBOSE | re.DOTALL,
)
_PIECE = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^'"\\]+)""", re.DOTALL)
_ESCAPED = re.compile(r"""\\(["$`])""")
_HOME = re.compile(r"\$(?:HOME\b|\{HOME\}|env:USERPROFILE\b)(?=[/\\]|$)")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_ASSIGNMENT = re.compile(r"(\w+)=(.*)", re.DOTALL)
_HERE = re.compile(r"\$(?:PWD\b|\{PWD\}|\(pwd\))")
_TODAY = re.compile(
    r"""\$\(date \+(["']?)(?:%F|%Y-%m-%d)\1\)|`date \+(["']?)(?:%F|%Y-%m-%d)\2`"""
    r"""|\$\(Get-Date -Format (["']?)yyyy-MM-dd\3\)"""
)
_OPEN = re.compile(r"[$`*?\[]|\{[^{}]*,")  # what a shell would replace


class ShownFile(NamedTuple):
    """A file as the command names it, and its path from the directory in which the command runs."""

    named: str
    path: str


class _Word(NamedTuple):
    text: str
    fixed: bool  # independent of what the shell would insert


@dataclass(slots=True)
class _Command:
    words: list[_Word] = field(default_factory=list)
    sources: list[_Word] = field(default_factory=list)
    redirected: bool = False  # its output goes to a file


_NOTHING = [_Command()]
_BRACKETS = {sign: [_Command([_Word(sign, True)])] for sign in "()"}


def files_shown(command: str | Sequence[str], directory: str | None = "", depth: int = 0) -> list[ShownFile]:
    """The files whose text a command (a line, a script, or a list of words) prints, in order, with repetitions.

    `directory` is where it runs, "" for the workspace. A relative path is joined to it, or left out if it is None.
    """
    if isinstance(command, str):
        pipelines = list(_pipelines(_TODAY.sub("YYYY-MM-DD", _HERE.sub(".", command))))
    else:
        pipelines = [[_Command([_Word(word, True) for word in command])]]
    running = _Running(directory, depth)
    return [shown for pipeline in pipelines for shown in running.shown(pipeline)]


@dataclass(slots=True)
class _Running:
    """The state of a script: its directory (None if unknown), the directories to which it returns at the end of a
    subshell or with `popd`, and the words of each variable.
    """

    directory: str | None
    depth: int
    directory_stack: list[str | None] = field(default_factory=list)
    values: dict[str, list[_Word]] = field(default_factory=dict)

    def shown(self, pipeline: list[_Command]) -> Iterator[ShownFile]:
        for command in pipeline:
            words = _without_prefix(command.words)
            name = _name(words[0].text) if words else ""
            if not self._went_on(name, words or command.words):
                continue
            if name in SHELLS and self.depth < _DEEPEST:
                yield from files_shown(_inner_script(name, words), self.directory, self.depth + 1)
            elif name in _READERS and not command.redirected and not pipeline[-1].redirected:
                for word in (*_operands(name, words[1:]), *command.sources):
                    yield from self._files(word)

    def _went_on(self, name: str, words: list[_Word]) -> bool:
        """Apply what a command changes for later commands; False for such a command, which shows no file, True for any
        other.
        """
        if name in _ENTER:
            self.directory_stack.append(self.directory)
        if name in _CHANGE:
            self._change(words[1:])
        elif name in _LEAVE:
            self.directory = self.directory_stack.pop() if self.directory_stack else self.directory
        elif name in ("", "export"):
            self._assign(words)
        elif name == "for" and len(words) > 3 and words[2].text == "in":
            self.values[words[1].text] = words[3 : 3 + _MOST_TURNS]
        else:
            return True
        return False

    def _assign(self, words: list[_Word]) -> None:
        for word in words:
            if match := _ASSIGNMENT.match(word.text):
                self.values[match[1]] = self._expanded(_Word(match[2], word.fixed))

    def _change(self, words: list[_Word]) -> None:
        target = next((word for word in words if word.text == "-" or not _CHANGE_OPTION.match(word.text)), None)
        if target is None:
            self.directory = "~"
        else:
            expanded = self._expanded(target) if target.text != "-" else []
            self.directory = self._behind(expanded[0].text) if len(expanded) == 1 else None

    def _expanded(self, word: _Word) -> list[_Word]:
        """The words that a word means: itself, or its expansions by variables; empty if they are unknown."""
        if word.fixed:
            return [word]
        names = dict.fromkeys(plain or braced for plain, braced in _VARIABLE.findall(word.text[:_LONGEST]))
        texts = [word.text] if len(names) <= _MOST_NAMES else []
        for name in names:
            marks = re.compile(rf"\$(?:{name}\b|\{{{name}\}})")
            values = [value.text for value in self.values.get(name, ()) if value.fixed]
            pairs = [(text, value) for text in texts for value in values][:_MOST_TURNS]
            fitting = (pair for pair in pairs if len(pair[0]) + len(pair[1]) * pair[0].count("$") <= _LONGEST)
            texts = [marks.sub(value.replace("\\", r"\\"), text) for text, value in fitting]
        return [_Word(text, True) for text in texts if not _OPEN.search(text)]

    def _files(self, word: _Word) -> Iterator[ShownFile]:
        for named in (each.text for each in self._expanded(word) if each.text not in ("", "-")):
            path = self._behind(named)
            if path is not None:
                yield ShownFile(named, path)

    def _behind(self, path: str) -> str | None:
        if is_absolute(path) or self.directory == "":
            return path
        is_known = self.directory is not None and len(self.directory) <= _LONGEST
        return f"{self.directory}/{path}" if is_known else None


def _without_prefix(words: list[_Word]) -> list[_Word]:
    at = 0
    while at < len(words) and (words[at].text in _BEFORE or _ASSIGNMENT.match(words[at].text)):
        at += 1
        while words[at - 1].text in ("sudo", "env") and at < len(words) and words[at].text.startswith("-"):
            at += 1
    return words[at:]


def _name(text: str) -> str:
    """The program's name: "cat" of "/bin/cat", "\\cat" and "Cat.exe"."""
    return text[max(text.rfind("/"), text.rfind("\\")) + 1 :].lower().removesuffix(".exe")


def _inner_script(name: str, words: list[_Word]) -> str:
    """The script given to a shell, as in `bash -lc '…'`."""
    for at, word in enumerate(words[1:], 1):
        option = word.text.lower()
        if option in ("-command", "/c", "/k") or re.fullmatch(r"-[a-z]*c", option):
            whole = name in ("powershell", "pwsh", "cmd")
            return " ".join(each.text for each in words[at + 1 : None if whole else at + 2])
    return ""


def _operands(name: str, words: list[_Word]) -> list[_Word]:
    """The words that are neither options nor values of options."""
    valued = (*_VALUED.get(name, "").split(), *_POWERSHELL)
    operands: list[_Word] = []
    scripted = name != "sed"
    remaining = iter(words)
    for word in remaining:
        if word.text == "--":
            operands += remaining
        elif len(word.text) > 1 and (word.text[0] == "-" or (word.text[0] == "+" and name in ("less", "more", "tail"))):
            if name == "sed" and _IN_PLACE.match(word.text):
                return []
            scripted = scripted or bool(_SCRIPT.fullmatch(word.text))
            if _takes_value(word.text, valued):
                next(remaining, None)
        else:
            operands.append(word)
    if name in ("get-content", "gc"):
        return [_Word(part, word.fixed) for word in operands for part in word.text.split(",")]
    return operands if scripted else operands[1:]


def _takes_value(option: str, valued: Sequence[str]) -> bool:
    """Whether the next word is the option's value; letters may be combined, as in `sed -ne`."""
    together = option[:2] != "--" and option[1:].isalpha() and len(option) < 5
    return option in valued or option.lower() in _POWERSHELL or (together and f"-{option[-1]}" in valued)


# --- words -----------------------------------------------------------------------------------------------------------
def _pipelines(script: str) -> Iterator[list[_Command]]:
    """The commands of a script; those joined by "|" are in one list."""
    pipeline, awaited = [_Command()], ""
    for kind, token in islice(_tokens(script), _MOST_TOKENS):
        if kind == "stop":
            if pipeline != _NOTHING:
                yield pipeline
                pipeline = [_Command()]
            if token in _BRACKETS:
                yield _BRACKETS[token]
        elif kind == "pipe":
            pipeline.append(_Command())
        elif kind == "sink" and token[-1] not in ">|":  # 2>&1
            continue
        elif kind == "sink" and not token.startswith("2"):
            pipeline[-1].redirected = True
        elif kind == "word" and awaited in ("", "source"):
            (pipeline[-1].sources if awaited else pipeline[-1].words).append(_word(token))
        awaited = kind if kind in ("here", "text", "source", "sink") else ""
    yield pipeline


def _tokens(script: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each token; the bodies of here documents are left out."""
    at, kind, ends = 0, "", list[str]()
    while at < len(script):
        match = _TOKEN.match(script, at)
        before = kind
        if match is None:
            return
        at = match.end()
        if match.lastgroup in ("blank", "odd", None):
            continue
        kind = match.lastgroup
        if kind == "word" and before == "here":
            ends.append(_word(match[0]).text)
        elif match[0] == "\n" and ends:
            at, ends = _behind_documents(script, at, ends), []
        yield kind, match[0]


def _behind_documents(script: str, at: int, ends: list[str]) -> int:
    for end in ends:
        while at < len(script):
            line_end = script.find("\n", at)
            line = script[at : line_end if line_end >= 0 else None]
            at = line_end + 1 if line_end >= 0 else len(script)
            if line.strip() == end:
                break
    return at


def _word(token: str) -> _Word:
    """A word without its quotes. A backslash stays before letters: in the paths of Windows it is no escape."""
    text, fixed = "", True
    for piece in _PIECE.finditer(token):
        single, double, escaped, plain = piece.groups()
        if single is not None:
            text += single
        elif escaped is not None:
            text += {"\n": ""}.get(escaped, escaped if not (escaped.isalnum() or escaped in "._\\") else f"\\{escaped}")
        else:
            bare = plain if plain is not None else double
            bare = bare if text else _HOME.sub("~", bare, count=1)
            fixed = fixed and not (re.search(r"(?<!\\)[$`]", bare) if plain is None else _OPEN.search(bare))
            text += bare if plain is not None else _ESCAPED.sub(r"\1", bare)
    return _Word(text, fixed)
