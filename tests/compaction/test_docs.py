"""The worked example of docs/engine.md does what the page says, and a summary in docs/summaries.md is as made now."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import compaction
from compaction import Policy, counter_for, offline
from compaction.llm.digest import request_of
from tests.compaction.transcripts import stored
from viewer.demo import stocktaking

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
    """All that it says is there: nothing of 353 statements is lost."""
    section = SUMMARIES.read_text().partition("## Stocktaking")[2]
    shown = re.findall(r"```text\n(.*?)```", section, re.DOTALL)[0]
    rows = [stored(row) for row in stocktaking.session().rows[:370]]
    plan = compaction.plan(rows, Policy(), counter_for("gpt-5"))
    summary = offline.summarize(request_of(plan))
    assert all(piece in summary for piece in shown.split("[...]\n"))
    kept, all_ = compaction.loss_report(compaction.apply(plan, summary)).statements
    assert kept == all_ > 300
