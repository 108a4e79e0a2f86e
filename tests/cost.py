"""What something costs, for tests of what must not cost more than in proportion to what it is given.

Calls are counted where the work is done in Python: the same number on every machine, however busy it is. What happens
inside one call of C is not seen by that; a regular expression is such a call, so those are timed. `make bench` prints
what things take.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

_TRIES = 3
_WORK_SECONDS = 0.009  # what `_work` takes on an idle machine of 3 GHz
_WORDS = "Please look at /srv/app/a.py: it must not fail. It says 12 errors, see https://a.example/b.\n" * 2_000


def calls(do: Callable[..., object], *given: object) -> int:
    """How many functions, of Python and of C, are called."""
    counted, before = 0, sys.getprofile()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        do(*given)
    finally:
        sys.setprofile(before)
    return counted


def within(seconds: float, do: Callable[..., object], *given: object) -> bool:
    """Whether it takes less processor time than it may on an idle machine of 3 GHz, the best of three."""
    tries = (_seconds(do, *given) for _ in range(_TRIES))
    return any(took < seconds or took < seconds * slowness() for took in tries)  # to measure the machine takes longest


def slowness() -> float:
    """How much longer work takes now than on such a machine, at least 1: a slower one, or one with other work."""
    return max(1.0, min(_seconds(_work) for _ in range(_TRIES)) / _WORK_SECONDS)


def _work() -> None:
    counted = Counter(word.lower() for word in re.findall(r"\w+", _WORDS))
    json.loads(json.dumps([*counted.items()] * 200))


def _seconds(do: Callable[..., object], *given: object) -> float:
    started = time.process_time()
    do(*given)
    return time.process_time() - started
