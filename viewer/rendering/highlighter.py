"""The process that colours code for `highlight`: `python -m viewer.rendering.highlighter SECONDS`, line in, line out.

Pygments' lexers are regular expressions. A single match may take minutes, and no thread can end a match. So the system
ends the process: ITIMER_PROF counts its processor time, and SIGPROF is not handled. Lines are JSON: [lexer, text] in;
[HTML or null, seconds] out.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from functools import cache
from typing import Any

from pygments import highlight  # type: ignore[import-untyped]  # Pygments brings no types
from pygments.formatters.html import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

_FORMATTER = HtmlFormatter(nowrap=True)


def main(seconds: float) -> None:
    """Answer until the input ends; a text that takes more than `seconds` of processor time ends the process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C in a terminal is for the server
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])  # a thread that starts processes may block it
    for line in sys.stdin:
        name, text = json.loads(line)
        lexer = _lexer(name)  # before the clock runs: the first of a kind is loaded
        started = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, seconds)
        markup = _coloured(text, lexer)
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps([markup, time.process_time() - started]), flush=True)


def _coloured(text: str, lexer: Any) -> str | None:
    try:
        return str(highlight(text, lexer, _FORMATTER))
    except Exception:  # a lexer that fails on a text is no reason to show an error in the place of the text
        return None


@cache
def _lexer(name: str) -> Any:
    return get_lexer_by_name(name, stripnl=False, ensurenl=False)


if __name__ == "__main__":
    main(float(sys.argv[1]))
