"""The SQL that is run on stores."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest


def traced_statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every SQL statement that is run from now on over a connection opened from now on; grows as they are run."""
    seen: list[str] = []
    plain = sqlite3.connect

    def traced(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        con: sqlite3.Connection = plain(*args, **kwargs)
        con.set_trace_callback(seen.append)
        return con

    monkeypatch.setattr(sqlite3, "connect", traced)
    return seen
