"""Whose rules the sessions of a store follow, in our own database."""

from __future__ import annotations

from django.db import models


class StoreRules(models.Model):
    """Whose rules the sessions of a store follow, as typed on the settings page.

    `workspace` is the directory for sessions without a working directory. `sections` are the titles carried over a
    compaction, in order: null for the usual ones, [] for none.
    """

    store = models.CharField(max_length=200, unique=True)
    workspace = models.TextField(blank=True, default="")
    sections = models.JSONField(null=True)

    class Meta:
        db_table = "runs_storerules"  # where it was before

    def __str__(self) -> str:
        return f"{self.store}: {self.workspace}"
