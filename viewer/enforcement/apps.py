"""The Django app for what follows a compaction."""

from typing import Any

from django.apps import AppConfig


class EnforcementConfig(AppConfig):
    name = "viewer.enforcement"
    label = "enforcement"

    def ready(self) -> None:
        from viewer.runs import signals

        signals.applied.connect(_on_applied)
        signals.undone.connect(_on_undone)


# What they need is all stores and the engine: only who compacts loads it.


def _on_applied(**sent: Any) -> None:
    from . import auditing

    auditing.on_applied(**sent)


def _on_undone(**sent: Any) -> None:
    from . import auditing

    auditing.on_undone(**sent)
