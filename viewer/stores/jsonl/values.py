"""Values of the object in a line, which may be of any type."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Any


def interned(value: Any) -> str:
    """A short text that many lines have, stored once in memory; "" for any other value."""
    return sys.intern(value) if isinstance(value, str) else ""


def seconds(stamp: Any) -> float:
    """Epoch seconds of an ISO time, 0.0 for any other value."""
    try:
        return datetime.fromisoformat(stamp).timestamp() if isinstance(stamp, str) else 0.0
    except (ValueError, OverflowError):
        return 0.0
