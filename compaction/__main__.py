"""`python -m compaction`: compact a transcript from standard input, to try the engine on any transcript.

Reads a JSON list of messages (or an object with a list under "messages"), or the lines of a session's file as Claude
Code, Codex, OpenClaw or pi write it. Writes the compacted list to standard output and a few lines about it to standard
error. The summary is made without a model, or read from a file (`--summary`). Exit codes: 0 compacted, 1 nothing to
compact or refused, 2 wrong usage or no transcript.

Which rows of an agent's file are in context is known to its kind of store (`viewer.stores`). The command is not part of
the engine, so it alone may import that package, and it does so only for an agent's file: a second reader would read the
file differently.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import compaction
from compaction import CompactionError, Message, Policy, Result, offline
from compaction.handoff import FORMS
from compaction.strategy import STRATEGIES


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        policy = Policy(
            context_window=given.window, focus=given.focus, keep_last=given.keep_last, handoff=given.handoff
        )
        messages = _transcript(sys.stdin.buffer.read())
        written = Path(given.summary).read_text(encoding="utf-8") if given.summary else None
    except (ValueError, OSError, RecursionError) as problem:
        print(f"{parser.prog}: {problem}", file=sys.stderr)
        return 2
    try:
        result = _compacted(messages, policy, given, written)
    except CompactionError as refusal:
        print(f"{refusal.reason} ({refusal.code})", file=sys.stderr)
        return 1
    for line in (*result.plan.reasons, *_about(result), *([_losses(result)] if given.report else [])):
        print(line, file=sys.stderr)
    json.dump(result.messages, sys.stdout, ensure_ascii=True, indent=2)
    print()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m compaction",
        description="Compact a JSON list of messages, or a session's file of Claude Code, Codex, OpenClaw or pi.",
    )
    parser.add_argument("--window", type=int, default=Policy().context_window, metavar="TOKENS", help="context window")
    parser.add_argument("--model", default="", help="model whose tokens are counted")
    parser.add_argument("--focus", default="", help="what the summary should keep above all")
    parser.add_argument("--keep-last", type=int, metavar="N", help="keep at least the last N messages")
    parser.add_argument("--strategy", choices=[*STRATEGIES], default="summary", help="prune: shorten tool output")
    parser.add_argument("--summary", metavar="FILE", help="a summary written by somebody else")
    parser.add_argument("--today", type=date.fromisoformat, metavar="YYYY-MM-DD", help="date of the compaction")
    parser.add_argument(
        "--handoff", choices=FORMS, default="plain", help="hermes: mark the summary as Hermes Agent does"
    )
    parser.add_argument("--report", action="store_true", help="say which exact details are lost (takes longest)")
    return parser


def _transcript(data: bytes) -> list[Message]:
    try:
        value: Any = json.loads(data)
    except ValueError as problem:
        if not _is_object(data.lstrip().partition(b"\n")[0]):
            raise ValueError(f"standard input is not JSON: {problem}") from None
        return _of_agent(data)
    if isinstance(value, dict) and "messages" not in value:
        return _of_agent(data)
    if isinstance(value, dict):
        value = value["messages"]
    if not isinstance(value, list):
        raise ValueError("standard input holds no list of messages")
    return value


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _of_agent(data: bytes) -> list[Message]:
    """The messages in context of a session's file. Raises ValueError."""
    try:
        from viewer.stores.session_file import messages_of
    except ImportError as problem:
        raise ValueError(f"an agent's file is read by the site, which is not installed: {problem}") from None
    return messages_of(data)


def _compacted(messages: list[Message], policy: Policy, given: argparse.Namespace, written: str | None) -> Result:
    count = compaction.counter_for(given.model)
    chosen = STRATEGIES[given.strategy]
    plan = chosen.plan(messages, policy, count)
    if not chosen.asks_model:
        return chosen.apply(plan, "")
    ask = offline.summarize if written is None else lambda request: written  # what a file says is judged as well
    return chosen.apply(plan, compaction.summarize(plan, ask, today=given.today))


def _about(result: Result) -> list[str]:
    report = result.report
    return [
        *report.notes,
        *report.repairs,
        f"{len(result.plan.messages):,} -> {len(result.messages):,} messages, "
        f"{result.tokens_before:,} -> {result.tokens_after:,} tokens.",
        f"{len(report.kept):,} messages stay word for word, {len(report.shortened):,} shortened.",
    ]


def _losses(result: Result) -> str:
    report = compaction.loss_report(result)
    survived, statements = report.statements
    printed = sum(total for _, total in report.printed.values())
    gone = printed - sum(survived for survived, _ in report.printed.values())
    sentence = f"Of the {report.total:,} details we recognise in the others {len(report.lost):,} are lost"
    stated = f"of the {statements:,} statements {statements - survived:,}"
    return f"{sentence}, {stated}; of {printed:,} more that tools merely printed {gone:,}."


if __name__ == "__main__":
    sys.exit(main())
