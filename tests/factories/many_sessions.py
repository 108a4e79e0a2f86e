"""Stores of invented talk: many small sessions, or few long ones."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

from viewer.stores.hermes import schema

BEGAN = 1_790_000_000.0


def make(path: Path, sessions: int, messages: int, name: str = "s") -> list[str]:
    """An empty store filled with sessions of a user and an assistant who talk in turns; their ids."""
    schema.create(path)
    ids = [f"{name}{number:03}" for number in range(sessions)]
    words = random.Random(7)
    with closing(sqlite3.connect(path)) as con, con:
        for session_id in ids:
            con.execute(
                "INSERT INTO sessions (id, source, model, started_at, message_count) VALUES (?, ?, ?, ?, ?)",
                [session_id, "telegram", "gpt-4o", BEGAN, messages],
            )
            con.executemany(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, ?)",
                [
                    (session_id, ("user", "assistant")[at % 2], _talk(session_id, at, words), BEGAN + at)
                    for at in range(messages)
                ],
            )
    return ids


def _talk(session_id: str, at: int, words: random.Random) -> str:
    said = " ".join(words.choices(["order", "ship", "crate", "invoice", "harbour", "delay", "carrier", "pallet"], k=40))
    return f"{session_id} message {at}: {said}, see /srv/{session_id}/{at}.log"
