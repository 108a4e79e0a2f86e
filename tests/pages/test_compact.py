"""The compact panel and runs: plan, preview, apply, refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from tests.pages.conftest import Book
from tests.pages.html import Element, read
from tests.runs.desk import Desk
from viewer.runs.models import Run

FRAGMENT = {"HX-Request": "true"}


def address(desk: Desk) -> str:
    return f"/stores/hermes/sessions/{desk.session_id}"


def test_the_plan_stands_on_the_page_before_anything_runs(signed_in: Client, open_desk: Callable[..., Desk]) -> None:
    panel = read(signed_in.get(address(open_desk(31)))).one("section", id="plan")
    for part in ("To summarise, ", "Recent, kept, ", "Together now", "After, at most", "No turn is running"):
        assert part in panel.text
    shares = panel.one("svg").attributes["aria-label"]
    assert shares.startswith("Earlier summary, folded in: ")
    assert "; To summarise, " in shares
    exact = [_tokens(each) for each in panel.one("dl").all("dd")]
    assert sum(exact[:-2]) == exact[-2]  # the parts are all there is now
    assert panel.all("li")
    widths = [float(bar.attributes["width"]) for bar in panel.one("svg").all("rect") if "x" in bar.attributes]
    assert 97 < sum(widths) <= 100
    assert not Run.objects.exists()


def _tokens(value: Element) -> int:
    """The exact number behind a thin one."""
    titles = [span.attributes["title"] for span in value.all("span")]
    return int((titles[0] if titles else value.text).removesuffix(" tokens").replace(",", ""))


def test_a_change_plans_again(signed_in: Client, open_desk: Callable[..., Desk]) -> None:
    href = f"{address(open_desk(31))}/plan"
    usual = read(signed_in.get(href, headers=FRAGMENT))
    assert not usual.all("html")
    more = read(signed_in.get(f"{href}?keep=170&focus=<b>refund</b>&summarizer=nobody", headers=FRAGMENT))
    assert "Recent, kept, 17" in more.text
    assert more.one("dl").text != usual.one("dl").text
    assert more.one("input", id="focus").attributes["value"] == "<b>refund</b>"
    assert more.one("option", selected="", value="170").text == "At least the last 170"


def test_the_other_way_shortens_tool_output_without_a_summary(
    signed_in: Client, open_desk: Callable[..., Desk], at_once: None
) -> None:
    href = address(open_desk(31))
    usual = read(signed_in.get(f"{href}/plan", headers=FRAGMENT))
    ways = usual.one("fieldset").all("label")
    assert [way.text for way in ways] == ["Summarise", "Shorten old tool output (no summary)"]
    assert usual.one("input", name="strategy", checked="").attributes["value"] == "summary"
    panel = read(signed_in.get(f"{href}/plan?strategy=mask&focus=refund", headers=FRAGMENT))
    assert panel.one("input", name="strategy", checked="").attributes["value"] == "mask"
    for part in ("Older, kept, ", "To shorten, 27 messages", "Recent, kept, ", "After, about", "No model is asked."):
        assert part in panel.text
    exact = [_tokens(each) for each in panel.one("dl").all("dd")]
    assert sum(exact[:-2]) == exact[-2] > exact[-1]
    assert not panel.all("select", id="summarizer")
    assert panel.one("input", id="focus").attributes["type"] == "hidden"
    asked = read(signed_in.post(f"{href}/plan", {"confirm": "1", "strategy": "mask"}))
    assert "Shorten the tool output in " in asked.one(cls="confirm").text

    card = read(signed_in.post(f"{href}/compact", {"apply": "0", "strategy": "mask"}, headers=FRAGMENT))
    run = Run.objects.get()
    assert (run.status, run.strategy) == ("ready", "mask")
    assert not card.all("textarea") and "shortened, none summarised" in card.text and run.summary in card.text
    applied = read(signed_in.post(f"/runs/{run.pk}/apply", headers=FRAGMENT))
    assert "The full tool output stays in the database and in History" in applied.text
    alone = read(signed_in.get(f"/runs/{run.pk}")).text
    assert "Shorten old tool output (no summary)" in alone and "Summary by" not in alone and "The note" in alone


def test_compact_now_asks_once_in_numbers(signed_in: Client, open_desk: Callable[..., Desk]) -> None:
    desk = open_desk(31)
    button = read(signed_in.get(address(desk))).one("button", name="confirm")
    asked = read(signed_in.post(button.attributes["formaction"], {"confirm": "1", "keep": "20"}))
    assert asked.one("select", id="keep").one("option", selected="").attributes["value"] == "20"
    assert "They stay in the database and in History. You can undo this." in asked.one(cls="confirm").text
    assert asked.one(cls="confirm").one("button").attributes["value"] == "1"


def test_no_form_with_a_token_is_sent_in_an_address(signed_in: Client, open_desk: Callable[..., Desk]) -> None:
    href = address(open_desk(31))
    for page in (read(signed_in.get(href)), read(signed_in.post(f"{href}/plan", {"confirm": "1"}))):
        for form in page.all("form"):
            if form.all("input", name="csrfmiddlewaretoken"):
                assert form.attributes["method"] == "post"
                assert all("formmethod" not in element.attributes for element in form.walk())
        sent = [element.attributes for element in page.walk() if {"hx-get", "hx-include"} <= element.attributes.keys()]
        assert sent
        assert all(attributes["hx-params"] == "not csrfmiddlewaretoken" for attributes in sent)


def test_a_plan_that_saves_much_leads_to_the_preview(signed_in: Client, open_desk: Callable[..., Desk]) -> None:
    worth = read(signed_in.get(address(open_desk(31)))).one("section", id="plan")
    assert "save little" not in worth.text
    assert "primary" in worth.one("button", name="apply").classes


def test_a_plan_that_saves_little_says_so(signed_in: Client, book: Book) -> None:
    href = book.session("s")
    for at in range(24):
        words = "of many words " * (25 if at < 15 else 280)
        book.say("s", ("user", "assistant")[at % 2], f"number {at} {words}")
    little = read(signed_in.get(href)).one("section", id="plan")
    assert "This would save little: about " in little.text
    assert "primary" not in little.one("button", name="apply").classes


def test_it_is_said_that_nothing_leaves_the_machine(signed_in: Client, open_desk: Callable[..., Desk]) -> None:
    panel = read(signed_in.get(address(open_desk(31)))).one("section", id="plan")
    note = panel.one("select", id="summarizer").attributes["aria-describedby"]
    assert panel.one("p", id=note).text == "Nothing leaves this machine."


@pytest.mark.parametrize("version", [21, 31])
def test_preview_then_apply_then_undo(
    signed_in: Client, open_desk: Callable[..., Desk], at_once: None, version: int
) -> None:
    desk = open_desk(version)
    before = desk.live()
    card = read(signed_in.post(f"{address(desk)}/compact", {"apply": "0"}, headers=FRAGMENT)).one("section", "card")
    assert "ready" in card.classes
    assert desk.live() == before
    summary = "".join(item for item in card.one("textarea").inside if isinstance(item, str))
    run = Run.objects.get()
    assert summary.strip() == run.summary
    done = read(
        signed_in.post(
            f"/runs/{run.pk}/apply", {"summary": f"{summary}\r\n\r\nAdded <b>by hand</b>."}, headers=FRAGMENT
        )
    )
    assert "applied" in done.one("section", "card").classes
    assert "Waiting for the agent." in done.text
    run.refresh_from_db()
    page = read(signed_in.get(f"{address(desk)}?around={run.handoff_id}"))
    section = page.one("section", id=f"b{run.handoff_id}")
    assert "by you, here" in section.one(cls="line").text
    assert "Added <b>by hand</b>." in section.text
    assert section.one("a", "btn").text == "Undo this compaction…"
    desk.append("and on it goes")
    picked_up = read(signed_in.get(f"/runs/{run.pk}", headers=FRAGMENT))
    assert "Picked up" in picked_up.text
    signed_in.post(section.one("a", "btn").attributes["href"])
    assert [row[1] for row in desk.live()] == [row[1] for row in before] + ["and on it goes"]
    assert not read(signed_in.get(address(desk))).one(id="run").all("section")


def test_the_report_names_what_is_not_found_after(
    signed_in: Client, open_desk: Callable[..., Desk], at_once: None
) -> None:
    desk = open_desk(21)
    signed_in.post(f"{address(desk)}/compact", {"apply": "0"}, headers=FRAGMENT)
    run = Run.objects.get()
    run.report = {
        **run.report,
        "anchors": {"id": [3, 5], "constraint": [0, 1]},
        "lost": [
            {"kind": "id", "text": "OLD111", "message": None},
            {"kind": "constraint", "text": "Never <b>delete</b>.", "message": 7},
            {"kind": "id", "text": "NEW222", "message": 9},
        ],
    }
    run.save()
    report = read(signed_in.get(f"/runs/{run.pk}")).one("ul", "report")
    assert report.one("summary").text == "3 of 6 exact details not found after"
    assert [row.text for row in report.one("ul", "lost").all("li")] == [
        "constraint Never <b>delete</b>.",
        "id NEW222",
        "id OLD111",
    ]
    assert report.one("ul", "lost").all("a")[0].attributes["href"] == f"{address(desk)}?around=7#m7"
    run.report = {**run.report, "anchors": {"id": [2, 2]}, "lost": []}
    run.save()
    assert "All 2 exact details are still there" in read(signed_in.get(f"/runs/{run.pk}")).text
    run.report = {key: value for key, value in run.report.items() if key not in ("anchors", "lost")}
    run.save()
    assert "exact detail" not in read(signed_in.get(f"/runs/{run.pk}")).text, "a run from before they were counted"


def test_the_boundary_comes_without_a_reload(signed_in: Client, open_desk: Callable[..., Desk], at_once: None) -> None:
    desk = open_desk(31)
    signed_in.post(f"{address(desk)}/compact", {"apply": "1"})
    run = Run.objects.get()
    assert run.status == "applied"
    here = FRAGMENT | {"HX-Current-URL": f"http://testserver{address(desk)}?around=3"}
    loads = read(signed_in.get(f"/runs/{run.pk}?seen=applying", headers=here)).all(**{"hx-trigger": "load"})
    assert [load.attributes["hx-get"] for load in loads] == [
        f"{address(desk)}?around={run.handoff_id}#b{run.handoff_id}"
    ]
    for href, headers in ((f"/runs/{run.pk}?seen=applied", here), (f"/runs/{run.pk}?seen=applying", FRAGMENT)):
        assert not read(signed_in.get(href, headers=headers)).all(**{"hx-trigger": "load"})


def test_without_htmx_a_run_has_its_own_page(signed_in: Client, open_desk: Callable[..., Desk], at_once: None) -> None:
    desk = open_desk(31)
    answer = signed_in.post(f"{address(desk)}/compact", {"apply": "0", "focus": "gift cards", "keep": "20"})
    run = Run.objects.get()
    assert answer["Location"] == f"/runs/{run.pk}"
    assert (run.focus, run.keep_last) == ("gift cards", 20)
    page = read(signed_in.get(answer["Location"]))
    assert "gift cards" in page.one("dl", "facts").text
    discard = page.one("main").one("button", formaction=f"/runs/{run.pk}/discard")
    assert signed_in.post(discard.attributes["formaction"])["Location"] == f"/runs/{run.pk}"
    assert "Discarded" in read(signed_in.get(f"/runs/{run.pk}")).one("section", "card").text


def test_an_open_run_is_polled_and_can_be_cancelled(signed_in: Client, open_desk: Callable[..., Desk]) -> None:
    desk = open_desk(31)
    card = read(signed_in.post(f"{address(desk)}/compact", {"apply": "1"}, headers=FRAGMENT)).one("section", "card")
    run = Run.objects.get()
    poll = card.attributes["hx-get"]
    assert poll.startswith(f"/runs/{run.pk}?seen=queued&mark=")
    assert signed_in.get(poll, headers=FRAGMENT).status_code == 204
    Run.objects.update(progress={"sentence": "News."})
    assert "News." in read(signed_in.get(poll, headers=FRAGMENT)).text
    assert card.one("progress").attributes["aria-label"]
    again = read(signed_in.post(f"{address(desk)}/compact", {"apply": "1"}, headers=FRAGMENT))
    assert "already" in again.one(role="alert").text
    assert read(signed_in.post(f"{address(desk)}/compact", {"apply": "1"}), 409).one("h1")
    cancelled = read(signed_in.post(f"/runs/{run.pk}/cancel", headers=FRAGMENT)).one("section", "card")
    assert "hx-get" not in cancelled.attributes
    assert "cancelled" in cancelled.text.lower()


def test_a_conflict_says_why_and_what_to_do(signed_in: Client, open_desk: Callable[..., Desk], at_once: None) -> None:
    desk = open_desk(31)
    signed_in.post(f"{address(desk)}/compact", {"apply": "0"})
    run = Run.objects.get()
    desk.take_back_newest()
    refused = read(signed_in.post(f"/runs/{run.pk}/apply", headers=FRAGMENT))
    assert "taken back" in refused.one(role="alert").text
    card = read(signed_in.get(address(desk))).one("section", "conflict")
    assert "Nothing was written." in card.text
    assert card.one("a", "btn").attributes["href"] == f"{address(desk)}/plan"


def test_a_text_that_cannot_be_applied_any_more_is_kept(
    signed_in: Client, open_desk: Callable[..., Desk], at_once: None
) -> None:
    signed_in.post(f"{address(open_desk(31))}/compact", {"apply": "0"})
    run = Run.objects.get()
    signed_in.post(f"/runs/{run.pk}/discard")
    typed = {"summary": "\r\nMy own words & <b>more</b>"}
    fragment = read(signed_in.post(f"/runs/{run.pk}/apply", typed, headers=FRAGMENT)).one(role="alert")
    whole = read(signed_in.post(f"/runs/{run.pk}/apply", typed), 409).one("main")
    for answer in (fragment, whole):
        kept = answer.one("textarea", readonly="")
        assert kept.inside == ["\n\nMy own words & <b>more</b>"]  # a textarea swallows its first line feed
        assert "not applied" in answer.one("label").text
    unedited = read(signed_in.post(f"/runs/{run.pk}/apply", {"summary": run.summary}), 409)
    assert not unedited.all("textarea")


def test_schema_16_says_why_it_cannot(signed_in: Client, open_desk: Callable[..., Desk]) -> None:
    desk = open_desk(16, "Airline desk, week 30 #4")
    panel = read(signed_in.get(address(desk))).one("section", id="plan")
    assert "schema 16" in panel.text
    assert "disabled" in panel.all("button")[0].attributes
    assert panel.all("button")[0].text == "Compact now…"
    refused = read(signed_in.post(f"{address(desk)}/compact", {"apply": "1"}), 409)
    assert "schema 16" in refused.one("main").text


def test_too_little_to_compact_is_said(signed_in: Client, book: Book) -> None:
    href = book.session("s")
    book.say("s", "user", "hello")
    panel = read(signed_in.get(href)).one("section", id="plan")
    assert "too few messages" in panel.text
    assert all("disabled" in button.attributes for button in panel.one(cls="actions").all("button"))


def test_who_stands_in_the_way_is_said(signed_in: Client, open_desk: Callable[..., Desk]) -> None:
    desk = open_desk(31)
    desk.start_turn()
    assert "A turn has been running since" in read(signed_in.get(f"{address(desk)}/plan")).text
    desk.rows(
        "INSERT INTO compression_locks VALUES (?, 'pid=1:agent=other', unixepoch(), unixepoch() + 300)", desk.session_id
    )
    assert "is compacting this session" in read(signed_in.get(f"{address(desk)}/plan")).text


def test_a_long_context_is_planned_after_the_page(signed_in: Client, demo: Callable[[str], str]) -> None:
    href = demo("Support desk, the long thread")
    panel = read(signed_in.get(href)).one("section", id="plan")
    assert panel.one("a", "btn").attributes["href"] == f"{href}/plan"
    assert "To summarise" in read(signed_in.get(f"{href}/plan")).text


def test_no_run_of_this_number(signed_in: Client, db: None) -> None:
    assert "no run 7" in read(signed_in.get("/runs/7"), 404).one("main").text
    for action in ("apply", "discard", "cancel"):
        assert signed_in.get(f"/runs/7/{action}").status_code == 405
        assert signed_in.post(f"/runs/7/{action}").status_code == 404
