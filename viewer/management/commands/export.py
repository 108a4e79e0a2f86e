"""`manage.py export STORE SESSION > file`: a session as Markdown, HTML, JSON or JSON lines."""

import os
import sys
from argparse import ArgumentParser
from typing import Any, get_args

from viewer.exports import CONTENT_TYPES, Format, View, export
from viewer.management.quick import QuickCommand
from viewer.stores.errors import StoreError


class Command(QuickCommand):
    """Write one session to the standard output."""

    help = "Write a session to the standard output, with what looks like a secret redacted."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("store", help="name of the store (`manage.py stores`)")
        parser.add_argument("session", help="id of the session")
        parser.add_argument("--format", choices=list(CONTENT_TYPES), default="md", help="md if not given")
        parser.add_argument("--view", choices=get_args(View), default="history", help="history if not given")
        parser.add_argument("--no-redact", "--no-mask", action="store_true", help="leave passwords and keys in it")

    def handle(
        self, *args: Any, store: str, session: str, format: Format, view: View, no_redact: bool, **options: Any
    ) -> None:
        try:
            exported = export(store, session, format, view, redact=not no_redact)
        except StoreError as refused:
            sys.exit(refused.message)
        try:
            for chunk in exported.chunks:
                sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
        except BrokenPipeError:  # whoever reads it has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        if not exported.outcome.complete:
            sys.exit(exported.outcome.note)
