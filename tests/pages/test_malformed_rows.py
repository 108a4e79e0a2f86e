"""No value in a row of Hermes makes a page, the API or an export fail."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing, suppress

import pytest
from django.test import Client

from tests.clients import ApiClient
from tests.factories.stores import EmptyStore
from tests.slow import slow
from viewer.web import auth

VALUES = (
    None, 2**63 - 1, math.inf, "a\0b", '{"cut": ', '[null, 1, {"function": 7}]', '["\\ud800"]', "[" * 100_000,
    b"\xff\x00\xfe",
    '\0json:[1, null, {"type": "text", "text": 5}, {"type": []}, {"type": "image_url", "image_url": 7}]', "\0json:7",
)  # fmt: skip


@pytest.mark.parametrize(
    ("column", "values"),
    [
        *(("content", [VALUES]), ("tool_calls", [VALUES])),
        *slow(*((column, [VALUES]) for column in ("timestamp", "role", "reasoning", "display_kind"))),
        *slow(*((column, [(value,) for value in VALUES]) for column in ("content", "tool_calls"))),
    ],
)
def test_a_row_with_any_value_is_shown(
    signed_in: Client, empty_store: EmptyStore, column: str, values: list[tuple[object, ...]]
) -> None:
    """All values in one session, and each in a session of its own."""
    api_client = ApiClient(auth.new_token("everything", auth.SCOPES))
    for number, value in enumerate(values):
        name = f"s{number}"
        href = empty_store.session(name)
        empty_store.say(name, "user", "before")
        for each in value:
            row = empty_store.say(name, "assistant", "spoilt")
            with closing(sqlite3.connect(empty_store.path)) as con, suppress(sqlite3.IntegrityError), con:
                con.execute(f"UPDATE messages SET {column} = ? WHERE id = ?", [each, row])
        empty_store.say(name, "user", "a lighthouse")
        for view in ("", "/context", "/rows"):
            answer = signed_in.get(f"{href}{view}", follow=True)
            assert answer.status_code == 200, (view, value)
        for view in ("history", "live", "raw"):
            status, _ = api_client.call("GET", f"{href}/messages", view=view)
            assert status == 200, (view, value)
        for format in ("json", "jsonl", "md", "html"):
            assert b"a lighthouse" in signed_in.get(f"{href}/export", {"format": format}).getvalue(), (format, value)
