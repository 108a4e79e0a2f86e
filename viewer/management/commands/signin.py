"""`manage.py signin`: a new sign-in link."""

from typing import Any

from django.conf import settings

from viewer.management.quick import QuickCommand
from viewer.web import auth


class Command(QuickCommand):
    """Print a sign-in link."""

    help = "Print a link that signs one browser in, once, within 24 hours."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{settings.SITE_ADDRESS}{auth.new_link()}")
