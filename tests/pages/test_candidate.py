"""The page of a candidate: what goes, what stays, what is lost, and a draft that is not."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client
from playwright.sync_api import expect

from tests.browser import Visit, require_accessible
from tests.html import read
from viewer.runs import drafts
from viewer.runs.models import Run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
PUT = re.compile("Kept exactly:")
FRAGMENT = {"HX-Request": "true"}
TITLE = "Stocktaking, ten warehouses"


@pytest.fixture
def ready(signed_in: Client, demo: Callable[[str], str]) -> Run:
    """A run of the demo's session that waits to be reviewed."""
    signed_in.post(f"{demo(TITLE)}/compact", {"apply": "0", "strategy": "summary"})
    return Run.objects.get()


def test_it_shows_what_goes_the_summary_and_what_stays(signed_in: Client, ready: Run) -> None:
    page = read(signed_in.get(f"/runs/{ready.pk}"))
    for name, parts in (("goes", ("middle",)), ("stays", ("head", "tail"))):
        ids = [each for part in parts for each in ready.plan[part]]
        column = page.one("section", **{"aria-labelledby": f"{name}-title"})
        assert f"{len(ids):,} message" in column.one("h3").text
        shown = [link.text for link in column.one("ol").all("a")]
        assert shown[: min(50, len(ids))] == [f"#{each}" for each in ids[:50]]
        assert len(read(signed_in.get(f"/runs/{ready.pk}/{name}")).one("ol").all("li")) >= min(200, len(ids))
    assert page.one("div", "md").text
    again = page.one(
        "a", "btn",
        href=f"/stores/demo/sessions/{ready.session_id}/plan?strategy=summary&summarizer=offline&mode=in_place&carry=1",
    )  # fmt: skip
    assert "other settings" in again.text


def test_each_lost_detail_can_be_put_into_the_summary(signed_in: Client, ready: Run) -> None:
    page = read(signed_in.get(f"/runs/{ready.pk}"))
    buttons = page.all("button", name="put")
    named = min(100, len(ready.report["lost"])) + min(100, len(ready.report["lost_statements"]))
    assert len(buttons) == named > 1
    for button in (buttons[0], buttons[-1]):
        answer = signed_in.post(f"/runs/{ready.pk}/draft", {"put": button.attributes["value"]})
        assert answer["Location"] == f"/runs/{ready.pk}#summary-{ready.pk}"
    ready.refresh_from_db()
    lines = [drafts.line_of(ready.report, each.attributes["value"]) for each in (buttons[0], buttons[-1])]
    assert ready.draft.count("Kept exactly:") == 1
    assert all(drafts.holds(ready.draft, line) for line in lines)
    signed_in.post(f"/runs/{ready.pk}/draft", {"put": buttons[0].attributes["value"]})
    assert Run.objects.get().draft == ready.draft, "what is there already is not put in twice"
    after = read(signed_in.get(f"/runs/{ready.pk}"))
    assert "In the summary" in after.one("ul", "report").text and len(after.all("button", name="put")) < named
    for odd in ("lost:99999", "lost:-1", "printed:0", "lost:²"):
        signed_in.post(f"/runs/{ready.pk}/draft", {"put": odd})
    assert Run.objects.get().draft == ready.draft


def test_all_that_is_lost_is_listed_and_can_be_put_in(signed_in: Client, ready: Run) -> None:
    """However many: a page names 100, and leads on."""
    one = {"kind": "path", "message": None, "by": "agent"}
    lost = [{**one, "text": f"detail {at}", "line": f"The line of detail {at}"} for at in range(250)]
    ready.report |= {"lost": lost, "anchors": {"name": [0, 250]}}
    ready.save()
    page = read(signed_in.get(f"/runs/{ready.pk}"))
    (more,) = [each for each in page.all("a", "later") if "list=lost&" in each.attributes["href"]]
    assert more.text == "150 more"
    names = []
    for expected in (100, 50):
        part = read(signed_in.get(more.attributes["hx-get"], headers=FRAGMENT))
        names += [each.attributes["value"] for each in part.all("button", name="put")]
        assert len(names[-expected:]) == expected
        more = next(iter(part.all("a", "later")), more)
    assert names == [f"lost:{at}" for at in range(100, 250)]
    answer = read(signed_in.post(f"/runs/{ready.pk}/draft", {"put": "lost:249"}, headers=FRAGMENT))
    assert "In the summary" in answer.one(id="put-lost249").text
    assert Run.objects.get().draft.endswith("The line of detail 249")
    page = read(signed_in.get(f"/runs/{ready.pk}/lost?list=lost&from=200"))
    assert len(page.one("ul", "lost").all("li")) == 50 and not page.all("button", name="put")
    signed_in.post(f"/runs/{ready.pk}/discard")
    part = read(signed_in.get(f"/runs/{ready.pk}/lost?list=lost&from=200&putting=1", headers=FRAGMENT))
    assert part.all("li") and not part.all("button", name="put"), "there is no candidate any more"


def test_what_is_put_in_is_lost_no_longer(signed_in: Client, ready: Run) -> None:
    before = len(ready.report["lost_statements"])
    signed_in.post(f"/runs/{ready.pk}/draft", {"put": "lost_statements:0"})
    signed_in.post(f"/runs/{ready.pk}/apply", {"summary": Run.objects.get().draft})
    run = Run.objects.get()
    assert (run.status, run.draft) == ("applied", "") and "Kept exactly:" in run.summary
    assert len(run.report["lost_statements"]) < before


def test_a_draft_is_kept_on_reload_and_on_refusal(signed_in: Client, ready: Run) -> None:
    typed = f"{ready.summary}\n\nAdded <b>by hand</b>."
    answer = read(signed_in.post(f"/runs/{ready.pk}/draft", {"summary": typed}, headers=FRAGMENT))
    assert "Added" in answer.one("div", "md").text
    assert "by hand" in read(signed_in.get(f"/runs/{ready.pk}")).one("textarea").text
    panel = read(signed_in.get(f"/stores/demo/sessions/{ready.session_id}")).one("section", "ready")
    assert "by hand" in panel.one("textarea").text and "Open the candidate" in panel.text
    refused = read(signed_in.post(f"/runs/{ready.pk}/apply", {"summary": "  "}), 422)
    assert "empty" in refused.one(role="alert").text and refused.one("textarea").text.strip() == ""
    assert read(signed_in.get(f"/runs/{ready.pk}")).one("textarea").text.strip() == "", "the refused text stays"


def test_a_refused_edit_is_seen_where_it_was_made(visit: Visit, ready: Run) -> None:
    for width, height in ((1500, 900), (360, 740)):
        screen = visit(width, height)
        screen.goto(f"/runs/{ready.pk}")
        summary = screen.get_by_label("Summary (editable)")
        summary.fill(" ")
        screen.get_by_role("button", name="Apply").click()
        expect(summary).to_be_focused()
        expect(screen.get_by_role("alert")).to_be_in_viewport()
        expect(summary).to_have_accessible_description(re.compile("empty.*Nothing was written"))
        again = screen.context.new_page()
        again.goto(screen.url)
        assert screen.url.endswith("/apply") and again.url.endswith(f"/runs/{ready.pk}")


@pytest.mark.parametrize("action", ["apply", "draft", "discard", "redo", "cancel"])
def test_an_address_that_takes_a_form_leads_to_the_run(signed_in: Client, ready: Run, action: str) -> None:
    before = Run.objects.values().get()
    answer = signed_in.get(f"/runs/{ready.pk}/{action}")
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/runs/{ready.pk}")
    assert signed_in.put(f"/runs/{ready.pk}/{action}").status_code == 405
    assert Run.objects.values().get() == before


@pytest.mark.parametrize("action", ["apply", "draft", "discard", "redo", "cancel"])
def test_a_second_tab_leads_to_the_run_and_its_session(signed_in: Client, ready: Run, action: str) -> None:
    signed_in.post(f"/runs/{ready.pk}/apply")
    session = f"/stores/demo/sessions/{ready.session_id}"
    for headers, within in (({}, "main"), (FRAGMENT, "div")):
        answer = signed_in.post(f"/runs/{ready.pk}/{action}", {"summary": "x"}, headers=headers)
        refused = read(answer, 409).all(within)[0]
        hrefs = [link.attributes["href"] for link in refused.all("a")]
        assert hrefs[:2] == [f"/runs/{ready.pk}", session]


def test_a_run_that_is_not_ready_has_no_draft(signed_in: Client, ready: Run) -> None:
    signed_in.post(f"/runs/{ready.pk}/discard")
    assert read(signed_in.post(f"/runs/{ready.pk}/draft", {"summary": "x"}), 409).one("main")
    assert Run.objects.get().draft == ""
    assert not read(signed_in.get(f"/runs/{ready.pk}")).all("section", "candidate")


def test_a_lost_detail_is_put_back_and_outlasts_a_reload(visit: Visit, ready: Run) -> None:
    screen = visit()
    screen.goto(f"/runs/{ready.pk}")
    summary = screen.get_by_label("Summary (editable)")
    weight = screen.locator("[data-weight]")
    first = weight.inner_text()
    screen.locator("button[name=put]").first.click()
    expect(summary).to_have_value(PUT)
    expect(weight).not_to_have_text(first)
    screen.reload()
    expect(summary).to_have_value(PUT)
    summary.press_sequentially("Typed. ")
    expect(screen.locator("#edited .md")).to_contain_text("Typed.")
    screen.reload()
    require_accessible(screen, "candidate")
    screen.get_by_role("button", name="Apply").click()
    expect(screen.locator("section.card.applied")).to_be_visible()
    run = Run.objects.get()
    assert "Kept exactly:" in run.summary and "Typed." in run.summary


@pytest.mark.slow
def test_it_shows_what_changes_in_the_summary_before(signed_in: Client, demo: Callable[[str], str], ready: Run) -> None:
    path = demo(TITLE)
    assert not read(signed_in.get(f"/runs/{ready.pk}")).all("pre", "diff"), "there is none before it"
    signed_in.post(f"/runs/{ready.pk}/apply")
    signed_in.post(f"{path}/compact", {"apply": "0", "keep": "5"})
    again = Run.objects.exclude(pk=ready.pk).get()
    (diff,) = read(signed_in.get(f"/runs/{again.pk}")).all("pre", "diff")
    assert diff.all("span", "add") and diff.all("span", "del")
    signed_in.post(f"/runs/{again.pk}/draft", {"summary": f"{again.summary}\nSomebody added this line."})
    (edited,) = read(signed_in.get(f"/runs/{again.pk}")).all("pre", "diff")
    assert "Somebody added this line." in edited.text and "Somebody added this line." not in diff.text
