"""`manage.py mcp`: the MCP server that an agent starts, on standard input and output."""

import asyncio
import os
import sys
from argparse import ArgumentParser
from typing import Any

from viewer.management.quick import QuickCommand
from viewer.mcp.tools import TOOLS, Caller


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
        if "read" not in asked or not asked <= {each.scope for each in TOOLS}:
            sys.exit("Scopes are read, or read,compact.")
        from viewer.mcp.server import serve  # takes a second

        asyncio.run(serve(Caller(asked, store, dict(os.environ), os.getcwd(), works_here=True)))
