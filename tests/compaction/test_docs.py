"""The worked example of docs/engine.md does what the page says, and a summary in docs/summaries.md is as made now."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import replace
from pathlib import Path

import compaction
from compaction import Policy, counter_for, offline
from tests.compaction.transcripts import stored
from viewer.stores.hermes.demo import stocktaking

PAGE = Path(__file__).resolve().parents[2] / "docs" / "engine.md"
SUMMARIES = PAGE.with_name("summaries.md")


def test_the_example_prints_what_the_page_shows() -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    [shown] = re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(PAGE), "exec"), {})
    assert printed.getvalue() == shown


def test_the_summary_of_the_stocktaking_is_as_the_page_shows() -> None:
    section = SUMMARIES.read_text().partition("## Stocktaking")[2]
    shown = re.findall(r"```text\n(.*?)```", section, re.DOTALL)[-1]
    rows = [stored(row) for row in stocktaking.session().rows[:370]]
    plan = compaction.plan(rows, Policy(context_window=40_000), counter_for("gpt-5"))
    assert len(plan.middle) == 349
    summary = offline.summarize(replace(compaction.request_of(plan), budget_tokens=2_000))
    assert summary.partition("## Actions done")[2].startswith(
        shown.partition("## Actions done")[2].rpartition(" [...]")[0]
    )
