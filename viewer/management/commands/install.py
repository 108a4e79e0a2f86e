"""`manage.py install AGENT`: put Palimpsest into an agent, show what that writes, or take it out again."""

import sys
from argparse import ArgumentParser, BooleanOptionalAction
from typing import Any

from viewer.inside import doors
from viewer.inside.agents import NAMES
from viewer.inside.agents.agent import DoorOptions
from viewer.management.quick import QuickCommand
from viewer.stores.errors import StoreError


class Command(QuickCommand):
    """Install a door into an agent."""

    help = (
        "Put Palimpsest into an agent: notes after a compaction, recall of what was summarised away, and if wanted our "
        "engine where the agent compacts. Everything that is written is shown first."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("agent", choices=NAMES)
        parser.add_argument("--store", default="", help="which of several stores of this agent (`stores` lists them)")
        parser.add_argument("--profile", default="", help="of Hermes: the store of this profile")
        parser.add_argument("--show", action="store_true", help="only show what would be written")
        parser.add_argument("--remove", action="store_true", help="take everything out again")
        parser.add_argument("--yes", action="store_true", help="do not ask")
        parser.add_argument("--notes", action=BooleanOptionalAction, default=True, help="notes after a compaction")
        parser.add_argument("--recall", action=BooleanOptionalAction, default=True, help="tools of recall (MCP)")
        parser.add_argument("--engine", action=BooleanOptionalAction, default=False, help="our engine compacts")

    def handle(self, *args: Any, agent: str, show: bool, remove: bool, yes: bool, **options: Any) -> None:
        try:
            found, store = doors.choose(agent, options["store"], options["profile"])
            if remove:
                door = doors.door_of(store)
                if door is None:
                    sys.exit(f"Nothing is installed in {found.label} ({store.name}).")
                for line in (*doors.remove(store), f"Removed from {found.label}: {store.name}."):
                    self.stdout.write(line)
                return
            chosen = DoorOptions(options["notes"], options["recall"], options["engine"])
            planned = doors.plan(found, store, chosen)
            for file in planned.files:
                self.stdout.write(file.diff)
            if show or not (yes or self._agreed()):
                return
            done = doors.install(found, store, chosen)
        except StoreError as problem:
            sys.exit(problem.message)
        self.stdout.write(f"Installed in {found.label}: {store.name}. {' '.join(done.next_steps)}")

    def _agreed(self) -> bool:
        if not sys.stdin.isatty():
            sys.exit("Nothing was written: say --yes to write this.")
        return input("Write this? [y/N] ").strip().lower() in ("y", "yes")
