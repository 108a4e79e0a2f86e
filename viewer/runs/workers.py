"""Which workers are alive: each signs regularly in our own database, so that a page can say whether there is any."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from django.db import Error
from django.db.models.functions import Now

from viewer.stores import lock_owners

from .models import Worker

SIGN_SECONDS = 30.0
MISSED = 3  # signs that are missing before a worker counts as gone


def sign(name: str) -> None:
    """Record that the worker of this name is alive, and delete workers that have been gone for a day."""
    Worker.objects.update_or_create(name=name, defaults={"seen_at": Now()})
    Worker.objects.filter(seen_at__lt=Now() - timedelta(days=1)).delete()


def forget_dead() -> bool:
    """Delete the workers of this machine that were killed; returns whether there were any."""
    dead = [name for name in Worker.objects.values_list("name", flat=True) if lock_owners.is_dead(name)]
    return bool(dead and Worker.objects.filter(name__in=dead).delete()[0])


def leave(name: str) -> None:
    """Delete a worker that ends. If our database cannot be reached, its last sign becomes old instead."""
    with suppress(Error):
        Worker.objects.filter(name=name).delete()


def alive() -> int:
    """How many workers signed recently, on all machines with our database; dead ones of this machine do not count."""
    lately = Worker.objects.filter(seen_at__gte=Now() - timedelta(seconds=MISSED * SIGN_SECONDS))
    return sum(not lock_owners.is_dead(name) for name in lately.values_list("name", flat=True))
