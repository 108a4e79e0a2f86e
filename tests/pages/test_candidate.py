"""The page of a candidate: what goes, what stays, what is lost, and a draft that is not."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client
from playwright.sync_api import expect

from tests.browser import Visit, require_accessible
from tests.html import Element, read
from viewer.pages.parts.losses import losses_of
from viewer.runs import drafts, service
from viewer.runs.errors import WrongStatus
from viewer.runs.models import Run
from viewer.web.session_urls import SessionUrls

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
PUT = re.compile("Kept exactly:")
FRAGMENT = {"HX-Request": "true"}
TITLE = "Stocktaking, ten warehouses"


@pytest.fixture
def ready(signed_in: Client, demo: Callable[[str], str]) -> Run:
    """A run of the demo's session that waits to be reviewed."""
    signed_in.post(f"{demo(TITLE)}/compact", {"apply": "0", "strategy": "summary"})
    return Run.objects.get()


@pytest.fixture
def lossy(signed_in: Client, ready: Run) -> Run:
    """The same, with a summary from which somebody took twenty lines that the request needs."""
    text = re.sub(r"(\*\*)?Count again:.*", "", ready.summary, count=20)
    signed_in.post(f"/runs/{ready.pk}/count", {"summary": text})
    return Run.objects.get()


def test_it_shows_what_goes_the_summary_and_what_stays(signed_in: Client, ready: Run) -> None:
    page = read(signed_in.get(f"/runs/{ready.pk}"))
    assert page.one("h1").text == "Preview, not applied"
    for name, parts in (("goes", ("middle",)), ("stays", ("head", "tail"))):
        ids = [each for part in parts for each in ready.plan[part]]
        column = page.one("details", id=name)
        assert f"{len(ids):,} message" in column.one("summary").text
        shown = [link.attributes["href"].partition("#m")[2] for link in column.one("ol").all("a")]
        assert shown[: min(50, len(ids))] == [str(each) for each in ids[:50]]
        assert len(read(signed_in.get(f"/runs/{ready.pk}/{name}")).one("ol").all("li")) >= min(200, len(ids))
    assert page.one("div", "md").text
    again = page.one(
        "a", "btn",
        href=f"/stores/demo/sessions/{ready.session_id}/plan?strategy=summary&summarizer=offline&mode=in_place&carry=1",
    )  # fmt: skip
    assert "Other settings" in again.text


def _numbers(page: Element) -> tuple[int, int, int, int]:
    """Lines that the request asks for and that are kept, all of these, lost lines, and those the next turn needs."""
    kept = next(
        re.findall(r"\d+", each.text) for each in page.all("ul", "kept")[0].all("li") if "refers to" in each.text
    )
    lost = [int(each.replace(",", "")) for each in re.findall(r"[\d,]+", page.one("p", "loss").text)]
    return int(kept[0]), int(kept[1]), lost[0], lost[1] if "needs" in page.one("p", "loss").text and lost[1:] else 0


def _after(page: Element) -> int:
    """The tokens in context that the candidate's head names."""
    exact = page.one("p", id=f"becomes-{Run.objects.get().pk}").all("span")[-1].attributes["title"]
    return int(re.sub(r"\D", "", exact))


def test_the_report_begins_with_what_is_kept_and_names_few_losses(signed_in: Client, lossy: Run) -> None:
    page = read(signed_in.get(f"/runs/{lossy.pk}"))
    report = page.one("section", "findings")
    assert [each.text for each in report.all("h2")] == ["Kept", "Lost"] and "%" not in report.text
    assert "The open request: That was the last one." in report.all("ul", "kept")[0].text
    kept, asked, lost, needed = _numbers(page)
    assert (kept + needed, asked) == (43, 43) and lost == lossy.report["things"]
    rows = report.one("ol", "lost").all("li")
    assert len(rows) == len(report.all("button", name="put")) - 1 == 7
    assert all("Count again" in row.text and row.all("span", "bad") for row in rows), (
        "what the request needs comes first"
    )
    assert all(re.match(r"the request needs it [\w ]+, aisle \d", row.text) for row in rows), "with where it was said"
    assert [each.text for each in page.one("div", "decide").all("button")] == ["Apply", "Discard"]
    assert page.text.index("Apply") < page.text.index("Kept") < page.text.index("Lost")


def test_the_panel_has_the_same_report_as_the_page(signed_in: Client, lossy: Run) -> None:
    def parts(report: Element) -> list[object]:
        offers = [(each.text, each.attributes["value"]) for each in report.all("button", name="put")]
        rows = [each.text for each in report.one("ol", "lost").all("li")]
        return [report.one("p", "loss").text, [each.text for each in report.all("ul", "kept")], rows, offers]

    page = read(signed_in.get(f"/runs/{lossy.pk}"))
    session = f"/stores/demo/sessions/{lossy.session_id}"
    panel = read(signed_in.get(session)).one("section", "ready")
    assert parts(panel) == parts(page.one("section", "findings"))
    settings = [
        next(link for link in each.all("a") if link.text == "Other settings").attributes["href"]
        for each in (panel, page)
    ]
    assert settings[0] == settings[1] and read(signed_in.get(settings[0])).one("form", id="plan-form")
    named = {"put": panel.all("button", name="put")[1].attributes["value"]}
    here = FRAGMENT | {"HX-Current-URL": f"http://testserver{session}?around=3"}
    there = FRAGMENT | {"HX-Current-URL": f"http://testserver/runs/{lossy.pk}"}
    ids = {each.attributes["id"] for each in panel.walk() if "id" in each.attributes}
    for headers, reads in ((here, 0), (there, 1)):
        answer = read(signed_in.post(f"/runs/{lossy.pk}/draft", named, headers=headers))
        assert len(answer.all("div", "reads")) == reads, "the panel has no room for how it reads"
    swapped = read(signed_in.post(f"/runs/{lossy.pk}/draft", named, headers=here))
    out = [each.attributes["id"] for each in swapped.walk() if "hx-swap-oob" in each.attributes]
    assert len(out) > 5 and set(out) <= ids, "each has its place there"
    typed = {"summary": Run.objects.get().draft + "\n\nTyped."}
    saved = read(signed_in.post(f"/runs/{lossy.pk}/draft", typed, headers=here)).one("button", "small")
    counted = read(signed_in.post(saved.attributes["hx-post"], typed, headers=here))
    assert counted.one("section", "ready") and Run.objects.get().summary == typed["summary"]


def test_what_is_put_in_counts_as_kept(signed_in: Client, lossy: Run) -> None:
    """One line, then all that the next turn needs with one request; the numbers are those of a new report."""
    kept, asked, lost, needed = _numbers(page := read(signed_in.get(f"/runs/{lossy.pk}")))
    first, button = page.one("ol", "lost").all("button")[0], page.one("div", "worth-head").one("button")
    assert button.text == f"Put all {needed} in" and needed > 7
    answer = signed_in.post(f"/runs/{lossy.pk}/draft", {"put": first.attributes["value"]})
    assert answer["Location"] == f"/runs/{lossy.pk}#report-title"
    assert _numbers(read(signed_in.get(f"/runs/{lossy.pk}"))) == (kept + 1, asked, lost - 1, needed - 1)
    draft = Run.objects.get().draft
    assert re.search(r"\n\nKept exactly:\n- [\w ]+, aisle \d: \*\*Count again:\*\* bins", draft)
    again = signed_in.post(f"/runs/{lossy.pk}/draft", {"put": first.attributes["value"]}, headers=FRAGMENT)
    assert Run.objects.get().draft == draft, "what is there already is not put in twice"
    assert read(again).one("div", "worth-head").one("button").text == f"Put all {needed - 1} in"
    assert not read(again).all(cls="uncounted"), "the report counts it"
    ids = [each.attributes["id"] for each in read(again).walk() if "id" in each.attributes]
    assert len(ids) == len(set(ids)), "each part of the page is sent once"
    assert _after(read(again)) > _after(page), "the tokens are those of the text"
    named = {"put": button.attributes["value"], "summary": draft}
    put = read(signed_in.post(f"/runs/{lossy.pk}/draft", named, headers=FRAGMENT))
    assert not put.all(cls="uncounted") and _after(put) > _after(read(again))
    assert f"{lost - needed} lines are lost; as far as we can tell" in put.one("p", "loss").text
    assert put.one("textarea").text.count("Count again") > needed and put.all("ul", "kept")
    assert "Count again" not in put.one("ol", "lost").text, "others are next"
    text = Run.objects.get().draft
    assert text.count("Kept exactly:") == 1
    for odd in ("lost:99999", "lost:-1", "printed:0", "lost:²"):
        signed_in.post(f"/runs/{lossy.pk}/draft", {"put": odd})
    assert Run.objects.get().draft == text
    signed_in.post(f"/runs/{lossy.pk}/apply", {"summary": text})
    run = Run.objects.get()
    assert (run.status, run.draft) == ("applied", "") and "Kept exactly:" in run.summary
    assert run.report["request"]["needs"] == [asked, asked] and run.report["things"] <= lost - needed
    page = read(signed_in.get(f"/runs/{run.pk}"))
    assert page.one("section", "handoff").one("div", "md").all("li"), "the summary as it reads"


def test_no_more_counts_as_kept_than_there_is() -> None:
    """An instruction that is said twice counts once, and the request is not a line that it asks for."""
    said = ("instruction", "Never push to the main branch.", 1), ("instruction", "Never push to the main branch!", 4)
    asked = ("request", "Move bin Q-1188.", 9), ("request", "Bin Q-1188 is in hall 3.", 5)
    report = {
        "lost": [],
        "lost_statements": [
            {"kind": "statement", "matters": matters, "text": text, "message": message}
            for matters, text, message in (*said, *asked)
        ],
        "ranked": (names := [f"lost_statements:{at}" for at in range(4)]),
        "request": {"text": "Move bin Q-1188.", "message": 9, "open": True, "kept": False, "needs": [1, 3]},
        "instructions": [1, 3],
    }
    urls = SessionUrls("own", "s")
    for put, needs, instructions in (
        (names[:1], (1, 3), (2, 3)),
        (names[:3], (1, 3), (2, 3)),
        (names, (2, 3), (2, 3)),
    ):
        found = losses_of(report, urls, put)
        assert (found.needs, found.instructions) == (needs, instructions)
    report["instructions"] = [2, 2]
    assert losses_of(report, urls, names).instructions == (2, 2)


def test_what_lost_lines_are_and_whose_is_a_heading_above_them(signed_in: Client, ready: Run) -> None:
    lost = [
        {"kind": "statement", "message": None, "text": text, "category": category, "by": by}
        for category in ("cause", "decision", "cause")
        for by in ("agent", "summary")
        for text in (f"The {category} of {by}, {'abcdef'[len(category + by) % 6]}.",)
    ]
    lost[-1] |= {"text": "The mill burnt.", "matters": "used"}
    ready.report |= {"lost": lost, "ranked": [f"lost:{at}" for at in range(6)], "things": 6}
    ready.save()
    groups = read(signed_in.get(f"/runs/{ready.pk}/lost")).all("details", "lost-group")
    headings = [[each.text for each in group.all("h4")] for group in groups]
    assert [group.one("h3").text for group in groups] == ["Used later", "Decisions, causes, open tasks and the like"]
    assert headings == [
        ["From the earlier summary"],
        [
            "Cause, said by the agent",
            "Cause, from the earlier summary",
            "Decision, said by the agent",
            "Decision, from the earlier summary",
        ],
    ], "each once, in the order of the first line of each"
    assert not [
        row for group in groups for row in group.all("li") if row.all("span", "kind") or row.all("span", "note")
    ]


def test_all_that_is_lost_is_listed_and_can_be_put_in(signed_in: Client, ready: Run) -> None:
    """However many: a page names 100, and leads on."""
    one = {"kind": "path", "message": None, "by": "agent"}
    words = ["".join("abcdefghij"[int(digit)] for digit in str(at)) for at in range(250)]
    lost = [{**one, "text": f"detail {word}", "line": f"The line of detail {word}"} for word in words]
    ready.report |= {"lost": lost, "ranked": [f"lost:{at}" for at in range(250)], "things": 260}
    ready.save()
    page = read(signed_in.get(f"/runs/{ready.pk}"))
    more = page.one("details", id="all-lost").one("a", "later")
    names = []
    for expected in (100, 100, 50):
        part = read(signed_in.get(more.attributes["hx-get"], headers=FRAGMENT))
        names += [each.attributes["value"] for each in part.all("button", name="put")]
        assert len(names[-expected:]) == expected
        more = next(iter(part.all("a", "later")), more)
    assert names == [f"lost:{at}" for at in range(250)]
    assert part.all("li")[-1].text == "10 more, not listed"
    answer = read(signed_in.post(f"/runs/{ready.pk}/draft", {"put": "lost:249"}, headers=FRAGMENT))
    assert "✓ In" in answer.one("span", "put").text and "259 lines" in answer.one("p", "loss").text
    assert Run.objects.get().draft.endswith("The line of detail cej")
    page = read(signed_in.get(f"/runs/{ready.pk}/lost?from=200"))
    assert len(page.one("ol", "lost").all("li")) == 51 and not page.all("button", name="put")
    signed_in.post(f"/runs/{ready.pk}/discard")
    part = read(signed_in.get(f"/runs/{ready.pk}/lost?from=200&putting=1", headers=FRAGMENT))
    assert part.all("li") and not part.all("button", name="put"), "there is no candidate any more"


def test_lines_with_the_same_words_are_one_row(signed_in: Client, ready: Run) -> None:
    """Numbers and paths may differ; what the next turn needs, or a person said, is never folded."""
    one = {"kind": "statement", "message": None, "by": "agent", "category": "cause"}
    alike = [{**one, "text": f"Running tests in lib/a{at}.ex... {at} passed, took {at} s."} for at in range(5)]
    needed = [{**one, "text": f"Bin Q-{at} is full.", "matters": "request"} for at in range(2)]
    others = [{**one, "text": "The key was too long."}, {**one, "text": "Running tests... all failed."}]
    others += [{**one, "by": "person", "text": f"Door {at} jams."} for at in range(2)]
    lost = [*needed, *alike, *others]
    names = [f"lost_statements:{at}" for at in range(len(lost))]
    ready.report |= {"lost": [], "lost_statements": lost, "ranked": names, "things": len(lost)}
    ready.save()
    urls = SessionUrls(ready.store, ready.session_id)
    assert [len(row.like) for row in losses_of(ready.report, urls).few] == [0, 0]
    then = losses_of(ready.report, urls, names[:2])
    assert [(row.text, len(row.like)) for row in then.few] == [
        (alike[0]["text"], 4), *((each["text"], 0) for each in others)
    ]  # fmt: skip
    assert then.to_put == (names[2], *names[7:]), "one of those with the same words"
    listed = read(signed_in.get(f"/runs/{ready.pk}/lost?putting=1"))
    fold = next(each for each in listed.all("details", "fold") if "4 more like this" in each.text)
    assert [each.attributes["value"] for each in fold.all("button", name="put")] == names[3:7]
    assert "7 lines" in listed.text and "2 lines" in listed.text, "each counts"


def test_all_that_is_offered_is_put_in_before_others_are(signed_in: Client, lossy: Run) -> None:
    """The button counts what is not in; then the page says that all is in, and offers others as such."""

    def head(answer: Element) -> tuple[list[str], str]:
        shown = answer.one("div", "worth-head")
        return [each.text for each in shown.all("p")], shown.one("h3").text

    button = read(signed_in.get(f"/runs/{lossy.pk}")).one("div", "worth-head").one("button")
    names = button.attributes["value"].split()
    for at, name in enumerate(names[:3], 1):
        put = read(signed_in.post(f"/runs/{lossy.pk}/draft", {"put": name}, headers=FRAGMENT))
        assert put.one("div", "worth-head").one("button").text == f"Put all {len(names) - at} in"
        assert head(put) == ([], "The next turn needs")
    answer = signed_in.post(f"/runs/{lossy.pk}/draft", {"put": " ".join(names)}, headers=FRAGMENT)
    assert head(read(answer)) == ([f"✓ All {len(names)} that the next turn needs are in"], "Others, worth a look")
    others = read(answer).one("div", "worth-head").one("button").attributes["value"].split()
    assert others and not {*others} & {*names}
    for name in others:
        last = read(signed_in.post(f"/runs/{lossy.pk}/draft", {"put": name}, headers=FRAGMENT))
    assert f"✓ {len(others)} others are in" in last.one("div", "worth-head").text
    shown = last.one("div", id="put-in")
    assert len(shown.all("li")) == len(names) + len(others) and shown.attributes["aria-label"] == "Put in by you"
    assert len(shown.all("div", "fresh")) == 1, "the line that was just put in"
    assert not read(signed_in.get(f"/runs/{lossy.pk}")).all("div", "fresh")


def test_a_draft_is_kept_on_reload_and_on_refusal(signed_in: Client, ready: Run) -> None:
    typed = f"{ready.summary}\n\nAdded <b>by hand</b>."
    answer = read(signed_in.post(f"/runs/{ready.pk}/draft", {"summary": typed}, headers=FRAGMENT))
    assert "Added" in answer.one("div", "md").text
    assert "by hand" in read(signed_in.get(f"/runs/{ready.pk}")).one("textarea").text
    panel = read(signed_in.get(f"/stores/demo/sessions/{ready.session_id}")).one("section", "ready")
    assert "by hand" in panel.one("textarea").text and "Open the preview" in panel.text
    refused = read(signed_in.post(f"/runs/{ready.pk}/apply", {"summary": "  "}), 422)
    assert "empty" in refused.one(role="alert").text and refused.one("textarea").text.strip() == ""
    assert read(signed_in.get(f"/runs/{ready.pk}")).one("textarea").text.strip() == "", "the refused text stays"


def test_an_edited_summary_is_counted_again(signed_in: Client, lossy: Run) -> None:
    """The report, the tokens and the messages are those of the text that somebody wrote."""

    def offers(page: Element) -> list[str]:
        return [each.text for each in page.all("button", formaction=f"/runs/{lossy.pk}/count")]

    page = read(signed_in.get(f"/runs/{lossy.pk}"))
    assert not offers(page), "it is counted as it is"
    kept, _, lost, _ = _numbers(page)
    first = drafts.line_of(lossy.report, lossy.report["ranked"][0])
    typed = f"{lossy.summary}\n\n- {first}"
    saved = read(signed_in.post(f"/runs/{lossy.pk}/draft", {"summary": typed}, headers=FRAGMENT))
    assert offers(saved) == ["Count again"] and "Not counted for your text." in saved.text
    panel = read(signed_in.get(f"/stores/demo/sessions/{lossy.session_id}")).one("section", "ready")
    assert "Not counted for your text." in panel.text
    answer = signed_in.post(f"/runs/{lossy.pk}/count", {"summary": typed.replace("\n", "\r\n")})
    assert answer.headers["Location"] == f"/runs/{lossy.pk}#report-title"
    run, page = Run.objects.get(), read(signed_in.get(f"/runs/{lossy.pk}"))
    assert (run.status, run.summary, run.draft) == ("ready", typed, "")
    assert _numbers(page)[0] == kept + 1 and _numbers(page)[2] < lost
    assert (run.tokens_after or 0) > (lossy.tokens_after or 0) and not offers(page)
    refused = read(signed_in.post(f"/runs/{lossy.pk}/count", {"summary": " "}), 422)
    assert "empty" in refused.one(role="alert").text
    assert Run.objects.get().summary == typed
    signed_in.post(f"/runs/{lossy.pk}/apply", {"summary": typed})
    applied = Run.objects.get()
    assert (applied.status, applied.summary) == ("applied", typed)
    page = read(signed_in.get(f"/stores/demo/sessions/{lossy.session_id}?around={applied.handoff_id}"))
    assert "Summary given to the model, edited by you" in page.one(id=f"b{applied.handoff_id}").text


def test_a_summary_that_nobody_changed_is_not_called_edited(signed_in: Client, ready: Run) -> None:
    signed_in.post(f"/runs/{ready.pk}/count", {"summary": ready.summary})
    signed_in.post(f"/runs/{ready.pk}/apply", {"summary": ready.summary})
    applied = Run.objects.get()
    page = read(signed_in.get(f"/stores/demo/sessions/{ready.session_id}?around={applied.handoff_id}"))
    boundary = page.one(id=f"b{applied.handoff_id}").text
    assert "Summary given to the model" in boundary and "edited by you" not in boundary


def test_a_run_that_waits_for_a_worker_keeps_its_summary(ready: Run) -> None:
    """Apply was pressed in another window while the session was read to count again."""
    Run.objects.update(status="waiting")
    with pytest.raises(WrongStatus):
        service.count_again(ready, "Another summary.")
    assert (ready.status, Run.objects.get().summary) == ("waiting", ready.summary)
    assert "Another" not in ready.summary


def test_a_refused_edit_is_seen_where_it_was_made(visit: Visit, ready: Run) -> None:
    for width, height in ((1500, 900), (360, 740)):
        screen = visit(width, height)
        screen.goto(f"/runs/{ready.pk}")
        summary = screen.get_by_label("Summary (editable)")
        expect(screen.get_by_role("button", name="Apply")).to_be_in_viewport(ratio=1)
        screen.get_by_text("Edit", exact=True).click()
        expect(screen.locator("#edited .md")).to_be_hidden()
        summary.fill(" ")
        screen.mouse.wheel(0, 3000)
        screen.get_by_role("button", name="Apply").click()
        expect(summary).to_be_focused()
        expect(screen.get_by_role("alert")).to_be_in_viewport()
        expect(summary).to_have_accessible_description(re.compile("empty.*Nothing was written"))
        again = screen.context.new_page()
        again.goto(screen.url)
        assert screen.url.endswith("/apply") and again.url.endswith(f"/runs/{ready.pk}")


def test_what_was_undone_leads_to_a_new_plan(signed_in: Client, ready: Run) -> None:
    """Where the kind of store does not apply it again, as the demo's."""
    session = f"/stores/demo/sessions/{ready.session_id}"
    signed_in.post(f"/runs/{ready.pk}/apply", {"summary": ready.summary})
    signed_in.post(f"{session}/boundaries/{Run.objects.get().handoff_id}/undo")
    card = read(signed_in.get(f"/runs/{ready.pk}")).one("section", "undone")
    onwards = card.one("a", "btn")
    assert onwards.text == "Plan again" and not card.all("button")
    assert read(signed_in.get(onwards.attributes["href"])).one("form", id="plan-form")


def test_apply_leads_to_the_new_boundary_with_its_receipt(signed_in: Client, ready: Run) -> None:
    """As *Compact now* does; also where the worker writes it after the page of the run is shown."""
    answer = signed_in.post(f"/runs/{ready.pk}/apply", {"summary": ready.summary})
    run, session = Run.objects.get(), f"/stores/demo/sessions/{ready.session_id}"
    assert answer.headers["Location"] == f"{session}?around={run.handoff_id}#b{run.handoff_id}"
    page = read(signed_in.get(answer.headers["Location"]))
    assert page.one("section", id=f"b{run.handoff_id}")
    assert "The agent sees it with its next message." in page.one("div", id="run").one("section", "applied").text
    headers = {**FRAGMENT, "HX-Current-URL": f"http://testserver/runs/{run.pk}"}
    polled = signed_in.get(f"/runs/{run.pk}?seen=applying&mark=0", headers=headers)
    assert polled.headers["HX-Redirect"] == answer.headers["Location"]


@pytest.mark.parametrize("action", ["apply", "draft", "count", "discard", "redo", "cancel"])
def test_an_address_that_takes_a_form_leads_to_the_run(signed_in: Client, ready: Run, action: str) -> None:
    before = Run.objects.values().get()
    answer = signed_in.get(f"/runs/{ready.pk}/{action}")
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/runs/{ready.pk}")
    assert signed_in.put(f"/runs/{ready.pk}/{action}").status_code == 405
    assert Run.objects.values().get() == before


@pytest.mark.parametrize("action", ["apply", "draft", "count", "discard", "redo", "cancel"])
def test_a_second_tab_leads_to_the_run_and_its_session(signed_in: Client, ready: Run, action: str) -> None:
    signed_in.post(f"/runs/{ready.pk}/apply")
    session = f"/stores/demo/sessions/{ready.session_id}"
    for headers, within in (({}, "main"), (FRAGMENT, "div")):
        answer = signed_in.post(f"/runs/{ready.pk}/{action}", {"summary": "x"}, headers=headers)
        refused = read(answer, 409).all(within)[0]
        hrefs = [link.attributes["href"] for link in refused.all("a")]
        assert hrefs[:2] == [f"/runs/{ready.pk}", session]


def test_the_page_of_a_run_is_loaded_anew_when_its_candidate_is_there(signed_in: Client, ready: Run) -> None:
    """The panel of a session is not: it shows the candidate itself."""
    for asking, anew in ((f"/runs/{ready.pk}", True), (f"/stores/demo/sessions/{ready.session_id}", False)):
        headers = {**FRAGMENT, "HX-Current-URL": f"http://testserver{asking}"}
        answer = signed_in.get(f"/runs/{ready.pk}?seen=summarizing&mark=0", headers=headers)
        assert ("HX-Refresh" in answer.headers, b"textarea" in answer.content) == (anew, not anew)
        again = signed_in.get(f"/runs/{ready.pk}?seen=ready&mark=0", headers=headers)
        assert "HX-Refresh" not in again.headers


def test_a_run_that_is_not_ready_has_no_draft(signed_in: Client, ready: Run) -> None:
    signed_in.post(f"/runs/{ready.pk}/discard")
    assert read(signed_in.post(f"/runs/{ready.pk}/draft", {"summary": "x"}), 409).one("main")
    assert Run.objects.get().draft == ""
    assert not read(signed_in.get(f"/runs/{ready.pk}")).all("div", "candidate")


def test_a_lost_line_is_put_back_and_outlasts_a_reload(visit: Visit, ready: Run) -> None:
    screen = visit()
    screen.goto(f"/runs/{ready.pk}")
    summary, lost = screen.get_by_label("Summary (editable)"), screen.locator("p.loss")
    first = lost.inner_text()
    screen.get_by_role("button", name="Put in:").first.click()
    expect(screen.get_by_text("✓ In", exact=True)).to_be_visible()
    expect(lost).not_to_have_text(first)
    expect(screen.locator("#edited .md")).to_contain_text(PUT)
    screen.get_by_role("button", name="Put all").click()
    expect(lost).to_contain_text("does not need them")
    screen.get_by_text("All that is lost").click()
    expect(screen.locator("#all-lost h3").first).to_be_visible()
    screen.reload()
    screen.get_by_text("Edit", exact=True).click()
    expect(summary).to_have_value(PUT)
    summary.press_sequentially("Typed. ")
    screen.get_by_text("Read it", exact=True).click()
    expect(screen.locator("#edited .md")).to_contain_text("Typed.")
    screen.reload()
    require_accessible(screen, "candidate")
    screen.get_by_role("button", name="Apply").click()
    expect(screen.locator("section.card.applied")).to_be_visible()
    run = Run.objects.get()
    assert "Kept exactly:" in run.summary and "Typed." in run.summary


def test_a_lost_line_is_put_in_from_the_panel(visit: Visit, ready: Run) -> None:
    screen = visit()
    screen.goto(f"/stores/demo/sessions/{ready.session_id}")
    panel = screen.locator("section.card.ready")
    summary, apply = panel.get_by_label("Summary (editable)"), panel.get_by_role("button", name="Apply")
    expect(apply).to_be_in_viewport(ratio=1)
    panel.get_by_role("button", name="Put in:").first.click()
    expect(panel.get_by_text("✓ In", exact=True)).to_be_visible()
    expect(summary).to_have_value(PUT)
    summary.press_sequentially("Typed. ")
    expect(panel.get_by_role("button", name="Count again")).to_be_visible()
    apply.click()
    expect(screen.locator("section.card.applied")).to_be_visible()
    run = Run.objects.get()
    assert "Kept exactly:" in run.summary and "Typed." in run.summary


def test_what_is_put_in_is_seen_in_a_long_summary(visit: Visit, signed_in: Client, lossy: Run) -> None:
    signed_in.post(f"/runs/{lossy.pk}/draft", {"summary": f"{lossy.summary}\n\n" + "Rain on the beds.\n\n" * 80})
    screen = visit()
    screen.goto(f"/runs/{lossy.pk}")
    button = screen.get_by_role("button", name="Put in:").first
    button.click()
    expect(screen.locator(".put-in .fresh")).to_be_in_viewport(ratio=1)
    expect(screen.locator(".put").first).to_be_in_viewport()


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
