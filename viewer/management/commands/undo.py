"""`manage.py undo RUN_ID`: take back a compaction that was made here."""

import sys
from argparse import ArgumentParser
from typing import Any

from viewer.management.quick import QuickCommand
from viewer.runs import service
from viewer.stores.errors import StoreError


class Command(QuickCommand):
    """Undo one run."""

    help = "Take a compaction back: the messages from before return to the agent's context, later ones stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", type=int, help="number of the run, as `compact` and the pages name it")

    def handle(self, *args: Any, run: int, **options: Any) -> None:
        try:
            service.undo_run(service.get_run(run))
        except StoreError as problem:
            sys.exit(problem.message)
        self.stdout.write(f"Undone: run {run} is taken back.")
