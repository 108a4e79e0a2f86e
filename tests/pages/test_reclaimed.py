"""The chart of tokens reclaimed over time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.factories.stores import HermesStore
from tests.html import read
from viewer.pages.compactions import views
from viewer.pages.compactions.views import drawn
from viewer.rendering.charts import MOST, WIDTH
from viewer.runs import service
from viewer.runs.planning import Options

NOON = 1_784_030_400.0  # 14 July 2026, 12:00 UTC
DAY = 86_400.0


def test_compactions_of_one_day_are_one_bar() -> None:
    chart = drawn([(NOON, 900), (NOON + 60, 100), (NOON + 2 * DAY, 500)])
    assert chart is not None
    assert [bar.words for bar in chart.bars] == [
        "14 Jul 2026: 1k tokens, 2 compactions",
        "16 Jul 2026: 500 tokens, 1 compaction",
    ]
    heights = [float(bar.height) for bar in chart.bars]
    assert heights[0] == 2 * heights[1]
    assert chart.words == (
        "1.5k tokens reclaimed by 3 compactions from 14 Jul 2026 to 16 Jul 2026. "
        "A bar is a day; the highest is 1k tokens."
    )


def test_what_is_not_drawn_is_counted() -> None:
    chart = drawn([(NOON, 900), (NOON + DAY, 100), (None, 5), (NOON, -3)])
    assert chart is not None and chart.words.endswith(" Not drawn: 2 of unknown time, or that reclaimed nothing.")


def test_years_are_drawn_in_stretches_of_days() -> None:
    chart = drawn([(NOON + at * DAY, 10) for at in range(0, 700, 7)])
    assert chart is not None
    assert len(chart.bars) <= MOST
    assert all(float(bar.x) >= 0 and float(bar.x) + float(bar.width) <= WIDTH for bar in chart.bars)
    assert chart.words.endswith("A bar is 12 days; the highest is 20 tokens.")
    assert "14 Jul 2026 to 25 Jul 2026: 20 tokens" in chart.bars[0].words


@pytest.mark.parametrize(
    "found",
    [[], [(NOON, 5)], [(NOON, 5), (None, 7)], [(NOON, 5), (NOON + DAY, -3)], [(NOON, 5), (1e300, 5)], [(0.0, 5)]],
)
def test_a_single_day_or_an_unknown_time_makes_no_chart(found: list[tuple[float | None, int]]) -> None:
    assert drawn(found) is None


@pytest.mark.usefixtures("at_once")
def test_the_page_has_the_chart_and_what_runs_took(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    hermes_store = open_hermes_store(21)
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    assert not read(signed_in.get("/compactions")).all("figure", "chart"), "two bars say less than the table"
    monkeypatch.setattr(views, "FEW", 2)
    page = read(signed_in.get("/compactions"))
    chart = page.one("figure", "chart")
    assert chart.one("svg").attributes["aria-label"] == chart.one("figcaption").text
    assert len(chart.all("rect")) == 2
    heads, cells = ([cell.text for cell in page.all("table")[0].all(tag)] for tag in ("th", "td"))
    assert cells[heads.index("Lines lost")] == f"{run.report['things']:,}"
    assert any(cell.endswith(" s") for cell in cells)


def test_runs_are_asked_for_once_however_many_sessions_were_compacted(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    open_hermes_store(21)
    shown = read(signed_in.get("/compactions")).all("table")[-1].all("tr")
    assert len(shown) > 4
    signed_in.get("/compactions")
    with CaptureQueriesContext(connection) as queries:
        signed_in.get("/compactions")
    assert len([each for each in queries.captured_queries if "history_compaction" in each["sql"]]) == 1
