"""Which workers are alive: each signs now and then, in our own database, so that a page can say whether any is."""

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
    """Say that the worker of this name is alive, and forget those that have long been gone."""
    Worker.objects.update_or_create(name=name, defaults={"seen_at": Now()})
    Worker.objects.filter(seen_at__lt=Now() - timedelta(days=1)).delete()


def forget_dead() -> bool:
    """Forget the workers of this machine that were killed; whether there are any."""
    dead = [name for name in Worker.objects.values_list("name", flat=True) if lock_owners.is_dead(name)]
    return bool(dead and Worker.objects.filter(name__in=dead).delete()[0])


def leave(name: str) -> None:
    """The worker of this name ends. Where our database is away, the sign grows old instead."""
    with suppress(Error):
        Worker.objects.filter(name=name).delete()


def alive() -> int:
    """How many workers signed lately, on all machines that share our database, but those of this machine that died."""
    lately = Worker.objects.filter(seen_at__gte=Now() - timedelta(seconds=MISSED * SIGN_SECONDS))
    return sum(not lock_owners.is_dead(name) for name in lately.values_list("name", flat=True))
