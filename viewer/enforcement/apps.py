"""The Django app of what follows a compaction."""

from django.apps import AppConfig


class EnforcementConfig(AppConfig):
    name = "viewer.enforcement"
    label = "enforcement"

    def ready(self) -> None:
        from viewer.runs import signals  # models are there only now

        from . import auditing

        signals.applied.connect(auditing.on_applied)
        signals.undone.connect(auditing.on_undone)
