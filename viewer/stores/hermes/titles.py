"""Titles of sessions: at most 100 characters, and no two alike in a store (`docs/hermes.md` section 7)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from viewer.stores.errors import TitleTaken

from .dialect import StoreConnection

LONGEST = 100  # characters
_NUMBERED = re.compile(r"(.+?) #(\d+)", re.DOTALL)


def cleaned(title: str) -> str:
    """The title as the agent would store it: printable, single spaces, not too long."""
    printable = "".join(character if character.isprintable() else " " for character in title)
    return " ".join(printable.split())[:LONGEST].rstrip()


def check_free(con: StoreConnection, title: str, *, but: str = "") -> None:
    """Inside a transaction: raise TitleTaken if a session other than `but` has this title."""
    other = title and con.execute("SELECT id FROM sessions WHERE title = ? AND id <> ?", [title, but]).fetchone()
    if other:  # it may be in no list: an older part of the same conversation keeps the name without a number
        raise TitleTaken(f"Session {other[0]} of this store is already named {title!r}; nothing was written.")


def of_branch(con: StoreConnection, name: str) -> str:
    """`name (branch)`, numbered when that is taken."""
    return _first_free(con, name, (f" (branch{'' if number == 1 else f' {number}'})" for number in count(1)))


def of_next_part(con: StoreConnection, title: str) -> str:
    """`title #2` for the part that follows the first one, `#3` for the next: the agent's way of numbering them."""
    numbered = _NUMBERED.fullmatch(title)
    base, newest = (numbered[1], int(numbered[2])) if numbered else (title, 1)
    return _first_free(con, base, (f" #{number}" for number in count(newest + 1)))


def _first_free(con: StoreConnection, name: str, endings: Iterator[str]) -> str:
    for ending in endings:
        title = cleaned(name)[: LONGEST - len(ending)].rstrip() + ending
        if con.execute("SELECT 1 FROM sessions WHERE title = ?", [title]).fetchone() is None:
            return title
    raise AssertionError("unreachable")
