"""`manage.py branch STORE SESSION`: a new session with the context of this one, now or before a compaction."""

import sys
from argparse import ArgumentParser
from typing import Any

from viewer.api.branches import branch_out
from viewer.api.schemas import ErrorOut, ProblemOut
from viewer.management.quick import QuickCommand
from viewer.runs import branching
from viewer.stores.errors import StoreError
from viewer.stores.registry import get_store


class Command(QuickCommand):
    """Branch one session."""

    help = "Make a new session that goes on from the context of another one, which stays as it is."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("store", help="name of the store (`manage.py stores`)")
        parser.add_argument("session", help="id of the session")
        parser.add_argument(
            "--before",
            type=int,
            metavar="HANDOFF",
            help="the context before the compaction with this handoff (its number in the boundary's address, "
            "`handoff_id` in the API); without it the context as it is now",
        )
        parser.add_argument("--json", action="store_true", help="answer in the shapes of the JSON API")

    def handle(self, *args: Any, store: str, session: str, before: int | None, json: bool, **options: Any) -> None:
        try:
            target = get_store(store)
            new = branch_out(target, branching.branch(target, session, before))
        except StoreError as refused:
            if json:
                problem = ProblemOut(error=ErrorOut(code=refused.code, message=refused.message))
                self.stdout.write(problem.model_dump_json(indent=2))
            sys.exit(refused.message)
        if json:
            self.stdout.write(new.model_dump_json(indent=2))
        else:
            tokens = "" if new.tokens_live is None else f", {new.tokens_live:,} tokens"  # nobody counted them yet
            self.stdout.write(
                f"Branched: session {new.id}, “{new.title}”, {new.messages_live:,} messages{tokens}. "
                f"Go on with it: {new.resume}"
            )
