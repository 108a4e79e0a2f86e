"""`manage.py stores`: what is open, and what works there or why not; `--create` creates the tables of a new store."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from viewer.management.quick import QuickCommand
from viewer.serve import listing
from viewer.stores.errors import StoreError
from viewer.stores.registry import get_store, make_empty


class Command(QuickCommand):
    """List the stores, or create one."""

    help = "List the stores: path, schema, sessions, and whether their sessions can be compacted or why not."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--create",
            metavar="NAME",
            help="make an empty store where PALIMPSEST_STORES says that NAME is: the tables in a PostgreSQL database, "
            "or a SQLite file; what is there already is left as it is",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["create"]:
            self.stdout.write(_create(options["create"]))
        for line in listing.lines():
            self.stdout.write(line)


def _create(name: str) -> str:
    """Create the store of this name; returns what was created, as a sentence."""
    try:
        store = get_store(name)
        return make_empty(store)
    except (StoreError, OSError) as problem:
        raise CommandError(str(problem)) from None
