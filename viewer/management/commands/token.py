"""`manage.py token create | list | revoke`: API tokens for other tools."""

import sys
from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.utils import timezone

from viewer.management.quick import QuickCommand
from viewer.models import ApiToken
from viewer.web import auth


class Command(QuickCommand):
    """Create, list or revoke API tokens."""

    help = "Make, list or revoke tokens of the JSON API."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a token and show it, once")
        create.add_argument("name")
        create.add_argument("--scopes", default="read", help="with commas: read,write,compact (default: read)")
        actions.add_parser("list", help="names, scopes, when made and last used")
        actions.add_parser("revoke", help="make a token useless").add_argument("name")

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        if action == "create":
            self._create(options["name"], options["scopes"])
        elif action == "revoke":
            self._revoke(options["name"])
        else:
            self._list()

    def _create(self, name: str, scopes: str) -> None:
        try:
            token = auth.new_token(name, [scope.strip() for scope in scopes.split(",") if scope.strip()])
        except ValueError as problem:
            sys.exit(str(problem))
        self.stdout.write(token)
        self.stderr.write("Keep it now: it is not shown again.")

    def _list(self) -> None:
        for token in ApiToken.objects.order_by("name"):
            used = f"last used {_moment(token.last_used_at)}" if token.last_used_at else "never used"
            self.stdout.write(f"{token.name}  {','.join(token.scopes)}  made {_moment(token.created_at)}, {used}")

    def _revoke(self, name: str) -> None:
        if not ApiToken.objects.filter(name=name).delete()[0]:
            sys.exit(f"There is no token named {name}.")
        self.stdout.write(f"Revoked {name}.")


def _moment(at: datetime) -> str:
    return f"{timezone.localtime(at):%Y-%m-%d %H:%M}"
