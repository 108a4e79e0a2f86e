"""Code in colours looks as Pygments makes it, and none takes longer than it may, however it is written."""

from __future__ import annotations

import html
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.test import Client
from pygments import highlight as by_pygments  # type: ignore[import-untyped]  # Pygments brings no types
from pygments.formatters.html import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

from tests.conftest import ROOT
from tests.factories.stores import EmptyStore
from tests.slow import one_in
from viewer.rendering import cache, highlight

FRAGMENT = {"HX-Request": "true"}
CODE = {
    "python": "\n\ndef f(a: int) -> str:\n    return f'{a}' # \u202a ü\ud800\n",
    "py": "print('x')",
    "js": "const a = () => `b${c}`;\n",
    "html": "<p class='a'>x</p><script>let a = 1;</script><style>p { color: red }</style>",
    "c++": "#include <map>\nint main() { return 0; }\n",
    "sh": "for a in *; do echo \"$a\"; done",
    "diff": "@@ -1 +1 @@\n-a\n+b\n",
    "markdown": "# A\n```python\nprint(1)\n```\n",
    "JSON": '{"a": [1, null]}',
    "yaml": "a:\n  - b: 1\n",
    "dockerfile": "FROM a\nRUN b\n",
}  # fmt: skip
# Each took Pygments from seconds to minutes.
HOSTILE = {
    "csharp": "a\n" * 9_900,
    "java": "\n" * 19_900,
    "c": "\n" * 19_900,
    "markdown": "\n" * 19_900,
    "python": " \n" * 9_900,
}


@contextmanager
def processor_seconds() -> Iterator[list[float]]:
    """How much the processes took that ended meanwhile."""
    before, found = _seconds(), [0.0]
    yield found
    found[0] = _seconds() - before


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("language", CODE)
def test_code_looks_as_pygments_makes_it(language: str) -> None:
    lexer = get_lexer_by_name(language.lower(), stripnl=False, ensurenl=False)
    made = highlight.coloured(CODE[language], language)
    assert made == by_pygments(CODE[language], lexer, HtmlFormatter(nowrap=True))
    assert "<span" in made


def test_only_languages_of_the_list_are_coloured() -> None:
    for language in ("ahk", "text", "", "css+django", "no such"):
        assert not highlight.is_known(language)
        assert highlight.coloured("<b> = 1", language) == "&lt;b&gt; = 1"
    assert all(map(highlight.is_known, highlight._LEXERS | set(highlight._LANGUAGES.values())))


@pytest.mark.parametrize("language", one_in(5, HOSTILE))
def test_what_takes_long_is_ended_and_shown_plain(language: str) -> None:
    assert highlight.coloured(HOSTILE[language], language) == HOSTILE[language]
    assert "<span" in highlight.coloured(CODE["py"], "py")


@pytest.mark.slow
def test_threads_get_their_own_answers() -> None:
    def one(at: int) -> bool:
        if at % 8 == 0:
            return highlight.coloured(HOSTILE["csharp"], "csharp") == HOSTILE["csharp"]
        return highlight.coloured(f"x{at} = {at}", "python").count(str(at)) == 2

    with ThreadPoolExecutor(32) as threads:
        assert all(threads.map(one, range(64)))


@pytest.mark.slow
def test_a_message_of_a_hundred_pieces_has_a_second_for_all(signed_in: Client, empty_store: EmptyStore) -> None:
    hostile = [{"type": "text", "text": f"{at}\n```csharp\n{HOSTILE['csharp'][:12_000]}```"} for at in range(100)]
    href = empty_store.session("s")
    empty_store.say("s", "user", hostile)
    empty_store.say("s", "user", "```python\nx = 1\n```\n")
    cache.clear()
    with processor_seconds() as used:
        assert b"99" in signed_in.get(f"{href}/messages/1/colours", headers=FRAGMENT).content
    assert used[0] < 20  # each of the hundred alone would take 0.2, and the start of a process
    assert b"<span" in signed_in.get(f"{href}/messages/2/colours", headers=FRAGMENT).content


def test_a_process_that_was_killed_is_replaced() -> None:
    highlight.coloured("x = 1", "python")
    running = [process._popen.pid for process in highlight._IDLE.queue if process]
    assert running
    for pid in running:
        os.kill(pid, signal.SIGKILL)
    answers = [highlight.coloured("x = 1", "python") for _ in range(1 + highlight.PROCESSES)]
    assert "<span" in answers[-1]
    assert {html.unescape(answer) for answer in answers if "<span" not in answer} <= {"x = 1"}


@pytest.mark.slow
def test_processes_end_with_the_server_even_when_it_is_killed() -> None:
    program = (
        "import django, sys; django.setup()\n"
        "from viewer.rendering import highlight\n"
        "highlight.coloured('x = 1', 'python')\n"
        "print([process._popen.pid for process in highlight._IDLE.queue if process][0], flush=True)\n"
        "sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdin=pipe, stdout=pipe) as server:
        assert server.stdout is not None
        child = Path("/proc", server.stdout.readline().decode().strip(), "cmdline")
        assert b"highlighter" in child.read_bytes()
        server.kill()
    until = time.monotonic() + 30
    while child.exists() and child.read_bytes():  # a zombie has no command line
        assert time.monotonic() < until
        time.sleep(0.02)
