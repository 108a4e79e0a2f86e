"""What something costs, for tests of what must not cost more than in proportion to what it is given.

Calls are counted where the work is done in Python: the same number on every machine, however busy it is. What happens
inside one call of C is not seen by that; a regular expression is such a call, so those are timed. `make bench` prints
what things take.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

_TRIES = 3


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
    """Whether it takes less processor time, the best of three: a busy machine makes processor time longer, too."""
    return any(_seconds(do, *given) < seconds for _ in range(_TRIES))


def _seconds(do: Callable[..., object], *given: object) -> float:
    started = time.process_time()
    do(*given)
    return time.process_time() - started
