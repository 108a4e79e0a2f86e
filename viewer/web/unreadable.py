"""Lists of what stores hold: a line that cannot be made is listed with its problem, and the others are as usual."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from viewer.stores.errors import DATABASE_ERRORS, StoreError

Row = TypeVar("Row")
Shown = TypeVar("Shown")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class UnreadableLine:
    """A line that cannot be shown: what it is about, as far as that is known, and a sentence why."""

    id: str
    store: str
    why: str


def lines_of(
    rows: Iterable[Row], make: Callable[[Row], Shown | UnreadableLine], known: Callable[[Row], tuple[object, str]]
) -> tuple[tuple[Shown, ...], tuple[UnreadableLine, ...]]:
    """What `make` makes of each row, and what it cannot be made of; `known` gives a row's id and store.

    Refusals of a store, and errors of its database, are no row's fault: they go on to the caller.
    """
    shown: list[Shown] = []
    broken: list[UnreadableLine] = []
    for row in rows:
        try:
            made = make(row)
        except (StoreError, *DATABASE_ERRORS):
            raise
        except Exception as failure:  # whatever a row may hold; the log says where it failed
            row_id, store = known(row)
            logger.exception("A line of a list cannot be shown: %r of store %s", row_id, store)
            made = UnreadableLine(
                str(row_id), store, f"It cannot be shown ({type(failure).__name__}): see the site's log."
            )
        if isinstance(made, UnreadableLine):
            broken.append(made)
        else:
            shown.append(made)
    return tuple(shown), tuple(broken)
