"""What is installed into agents, and when it called."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from viewer.models import ApiToken


class Door(models.Model):
    """What is installed into the agent of one store.

    `options` are `agents.agent.DoorOptions` as an object; `written` is what `writing.take_back` needs. `called_at` is
    when it last called the site, `recalled_at` when the agent last used a tool of recall.
    """

    agent = models.CharField(max_length=40)
    store = models.CharField(max_length=200, unique=True)
    token = models.OneToOneField(ApiToken, null=True, on_delete=models.SET_NULL, related_name="door")
    options = models.JSONField(default=dict)
    written = models.JSONField(default=list)
    installed_at = models.DateTimeField(default=timezone.now)
    called_at = models.DateTimeField(null=True)
    recalled_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"door of {self.store} in {self.agent}"
