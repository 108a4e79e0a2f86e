"""The page Insights: its sums are the catalog's, and cost the same however many sessions there are."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from copy import copy
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.factories.session_lists import settle
from tests.factories.stores import EmptyStore, HermesStore
from tests.html import read
from tests.slow import slow
from viewer.catalog import sums, sync_worker
from viewer.catalog.models import SessionDay, SessionIndex, day_number
from viewer.enforcement.models import Audit
from viewer.pages.insights.views import chart
from viewer.rendering.charts import day_name
from viewer.runs import service
from viewer.runs.planning import Options

HOUR = 3_600.0
DRAWN = ((2, 3.0), (4, 1.0), (9, None), (11, None))  # days of July, and what they cost

OPUS = "claude-opus-4-5-20251101"


def cells(client: Client, query: str) -> list[list[str]]:
    page = read(client.get(f"/insights?{query}"))
    return [[cell.text for cell in row.all("td")] for row in page.all("table")[0].all("tr")[1:]]


def test_not_known_is_a_column_only_where_a_number_is_not(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a")
    empty_store.chat("a", 4)
    sync_worker.sync_all()
    for measure, shown in (("messages", False), ("cost", True)):
        table = read(signed_in.get(f"/insights?measure={measure}&days=all&by=store")).all("table")[0]
        assert ("Not known" in [head.text for head in table.all("th")]) == shown


def test_messages_by_source_are_those_of_the_catalog(signed_in: Client, empty_store: EmptyStore) -> None:
    for name, source, count in (("a", "cli", 4), ("b", "cli", 2), ("c", "telegram", 3)):
        empty_store.session(name, source=source)
        empty_store.chat(name, count)
    sync_worker.sync_all()
    assert cells(signed_in, "measure=messages&by=source&days=all") == [
        ["cli", "6", "2"],
        ["telegram", "3", "1"],
    ]
    tokens = sum(SessionIndex.objects.filter(source="cli").values_list("tokens", flat=True))  # type: ignore[arg-type]
    assert cells(signed_in, "by=source&days=all")[0][1] == str(tokens)


def test_figures_have_the_measures_with_a_number_and_lead_to_their_sums(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    for name, model, ago in (("a", "m", 0), ("b", "n", 3)):
        empty_store.session(name, model=model)
        empty_store.chat(name, 4)
        empty_store.say(name, "user", "bye", timestamp=time.time() - ago * 86_400)
    sync_worker.sync_all()
    page = read(signed_in.get("/insights?by=model"))
    links = page.one("ul", "figures").all("a")
    figures = [(link.one(cls="label").text, link.one("b").text) for link in links]
    assert [label for label, _ in figures] == ["Tokens in context", "Messages", "Compactions"]
    assert figures[1][1] == "10" and figures[2][1] == "0"
    assert ["aria-current" in link.attributes for link in links] == [True, False, False]
    for link, (label, value) in zip(links, figures, strict=True):
        chosen = read(signed_in.get(f"/insights{link.attributes['href']}"))
        assert f"{label} by model" in [head.text for head in chosen.all("h2")]
        assert chosen.one(id="sums-total").text == value
    missing = [name.text for name in page.one("dl", "missing").all("dt")]
    assert missing[:2] == ["Cost", "Tokens reclaimed, lines lost"], "what is missing has no figure and no heading"


def test_branches_do_not_count_and_what_is_not_known_is_no_zero(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a")
    empty_store.chat("a", 4)
    empty_store.session("b")
    empty_store.chat("b", 4)
    sync_worker.sync_all()
    SessionIndex.objects.filter(session_id="b").update(branched_from="a")
    SessionIndex.objects.update(cost=None)
    assert cells(signed_in, "measure=messages&by=store&days=all") == [["own", "4", "1"]]
    assert cells(signed_in, "measure=cost&by=store&days=all") == [["own", "not known", "2", "2"]]
    asked = read(signed_in.get("/insights", {"measure": "cost", "by": "store", "days": "all"}))
    assert "in 2 sessions, not known for 2 of them" in asked.text and "counts on each" not in asked.text


def test_sessions_that_the_list_does_not_begin_with_are_counted_next_to_the_sum(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    for name, columns in (("a", {}), ("b", {"archived": 1})):
        empty_store.session(name, **columns)
        empty_store.chat(name, 4)
    sync_worker.sync_all()
    asked = read(signed_in.get("/insights", {"measure": "messages", "by": "store", "days": "all"}))
    assert "in 2 sessions, 1 of them sub-agents or archived" in asked.text, "why the list has fewer"


def test_what_was_spent_in_another_session_counts_there(signed_in: Client, empty_store: EmptyStore) -> None:
    for name in ("a", "b"):
        empty_store.session(name)
        empty_store.chat(name, 4)
    sync_worker.sync_all()
    SessionIndex.objects.update(cost=2.0)
    SessionIndex.objects.filter(session_id="b").update(branched_from="a", cost=2.5, cost_inherited=2.0)
    for line, dollars in zip(SessionIndex.objects.order_by("session_id"), (2.0, 0.5), strict=True):
        day = SessionDay(state=line.state, line=line, day=day_number(line.last_active), dollars=dollars, is_least=False)
        day.save()
    for by in ("store", "day"):
        assert cells(signed_in, f"measure=cost&by={by}&days=all")[0][1:] == ["about $2.50", "2"]
    SessionIndex.objects.filter(session_id="b").update(cost_is_least=True)
    SessionDay.objects.filter(line__session_id="b").update(is_least=True)
    for by in ("store", "day"):
        assert cells(signed_in, f"measure=cost&by={by}&days=all")[0][1:] == ["at least $2.50", "2"]


def test_the_drawing_is_as_long_as_the_period_or_as_numbers_are_known() -> None:
    days = [sums.GroupSum(f"2026-07-{day:02}", 1, int(value is None), value) for day, value in DRAWN]
    period = chart(days, "cost", (date(2026, 6, 20), date(2026, 7, 20)))
    assert period and (period.first, period.last) == ("20 Jun 2026", "20 Jul 2026")
    of_all = chart(days, "cost")
    assert of_all and (of_all.first, of_all.last) == ("2 Jul 2026", "4 Jul 2026")
    assert "Not drawn: 2 days between 9 Jul 2026 and 11 Jul 2026, whose number is not known." in of_all.words
    year = chart(days, "cost", (date(2025, 7, 20), date(2026, 7, 20)))
    assert year and len(year.bars) == 1 and "A bar is 7 days" in year.words


def test_days_of_compactions_are_those_of_sessions_and_the_page_says_so(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    empty_store.session("a")
    empty_store.chat("a", 4)
    sync_worker.sync_all()
    for measure, is_noted in (("compactions", True), ("messages", False)):
        text = read(signed_in.get(f"/insights?measure={measure}&by=day&days=all")).text
        assert ("lists each by its own day" in text) == is_noted


@pytest.mark.django_db
def test_cost_counts_on_the_days_of_the_requests(signed_in: Client, settings: Settings, tmp_path: Path) -> None:
    settings.STORES, settings.DEMO_STORE = {"work": f"claude-code:///{tmp_path / 'claude'}"}, tmp_path / "no-demo.db"
    agent, days = ClaudeByHand(tmp_path / "claude"), [timezone.localtime() - timedelta(days=ago) for ago in (3, 1)]
    agent.write("s", [])
    for number in range(len(days)):
        agent.say("s", {"role": "user", "content": f"request {number}"})
        content = [{"type": "text", "text": f"reply {number}"}]
        usage = {"input_tokens": 100_000 * (1 + number), "output_tokens": 0}
        message = {"id": f"msg_{number}", "role": "assistant", "model": OPUS, "content": content, "usage": usage}
        agent.hang("s", agent.lines("s")[-1].get("uuid"), {"type": "assistant", "message": message})
    path = agent._path("s")
    lines = agent.lines("s")
    for number, day in enumerate(days):
        for line in lines[1 + 2 * number :]:
            line["timestamp"] = day.isoformat()
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    sync_worker.sync_all()
    page = read(signed_in.get("/insights"))
    assert "Cost by day" in page.text and "about $1.50 cost in 1 session" in page.text, "cost is what it begins with"
    assert "counts on each" in page.text, "why there are more of them in the rows"
    rows = [day_name(days[1].date()), "about $1.00", "1"], [day_name(days[0].date()), "about $0.50", "1"]
    assert cells(signed_in, "") == [*rows]
    assert cells(signed_in, "days=all&by=model") == [[OPUS, "about $1.50", "1"]]
    SessionDay.objects.filter(day=day_number(days[0].timestamp())).update(day=day_number(time.time()) - 30)
    assert cells(signed_in, "by=model") == [[OPUS, "about $1.00", "1"]], "of thirty days"


def test_it_begins_with_the_cost_only_where_one_of_these_days_is_known(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    empty_store.session("a", estimated_cost_usd=4.0)
    empty_store.say("a", "user", "hello", timestamp=time.time() - 60 * sums.DAY)
    sync_worker.sync_all()
    assert "Tokens in context by day" in read(signed_in.get("/insights?days=30")).text
    assert "Cost by day" in read(signed_in.get("/insights?days=90")).text


@pytest.mark.parametrize(
    ("ago", "days"),
    [((), "30 days"), ((60,), "90 days"), ((1, 2.5), "30 days"), ((1, 60), "90 days"), ((1, 99), "all time")],
)
def test_it_begins_with_the_days_that_have_something_to_show(
    signed_in: Client, empty_store: EmptyStore, ago: tuple[float, ...], days: str
) -> None:
    for number, each in enumerate(ago):
        empty_store.session(f"s{number}")
        empty_store.say(f"s{number}", "user", "hello", timestamp=time.time() - each * sums.DAY)
    sync_worker.sync_all()
    current = [
        link.text for link in read(signed_in.get("/insights")).one(cls="groups").all("a", **{"aria-current": "true"})
    ]
    assert current == [days, "day"]


def test_a_sum_for_a_whole_session_is_divided_by_its_replies(signed_in: Client, empty_store: EmptyStore) -> None:
    now = time.time()
    empty_store.session("a", estimated_cost_usd=4.0)
    for at in (now - 5 * sums.DAY, now - 2 * sums.DAY, now - 2 * sums.DAY + 1, now - 2 * sums.DAY + 2):
        empty_store.say("a", "user", "hello", timestamp=at - 0.5)
        empty_store.say("a", "assistant", "well", timestamp=at)
    empty_store.session("b", estimated_cost_usd=1.0)
    empty_store.say("b", "user", "no reply", timestamp=now - sums.DAY)
    sync_worker.sync_all()
    values = [row[1:] for row in cells(signed_in, "measure=cost")]
    assert values == [["about $1.00", "1"], ["about $3.00", "1"], ["about $1.00", "1"]]
    assert "about $5.00 cost in 2 sessions" in read(signed_in.get("/insights")).text
    with closing(sqlite3.connect(empty_store.path)) as con, con:
        con.execute("DELETE FROM messages WHERE session_id = 'b'")
        con.execute("DELETE FROM sessions WHERE id = 'b'")
    sync_worker.sync_all()
    assert SessionDay.objects.count() == 2


@pytest.mark.django_db
def test_the_demo_counts_only_where_it_is_alone(
    signed_in: Client, short_demo: Callable[[str], str], empty_store: EmptyStore, settings: object
) -> None:
    empty_store.session("a")
    empty_store.chat("a", 2)
    sync_worker.sync_all()
    assert [row[0] for row in cells(signed_in, "by=store&days=all")] == ["own"]
    settings.STORES = {}  # type: ignore[attr-defined]
    assert "Only the demo store is open" in signed_in.get("/insights").content.decode()
    assert [row[0] for row in cells(signed_in, "by=store&days=all")] == ["demo"]


def test_the_queries_do_not_grow_with_the_sessions(signed_in: Client, empty_store: EmptyStore) -> None:
    def asked() -> int:
        settle()
        sync_worker.sync_all()
        with CaptureQueriesContext(connection) as queries:
            signed_in.get("/insights?days=all")
        return len(queries)

    empty_store.session("first")
    empty_store.chat("first", 2)
    asked()  # whether the store has a session is found out once
    empty_store.say("first", "user", "more")  # what is kept for an edition of the lines is read anew in both
    few = asked()
    for number in range(20):
        empty_store.session(f"s{number}", started_at=time.time() - HOUR)
        empty_store.chat(f"s{number}", 2)
    assert asked() == few


def test_a_context_that_will_be_full_and_hostile_names(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a", title="<script>alert(1)</script>", source="<b>s</b>", model="<i>m</i>")
    empty_store.chat("a", 2)
    sync_worker.sync_all()
    now = time.time()
    SessionIndex.objects.update(started_at=now - 10 * HOUR, last_active=now, tokens=50_000, window=100_000)
    for by in ("model", "source"):
        text = signed_in.get(f"/insights?by={by}").content.decode()
        assert "&lt;script&gt;" in text and "<script>alert" not in text and "<b>s" not in text and "<i>m" not in text
    row = read(signed_in.get("/insights")).all("table")[1].all("td")
    assert [cell.text for cell in row][1:] == ["own", "50k of 100k tokens", "5k", "about 10 hours"]
    SessionIndex.objects.update(tokens=20_000)  # 40 hours to go
    assert "fills its window that soon" in signed_in.get("/insights").content.decode()


@pytest.mark.usefixtures("at_once")
def test_reclaimed_and_lost_are_those_of_the_runs(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(21)
    ready = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=False)
    run = service.apply(ready, "Done: R00084 is moved, seat 84A stays yours.")
    run.refresh_from_db()
    assert run.tokens_before and run.tokens_after
    page = read(signed_in.get("/insights?measure=reclaimed&by=store"))
    assert (
        f'title="{run.tokens_before - run.tokens_after:,}"'
        in signed_in.get("/insights?measure=reclaimed&by=store").content.decode()
    )
    assert page.all("table")
    lost = run.report["things"]
    assert lost > 0
    assert cells(signed_in, "measure=lost&by=model")[0][1:] == [f"{lost}", "1"]


@pytest.mark.parametrize("query", ["", "days=all&by=model", "measure=cost", "measure=lost", "days=x&by=y&measure=z"])
def test_nothing_there(signed_in: Client, empty_store: EmptyStore, query: str) -> None:
    text = signed_in.get(f"/insights?{query}").content.decode()
    assert "in this" in text and "No turn after a compaction was audited yet." in text


def test_files_left_out_are_listed_by_store_and_model(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a")
    empty_store.chat("a", 2)
    sync_worker.sync_all()
    for number, (store, model, status) in enumerate(
        [("own", "m", "missing"), ("own", "m", "passed"), ("own", "<b>", "missing"), ("closed", "m", "missing")]
    ):
        Audit.objects.create(
            store=store,
            session_id="a",
            handoff_id=number,
            model=model,
            compacted_at=1.0,
            after=1,
            status=status,
            settled=True,
        )
    table = read(signed_in.get("/insights")).all("table")[-1]
    rows = [[cell.text for cell in row.all("td")] for row in table.all("tr")[1:]]
    assert sorted(rows) == [["own", "<b>", "1 of 1"], ["own", "m", "1 of 2"]]  # of open stores only


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["Europe/Berlin", "Australia/Lord_Howe", *slow("Asia/Kathmandu", "America/New_York")])
def test_a_day_is_one_of_the_zone_also_where_its_offset_changes(empty_store: EmptyStore, name: str) -> None:
    """Minutes around each midnight of a year, as a calendar counts them."""
    zone, expected, lines = ZoneInfo(name), Counter[str](), []
    midnights = [datetime(2025, 12, 1, tzinfo=zone) + timedelta(days=day) for day in range(300)]
    times = [midnight.timestamp() + minutes * 60 for midnight in midnights for minutes in (-1, 1, 700)]
    empty_store.session("first")
    empty_store.chat("first", 1)
    sync_worker.sync_all()
    line = SessionIndex.objects.get()
    SessionIndex.objects.all().delete()
    for number, at in enumerate(times):
        changed = copy(line)
        changed.pk, changed.session_id, changed.last_active = None, f"s{number}", at
        lines.append(changed)
        expected[datetime.fromtimestamp(at, zone).date().isoformat()] += 1
    SessionIndex.objects.bulk_create(lines)
    with timezone.override(zone):
        found = sums.of_sessions([line.state], "messages", "day", 0.0)
    assert {each.key: each.of for each in found} == expected
