"""Labels of sessions, and saved views of the list."""

from __future__ import annotations

from django.db import models


class SessionLabel(models.Model):
    """What somebody added to one session: `tags` are a list of strings, in the order they were typed."""

    store = models.CharField(max_length=200)
    session_id = models.TextField()
    pinned = models.BooleanField(default=False)
    tags = models.JSONField(default=list)
    note = models.TextField(default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "session_id"], name="one_label_a_session")]

    def __str__(self) -> str:
        return f"{self.store}/{self.session_id}"


class SavedView(models.Model):
    """A narrowed list under a name; `query` is that of its address, without the question mark."""

    name = models.CharField(max_length=60, unique=True)
    query = models.TextField()

    def __str__(self) -> str:
        return self.name
