"""`manage.py demo`: the demo store."""

from typing import Any

from django.conf import settings

from viewer.management.quick import QuickCommand
from viewer.serve import prepare


class Command(QuickCommand):
    """Make the demo store if it is missing."""

    help = "Make the demo store if it is missing."

    def handle(self, *args: Any, **options: Any) -> None:
        created = prepare.demo_store()
        self.stdout.write(f"{'Made' if created else 'It is there already:'} {settings.DEMO_STORE}")
