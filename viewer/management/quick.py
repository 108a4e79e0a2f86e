"""The base class of this site's commands."""

from django.core.management.base import BaseCommand


class QuickCommand(BaseCommand):
    """A command without Django's system checks: they load all pages, which takes as long as the rest of a start. `make
    lint` runs them.
    """

    requires_system_checks = ()
