"""The queue: the rows of the runs that wait for a worker. A worker takes only those of the stores that it has."""

from __future__ import annotations

from viewer.stores.registry import all_stores, is_here

from .run_claim import unclaimed


def stores_here() -> set[str]:
    """Names of the stores whose runs can be worked on here."""
    return {store.name for store in all_stores() if is_here(store)}


def next_run() -> int | None:
    """The id of the run that has waited longest here. Several workers may get the same id; one can claim it."""
    waiting = unclaimed().filter(queued_at__isnull=False, store__in=stores_here())
    return waiting.order_by("queued_at", "pk").values_list("pk", flat=True).first()
