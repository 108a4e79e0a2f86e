"""`manage.py up`: prepare everything, then serve with a worker (`make run`)."""

import os
import socket
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings

from viewer.management.quick import QuickCommand
from viewer.serve import listing, prepare, supervisor
from viewer.web import auth


class Command(QuickCommand):
    """Prepare, start server and worker, print a sign-in link, run until stopped."""

    help = "Set up what is missing, then serve the site with one worker, and print a sign-in link."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--with-parent", action="store_true", help="end when the calling process ends")

    def handle(self, *args: Any, with_parent: bool, **options: Any) -> None:
        parent = os.getppid() if with_parent else None
        try:
            listening = self._prepare()
        except prepare.CannotStart as problem:
            sys.exit(str(problem))
        if code := supervisor.run(listening, self._say_link, parent):
            sys.exit(code)

    def _prepare(self) -> socket.socket:
        listening = prepare.listening(settings.HOST, settings.PORT)
        prepare.check_stores()
        prepare.own_database()
        if prepare.demo_store():
            self._say(f"Made the demo store {settings.DEMO_STORE}")
        if prepare.static_files():
            self._say("Collected static files")
        self._say("Stores:")
        for line in listing.lines():
            self._say(f"  {line}")
        return listening

    def _say_link(self) -> None:
        if settings.START_LINK:
            self._say(f"Sign in: {settings.SITE_ADDRESS}{auth.new_link()}")
            self._say("The link works once, within 24 hours. Ctrl-C ends the server.")
        else:
            self._say(f"Serving {settings.SITE_ADDRESS}{settings.BASE_PATH}; Ctrl-C ends the server.")
            self._say(f"{settings.COMMAND} signin prints a link to sign in with.")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
