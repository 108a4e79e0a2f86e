"""`manage.py compact STORE SESSION`: plan, or compact, from a terminal; no worker is needed."""

import sys
from argparse import ArgumentParser
from dataclasses import asdict
from textwrap import indent
from typing import Any

from django.conf import settings

import compaction
from compaction.strategy import STRATEGIES
from viewer.api import shapes
from viewer.api.schemas import ErrorOut, ProblemOut
from viewer.management.quick import QuickCommand
from viewer.runs import job, outcomes, planning, service
from viewer.runs.errors import WrongStatus
from viewer.runs.models import Run
from viewer.runs.planning import AS_SET, DryRun, Options, strategy_of
from viewer.runs.providers import PROVIDERS
from viewer.runs.providers.summarizers import OFFLINE
from viewer.stores import clean_text
from viewer.stores.base import Store
from viewer.stores.errors import StoreError
from viewer.stores.registry import agent_of, get_store
from viewer.workspaces.rules import Rules, reason_in


class Command(QuickCommand):
    """Compact one session, or show what that would do."""

    help = (
        "Compact a session: the older messages leave the agent's context for a summary. `undo` takes back what was "
        "compacted in place."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("store", help="name of the store (`manage.py stores`)")
        parser.add_argument("session", help="id of the session")
        parser.add_argument("--plan", action="store_true", help="only show what would be kept and summarised")
        labels = "; ".join(f"{each.name}: {each.label}" for each in STRATEGIES.values())
        as_set = "without it, as the settings of the store say"
        parser.add_argument("--strategy", default=AS_SET, help=f"{labels}; {as_set}")
        parser.add_argument(
            "--mode",
            default=AS_SET,
            help=f"in_place (the same session goes on) or split (a new session goes on); {as_set}",
        )
        parser.add_argument("--focus", default="", help="what the summary should not lose")
        parser.add_argument("--keep-last", type=int, metavar="N", help="keep at least the last N messages")
        summarizers = ", ".join([OFFLINE.name, *PROVIDERS])
        parser.add_argument("--summarizer", default=OFFLINE.name, help=f"one of: {summarizers}")
        parser.add_argument(
            "--no-rules", dest="carry", action="store_false", help="leave the workspace's rules out of the handoff"
        )
        parser.add_argument("--json", action="store_true", help="answer in the shapes of the JSON API")

    def handle(self, *args: Any, json: bool, plan: bool, **options: Any) -> None:
        names = ("strategy", "focus", "keep_last", "summarizer", "mode", "carry")
        chosen = Options(**{name: options[name] for name in names})
        try:
            store = get_store(options["store"])
            if plan:
                self._show_plan(planning.draft(store, options["session"], chosen), json)
            else:
                self._show_run(_done(store, options["session"], chosen), json)
        except (StoreError, compaction.CompactionError) as problem:
            self._refuse(*outcomes.refusal_of(problem), json)

    def _show_plan(self, draft: DryRun, json: bool) -> None:
        if json:
            self.stdout.write(shapes.plan(draft).model_dump_json(indent=2))
            return
        plan = draft.plan
        shortens = plan.keeps_middle
        where = "into a new session (split)" if draft.mode == "split" else "in place"
        self.stdout.write(f"how             {strategy_of(draft.strategy).label}, {where}")
        for name, ids, tokens in [
            ("kept before" if shortens else "start, kept", draft.head_ids, plan.head_tokens),
            ("earlier note" if shortens else "earlier summary", draft.lifted_ids, plan.earlier_tokens),
            ("to shorten" if shortens else "to summarise", draft.middle_ids, plan.middle_tokens),
            ("recent, kept", draft.tail_ids, plan.tail_tokens),
        ]:
            self.stdout.write(
                f"{name:<15} {len(ids):>6,} {'message ' if len(ids) == 1 else 'messages'} {tokens:>9,} tokens"
            )
        self.stdout.write(f"context         {draft.tokens_before:,} -> about {draft.tokens_after_estimate:,} tokens")
        if draft.notes:
            self.stdout.write(f"of which        {draft.notes:,} notes of the agent, {draft.note_tokens:,} tokens")
        for sentence in (draft.fallback, *plan.reasons):
            if sentence:
                self.stdout.write(sentence)
        if not shortens:
            self._show_rules(draft.rules, plan.policy.rules)

    def _show_rules(self, rules: Rules, carried: str) -> None:
        source = clean_text.clean(f"{rules.source} in {rules.workspace}")
        if carried:
            self.stdout.write(f"After the summary: {len(carried):,} characters of rules from {source}:")
            self.stdout.write(indent(clean_text.clean(carried), "    "))
        elif rules.text:
            self.stdout.write(f"No rules are carried, as you chose; there are some in {source}.")
        else:
            self.stdout.write(f"No rules are carried. {reason_in(asdict(rules))}")

    def _show_run(self, run: Run, json: bool) -> None:
        if json:
            self.stdout.write(shapes.run(run).model_dump_json(indent=2))
        elif run.status == "applied":
            after = f"Take it back with: {settings.COMMAND} undo {run.pk}"
            if part := run.new_session_id:
                after = f"It goes on in session {part}: {agent_of(get_store(run.store)).resume_command(part)}"
            self.stdout.write(
                f"Compacted: {run.messages_before:,} -> {run.messages_after:,} messages, "
                f"{run.tokens_before:,} -> {run.tokens_after:,} tokens. {after}"
            )
            if run.fallback:
                self.stdout.write(run.fallback)
        if run.status != "applied":
            sys.exit(run.error_message or f"Run {run.pk} is {run.status}.")

    def _refuse(self, code: str, message: str, json: bool) -> None:
        if json:
            refused = ProblemOut(error=ErrorOut(code=code, message=message))
            self.stdout.write(refused.model_dump_json(indent=2))
        sys.exit(message)


def _done(store: Store, session_id: str, options: Options) -> Run:
    """The run, executed in this process; Ctrl-C cancels it."""
    run = service.prepare(store, session_id, options, apply=True)
    try:
        job.compact(run.pk)
    except KeyboardInterrupt:
        try:
            service.cancel(service.get_run(run.pk))
        except WrongStatus as late:
            sys.exit(late.message)
        sys.exit("Cancelled; nothing was written.")
    return service.get_run(run.pk)
