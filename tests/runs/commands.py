"""The commands of `manage.py`, with what they print."""

from __future__ import annotations

from io import StringIO

from django.core.management import call_command


def run(*arguments: str) -> str:
    """What the command prints."""
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()
