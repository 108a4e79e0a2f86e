"""The steps of whoever compacts a session in the browser."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.processes import Site

WEEK_29 = "20260714_043320_a80629"

PATIENCE = 60_000  # milliseconds: the worker looks for tasks once a second, on a machine with other work


def query(path: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as con:
        return con.execute(sql, values).fetchall()


def live(path: Path, session_id: str) -> list[tuple[Any, ...]]:
    columns = "id, role, content, tool_calls, tool_call_id, timestamp"
    return query(path, f"SELECT {columns} FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", session_id)


def sign_in(page: Page, site: Site) -> None:
    page.goto(site.link)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Sessions", level=1)).to_be_visible()


def compact_now(page: Page) -> None:
    page.get_by_role("button", name="Compact now…").click()
    question = page.get_by_role("group", name="Confirm")
    expect(question).to_contain_text("You can undo this.")
    question.get_by_role("button", name="Compact").click()
