"""The page Insights: its sums are the catalog's, and cost the same however many sessions there are."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.catalog.shelves import settle
from tests.pages.conftest import Book
from tests.pages.html import read
from tests.runs.desk import Desk
from viewer.catalog import sync_worker
from viewer.catalog.models import SessionIndex
from viewer.runs import service
from viewer.runs.planning import Options

HOUR = 3_600.0


def cells(client: Client, query: str) -> list[list[str]]:
    page = read(client.get(f"/insights?{query}"))
    return [[cell.text for cell in row.all("td")] for row in page.all("table")[0].all("tr")[1:]]


def test_messages_by_source_are_those_of_the_catalog(signed_in: Client, book: Book) -> None:
    for name, source, count in (("a", "cli", 4), ("b", "cli", 2), ("c", "telegram", 3)):
        book.session(name, source=source)
        book.chat(name, count)
    sync_worker.sync_all()
    assert cells(signed_in, "measure=messages&by=source&days=all") == [
        ["cli", "6", "2", ""],
        ["telegram", "3", "1", ""],
    ]
    tokens = sum(SessionIndex.objects.filter(source="cli").values_list("tokens", flat=True))  # type: ignore[arg-type]
    assert cells(signed_in, "by=source&days=all")[0][1] == str(tokens)


def test_branches_do_not_count_and_what_is_not_known_is_no_zero(signed_in: Client, book: Book) -> None:
    book.session("a")
    book.chat("a", 4)
    book.session("b")
    book.chat("b", 4)
    sync_worker.sync_all()
    SessionIndex.objects.filter(session_id="b").update(branched_from="a")
    SessionIndex.objects.update(cost=None)
    assert cells(signed_in, "measure=cost&by=store&days=all") == [["own", "not known", "1", "1"]]


@pytest.mark.django_db
def test_the_demo_counts_only_where_it_is_alone(
    signed_in: Client, demo: Callable[[str], str], book: Book, settings: object
) -> None:
    book.session("a")
    book.chat("a", 2)
    sync_worker.sync_all()
    assert [row[0] for row in cells(signed_in, "by=store&days=all")] == ["own"]
    settings.STORES = {}  # type: ignore[attr-defined]
    assert "Only the demo store is open" in signed_in.get("/insights").content.decode()
    assert [row[0] for row in cells(signed_in, "by=store&days=all")] == ["demo"]


def test_the_queries_do_not_grow_with_the_sessions(signed_in: Client, book: Book) -> None:
    def asked() -> int:
        settle()
        sync_worker.sync_all()
        with CaptureQueriesContext(connection) as queries:
            signed_in.get("/insights?days=all")
        return len(queries)

    book.session("first")
    book.chat("first", 2)
    few = asked()
    for number in range(20):
        book.session(f"s{number}", started_at=time.time() - HOUR)
        book.chat(f"s{number}", 2)
    assert asked() == few


def test_a_context_that_will_be_full_and_hostile_names(signed_in: Client, book: Book) -> None:
    book.session("a", title="<script>alert(1)</script>", source="<b>s</b>", model="<i>m</i>")
    book.chat("a", 2)
    sync_worker.sync_all()
    now = time.time()
    SessionIndex.objects.update(started_at=now - 10 * HOUR, last_active=now, tokens=50_000, window=100_000)
    for by in ("model", "source"):
        text = signed_in.get(f"/insights?by={by}").content.decode()
        assert "&lt;script&gt;" in text and "<script>alert" not in text and "<b>s" not in text and "<i>m" not in text
    row = read(signed_in.get("/insights")).all("table")[1].all("td")
    assert [cell.text for cell in row][1:] == ["own", "50k of 100k tokens", "5k", "about 10 hours"]
    SessionIndex.objects.update(tokens=20_000)  # 40 hours to go
    assert "None at the pace they go." in signed_in.get("/insights").content.decode()


@pytest.mark.usefixtures("at_once", "shared_data")
def test_reclaimed_and_lost_are_those_of_the_runs(signed_in: Client, open_desk: Callable[..., Desk]) -> None:
    desk = open_desk(21)
    run = service.start(desk.store, desk.session_id, Options(), apply=True)
    assert run.tokens_before and run.tokens_after
    page = read(signed_in.get("/insights?measure=reclaimed&by=store"))
    assert (
        f'title="{run.tokens_before - run.tokens_after:,}"'
        in signed_in.get("/insights?measure=reclaimed&by=store").content.decode()
    )
    assert page.all("table")
    lost = sum(total - still for still, total in run.report["anchors"].values())
    assert cells(signed_in, "measure=lost&by=model")[0][1:] == [f"{lost}", "1", ""]


@pytest.mark.parametrize("query", ["", "days=all&by=model", "measure=cost", "measure=lost", "days=x&by=y&measure=z"])
def test_nothing_there(signed_in: Client, book: Book, query: str) -> None:
    text = signed_in.get(f"/insights?{query}").content.decode()
    assert "in this" in text and "No turn after a compaction was audited yet." in text
