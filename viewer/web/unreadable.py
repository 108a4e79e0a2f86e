"""Lists of stores' data: a line that cannot be made is listed with its problem, and the others are unaffected."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from viewer.stores.database_errors import DATABASE_ERRORS
from viewer.stores.errors import StoreError

Row = TypeVar("Row")
Shown = TypeVar("Shown")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UnreadableLine:
    """A line that cannot be shown: what it is about, if that is known, and a sentence why."""

    id: str
    store: str
    why: str


def lines_of(
    rows: Iterable[Row], make: Callable[[Row], Shown | UnreadableLine], identify: Callable[[Row], tuple[object, str]]
) -> tuple[tuple[Shown, ...], tuple[UnreadableLine, ...]]:
    """`make` applied to each row, and the rows for which it failed; `identify` gives a row's id and store.

    Refusals of a store, and errors of its database, are not a row's fault and pass through to the caller.
    """
    shown: list[Shown] = []
    broken: list[UnreadableLine] = []
    for row in rows:
        try:
            line = make(row)
        except (StoreError, *DATABASE_ERRORS):
            raise
        except Exception as failure:  # a row may contain anything; the log says where it failed
            row_id, store = identify(row)
            logger.exception("A line of a list cannot be shown: %r of store %s", row_id, store)
            line = UnreadableLine(
                str(row_id), store, f"It cannot be shown ({type(failure).__name__}): see the site's log."
            )
        if isinstance(line, UnreadableLine):
            broken.append(line)
        else:
            shown.append(line)
    return tuple(shown), tuple(broken)
