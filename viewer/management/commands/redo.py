"""`manage.py redo RUN_ID`: apply a compaction again that was made here and undone."""

import sys
from argparse import ArgumentParser
from typing import Any

from viewer.management.quick import QuickCommand
from viewer.runs import service
from viewer.stores.errors import StoreError


class Command(QuickCommand):
    """Redo one run."""

    help = "Apply a compaction again that was undone, where the kind of store can do that (Codex): the same summary."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", type=int, help="number of the run, as `compact` and the pages name it")

    def handle(self, *args: Any, run: int, **options: Any) -> None:
        try:
            service.redo_run(service.get_run(run))
        except StoreError as problem:
            sys.exit(problem.message)
        self.stdout.write(f"Run {run} is applied again.")
