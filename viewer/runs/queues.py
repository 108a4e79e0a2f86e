"""Queues are named by store, so that a worker takes the runs of the stores it has and leaves the others alone."""

from __future__ import annotations

import hashlib

from django_tasks import DEFAULT_TASK_QUEUE_NAME

from viewer.stores.registry import all_stores, is_here

LONGEST = 32  # characters, the column of django-tasks-db


def queue_of(store: str) -> str:
    """The queue for runs of the store of this name: its name, or a digest where that is too long."""
    name = f"store {store}"
    return name if len(name) <= LONGEST else hashlib.sha256(name.encode()).hexdigest()[:LONGEST]


def stores_here() -> set[str]:
    """Names of the stores whose runs can be worked on here."""
    return {store.name for store in all_stores() if is_here(store)}


def queues_here() -> list[str]:
    """The queues that a worker here serves."""
    return [DEFAULT_TASK_QUEUE_NAME, *map(queue_of, sorted(stores_here()))]
