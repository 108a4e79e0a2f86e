"""`manage.py mcp`: the MCP server that an agent starts, on standard input and output."""

import asyncio
import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.db import connection

from viewer.management.quick import QuickCommand
from viewer.mcp.tools import Caller
from viewer.stores.errors import StoreError
from viewer.web import auth, own_database


class Command(QuickCommand):
    """Answer an agent until it closes our standard input."""

    help = (
        "An MCP server on standard input and output, for an agent to start: it searches and reads what was summarised "
        "away. The site need not run."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--store", default="", help="name of the only store to look in (`manage.py stores`)")
        parser.add_argument(
            "--scopes", default="read", help="read, or read,compact: then it can also compact sessions and undo that"
        )

    def handle(self, *args: Any, store: str, scopes: str, **options: Any) -> None:
        asked = frozenset(each.strip() for each in scopes.split(",") if each.strip())
        if "read" not in asked or not asked <= set(auth.SCOPES):
            sys.exit("Scopes are read, or read,compact.")
        _have_tables()
        caller = Caller(asked, store, dict(os.environ), os.getcwd(), works_here=True)
        try:
            caller.stores()
        except StoreError as problem:
            sys.exit(problem.message)
        from viewer.mcp.server import serve  # takes a second

        asyncio.run(serve(caller))


def _have_tables() -> None:
    """Make the tables of our own database where there are none yet; ends the command where they are of another
    version.
    """
    if not connection.introspection.table_names():
        call_command("migrate", verbosity=0, stdout=sys.stderr)
    elif own_database.is_behind():
        sys.exit("Palimpsest's own database has no tables of this version: start the site, or run `manage.py migrate`.")
