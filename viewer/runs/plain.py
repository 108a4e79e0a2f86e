"""Text that every database accepts: PostgreSQL refuses NUL, and no database accepts half of a surrogate pair."""

from __future__ import annotations

import re
from typing import Any

_REFUSED = re.compile("[\0\ud800-\udfff]")


def plain(value: Any) -> Any:
    """A JSON value with both replaced by U+FFFD in its texts."""
    if isinstance(value, str):
        return _REFUSED.sub("\ufffd", value)
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value
