"""Times as other programs stored them: seconds since 1970, or milliseconds, or values that cannot be a time."""

from __future__ import annotations

import time
from typing import Any

EARLIEST = 946_684_800.0  # the year 2000: no agent is as old
AHEAD = 86_400.0  # seconds by which another machine's clock may be ahead of ours


def known(stored: Any) -> float:
    """The time that a stored number means, in epoch seconds; 0.0 where it means none: it is not a number, or is before
    the first agents or in the future.
    """
    if isinstance(stored, bool) or not isinstance(stored, (int, float)):
        return 0.0
    latest = time.time() + AHEAD
    return next((float(at) for at in (stored, stored / 1000) if EARLIEST <= at <= latest), 0.0)
