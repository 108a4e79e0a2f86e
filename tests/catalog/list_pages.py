"""Filters and orders of the list of sessions, and all of its pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from viewer.catalog.lines import Order, SessionFilter, page_of_lines, sort_key
from viewer.stores.registry import get_store


def walk(limit: int, **wanted: Any) -> Iterator[str]:
    """The ids of all pages."""
    narrowed, after = SessionFilter(**wanted), None
    while True:
        page = page_of_lines(narrowed, [get_store("own")], limit, after)
        yield from (line.session_id for line in page.lines)
        if not page.more:
            return
        after = sort_key(page.lines[-1], narrowed.order)


ORDERS: tuple[Order, ...] = ("recent", "created", "messages")

FILTERS: list[dict[str, Any]] = [
    {},
    {"source": "telegram"},
    {"source": "fax"},
    {"source": "none such"},
    {"model": "m2", "state": "open"},
    {"state": "ended", "compacted": True},
    {"state": "archived", "compacted": False, "source": "cron"},
    {"near": True},
    {"q": "common"},
    {"q": "COMMON title", "source": "cli"},
    {"q": "zebrafinch"},
    {"q": "s000002"},
    {"q": "z"},
    {"q": "% _ !"},
]
