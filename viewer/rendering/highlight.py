"""Code in colours by Pygments, about 2 ms per kilobyte: only for code that is looked at, and never for long.

A message names the language of its code itself, and may be written to keep a lexer busy for minutes. So lexers run in
separate processes, which the system ends (see `highlighter`); the text is then shown plain.
"""

from __future__ import annotations

import atexit
import html
import json
import subprocess
import sys
import threading
from functools import lru_cache
from queue import Empty, LifoQueue
from typing import Any

from django.conf import settings
from django.core.signals import request_finished, request_started
from django.dispatch import receiver
from pygments.lexers import get_all_lexers  # type: ignore[import-untyped]  # Pygments brings no types

LIMIT = 20_000  # characters of one piece of code; a longer one stays plain
SECONDS = 0.2  # of processor time for one piece; common code of this length takes 0.05
REQUEST_SECONDS = 1.0  # for all pieces of one answer, as a message may have hundreds
PROCESSES = 2  # of some 30 MB each, started when they are first needed

# Each by the first of Pygments' names for it; its other names are known, too.
_LISTED = """
    apacheconf applescript awk bash batch bibtex c clojure cmake coffeescript common-lisp console cpp csharp css
    cuda d dart delphi diff django docker elixir elm emacs-lisp erlang fish fortran fsharp gdscript gherkin glsl go
    graphql groovy haskell hcl html html+jinja http iex ini java javascript jinja json json5 jsonld jsonnet jsx
    julia kotlin less lua make markdown matlab mysql nasm nginx nim nix nixos objective-c ocaml octave perl php
    plpgsql postgresql powershell prolog properties protobuf psql pug purescript pwsh-session pycon pytb python r
    racket reasonml rego restructuredtext ruby rust sass scala scheme scss solidity sparql splus sql sqlite3 swift
    systemd tcl tcsh terraform tex thrift toml tsql tsx twig typescript typst vb.net verilog vhdl vim vue wast wgsl
    xml xslt yaml yaml+jinja zig
"""
_LEXERS = frozenset(_LISTED.split())
_LANGUAGES = {
    "bash": "bash", "c": "c", "cc": "cpp", "cfg": "ini", "clj": "clojure", "cpp": "cpp", "cs": "csharp", "css": "css",
    "dart": "dart", "ex": "elixir", "exs": "elixir", "fs": "fsharp", "go": "go", "hs": "haskell", "md": "markdown",
    "proto": "protobuf", "scss": "scss", "tf": "terraform", "zig": "zig",
    "h": "c", "hpp": "cpp", "html": "html", "ini": "ini", "java": "java", "js": "javascript", "json": "json",
    "jsx": "jsx", "kt": "kotlin", "lua": "lua", "mjs": "javascript", "php": "php", "pl": "perl", "py": "python",
    "pyi": "python", "r": "r", "rb": "ruby", "rs": "rust", "scala": "scala", "sh": "bash", "sql": "sql",
    "svelte": "html", "swift": "swift", "toml": "toml", "ts": "typescript", "tsx": "tsx", "vue": "html", "xml": "xml",
    "yaml": "yaml", "yml": "yaml", "zsh": "bash",
}  # fmt: skip


def language_of(path: str) -> str:
    """The language of a file by the end of its name, "" if it is unknown."""
    name = path[-200:].rstrip().rpartition("/")[2].lower()
    return _LANGUAGES.get(name.rpartition(".")[2], "") if "." in name else ""


def is_known(language: str) -> bool:
    return language.lower() in _names()


def coloured(text: str, language: str) -> str:
    """The text as HTML with Pygments' classes; plain if the language is unknown, or the text is long or slow."""
    lexer = _names().get(language.lower())
    markup = _coloured(text, lexer) if lexer is not None and len(text) <= LIMIT else None
    return html.escape(text, quote=False) if markup is None else markup


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    """Every name of a language that is coloured, with its lexer's name."""
    return {name: names[0] for _, names, _, _ in get_all_lexers(plugins=False) if _LEXERS & {*names} for name in names}


# -- processes -------------------------------------------------------------------------------------------------------


class _Process:
    """One highlighter, for one thread at a time."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "viewer.rendering.highlighter", str(SECONDS)]
        self._popen = subprocess.Popen(
            command, cwd=settings.BASE_DIR, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, lexer: str, text: str) -> tuple[str | None, float]:
        """HTML, None if the lexer failed, and seconds. Raises OSError or ValueError if the process ends during it."""
        stdin, stdout = self._popen.stdin, self._popen.stdout
        assert stdin is not None and stdout is not None
        stdin.write(json.dumps([lexer, text]) + "\n")
        stdin.flush()
        markup, seconds = json.loads(stdout.readline())
        return markup, seconds

    def end(self) -> None:
        self._popen.kill()
        self._popen.communicate()


_IDLE: LifoQueue[_Process | None] = LifoQueue()  # None: to be started
for _ in range(PROCESSES):
    _IDLE.put(None)


def _coloured(text: str, lexer: str) -> str | None:
    remaining = getattr(_REQUEST, "left", None)
    if remaining is not None and remaining <= 0:
        return None
    markup, seconds = _ask_process(text, lexer)
    if remaining is not None:
        _REQUEST.left = remaining - seconds
    return markup


def _ask_process(text: str, lexer: str) -> tuple[str | None, float]:
    process, answer = _IDLE.get(), None
    try:
        process = process or _Process()
        answer = process.ask(lexer, text)
    except (OSError, ValueError):  # it has ended, or could not be started
        pass
    finally:  # an interrupted process is not used again: it might answer the earlier request
        _IDLE.put(process if answer else None)
    if process is not None and answer is None:
        process.end()
    return answer or (None, SECONDS)


@atexit.register
def _end() -> None:
    while True:
        try:
            process = _IDLE.get_nowait()
        except Empty:
            return
        if process is not None:
            process.end()


# -- the time left for a request -------------------------------------------------------------------------------------

_REQUEST = threading.local()  # left: seconds; none outside of a request


@receiver(request_started)
def _begin(**_: Any) -> None:
    _REQUEST.left = REQUEST_SECONDS


@receiver(request_finished)
def _finish(**_: Any) -> None:
    _REQUEST.left = None
