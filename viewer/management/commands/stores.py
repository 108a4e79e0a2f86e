"""`manage.py stores`: what is open, and what works there or why not."""

from typing import Any

from django.core.management.base import BaseCommand

from viewer.up import listing


class Command(BaseCommand):
    """List the stores."""

    help = "List the stores: path, schema, sessions, and whether their sessions can be compacted or why not."

    def handle(self, *args: Any, **options: Any) -> None:
        for line in listing.lines():
            self.stdout.write(line)
