"""`manage.py migrate`: Django's command, which would silently leave out the tables of a database that is too old."""

import sys
from typing import Any

from django.core.management.commands import migrate

from viewer.web.own_database import TOO_OLD, is_too_old


class Command(migrate.Command):
    """Bring the site's own tables up to date."""

    def handle(self, *args: Any, **options: Any) -> None:
        if is_too_old():
            sys.exit(TOO_OLD)
        super().handle(*args, **options)
