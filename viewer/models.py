"""Access: one-time sign-in links for browsers, API tokens for other tools."""

from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone

LINK_LIFETIME = timedelta(hours=24)


def link_expiry() -> datetime:
    """When a sign-in link made now stops working."""
    return timezone.now() + LINK_LIFETIME


class SignInLink(models.Model):
    """A link that signs one browser in, once; only the sha256 of its token is kept."""

    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(default=link_expiry)
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"sign-in link of {self.created_at:%Y-%m-%d %H:%M}"


class ApiToken(models.Model):
    """A bearer token of the JSON API; only its sha256 is kept, the token itself is shown once."""

    name = models.CharField(max_length=100, unique=True)
    token_hash = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name
