"""The compact panel and runs: plan, preview, apply, refusals."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

import compaction
from compaction.strategy import STRATEGIES
from tests.factories.stores import EmptyStore, HermesStore
from tests.html import Element, read
from tests.model_services import ModelService, answers, refuses
from tests.slow import slow
from viewer.pages.parts.losses import unmarked
from viewer.rendering.templatetags.palimpsest import TERMS
from viewer.runs import planning, service
from viewer.runs.models import OPEN_STATUSES, STATUSES, Run
from viewer.runs.providers import connections, limits
from viewer.stores.hermes import messages
from viewer.stores.hermes.reader import open_store
from viewer.stores.message import for_model
from viewer.stores.registry import get_store

FRAGMENT = {"HX-Request": "true"}


def address(hermes_store: HermesStore) -> str:
    return f"/stores/hermes/sessions/{hermes_store.session_id}"


def test_the_plan_stands_on_the_page_before_anything_runs(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    panel = read(signed_in.get(f"{address(open_hermes_store(31))}/plan")).one("section", id="plan")
    for part in ("To summarise, ", "Recent, kept, ", "Now (tokens)", "After, at most (tokens)", "No turn is running"):
        assert part in panel.text
    shares = panel.one("svg").attributes["aria-label"]
    assert shares.startswith("Previous summary (merged): ")
    assert "; To summarise, " in shares
    exact = [_tokens(each) for each in panel.one("dl").all("dd")]
    assert sum(exact[:-2]) == exact[-2]  # the parts are all there is now
    assert panel.all("li")
    widths = [
        float(bar.attributes["width"].rstrip("%")) for bar in panel.one("svg").all("rect") if "x" in bar.attributes
    ]
    assert 97 < sum(widths) <= 100
    assert not Run.objects.exists()


def test_a_run_started_on_the_plans_own_page_is_watched_on_its_own(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    """The page of a plan has no History that would show the result, and its plan would be an old one."""
    href = address(open_hermes_store(31))
    answer = signed_in.post(
        f"{href}/compact", headers={**FRAGMENT, "HX-Current-URL": f"http://testserver{href}/plan?keep=10"}
    )
    run = Run.objects.get()
    assert answer.headers["HX-Redirect"] == f"/runs/{run.pk}"
    assert not answer.content


def _tokens(value: Element) -> int:
    """The exact number behind a thin one."""
    titles = [span.attributes["title"] for span in value.all("span")]
    return int((titles[0] if titles else value.text).removesuffix(" tokens").replace(",", ""))


def test_a_change_plans_again(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    href = f"{address(open_hermes_store(31))}/plan"
    usual = read(signed_in.get(href, headers=FRAGMENT))
    assert not usual.all("html")
    more = read(signed_in.get(f"{href}?keep=17&focus=<b>refund</b>&summarizer=nobody", headers=FRAGMENT))
    assert "Recent, kept, 1" in more.text
    assert more.one("dl").text != usual.one("dl").text
    assert more.one("input", id="focus").attributes["value"] == "<b>refund</b>"
    assert more.one("option", selected="", value="17").text == "at least the last 17"


def test_the_other_way_shortens_tool_output_without_a_summary(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    href = address(open_hermes_store(31))
    usual = read(signed_in.get(f"{href}/plan", headers=FRAGMENT))
    ways = usual.one("fieldset").all("label")
    assert [way.all("b")[0].text for way in ways] == ["Summarise", "Shorten tool output"]
    assert usual.one("input", name="strategy", checked="").attributes["value"] == "summary"
    panel = read(signed_in.get(f"{href}/plan?strategy=prune&focus=refund", headers=FRAGMENT))
    assert panel.one("input", name="strategy", checked="").attributes["value"] == "prune"
    for part in ("Older, kept, ", "To shorten, 1 message", "Recent, kept, ", "After, about", "No model is asked."):
        assert part in panel.text
    exact = [_tokens(each) for each in panel.one("dl").all("dd")]
    assert sum(exact[:-2]) == exact[-2] > exact[-1]
    assert not panel.all("select", id="summarizer")
    assert panel.one("input", id="focus").attributes["type"] == "hidden"
    asked = read(signed_in.post(f"{href}/plan", {"confirm": "1", "strategy": "prune"}))
    assert "Shorten the tool output in " in asked.one(cls="confirm").text

    card = read(signed_in.post(f"{href}/compact", {"apply": "0", "strategy": "prune"}, headers=FRAGMENT))
    run = Run.objects.get()
    assert (run.status, run.strategy) == ("ready", "prune")
    assert not card.all("textarea") and "shortened, none summarised" in card.text and run.summary in card.text
    applied = read(signed_in.post(f"/runs/{run.pk}/apply", headers=FRAGMENT))
    assert "The full tool output stays in the store and in History" in applied.text
    alone = read(signed_in.get(f"/runs/{run.pk}")).text
    assert "Shorten tool output" in alone and "Summary by" not in alone and "The note" in alone


def test_compact_now_asks_once_in_numbers(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    hermes_store = open_hermes_store(31)
    button = read(signed_in.get(f"{address(hermes_store)}/plan")).one("button", name="confirm")
    asked = read(signed_in.post(button.attributes["formaction"], {"confirm": "1", "keep": "20"}))
    assert asked.one("select", id="keep").one("option", selected="").attributes["value"] == "20"
    assert "They stay in the store and in History. You can undo this." in asked.one(cls="confirm").text
    assert asked.one(cls="confirm").one("button").attributes["value"] == "1"


def test_no_form_with_a_token_is_sent_in_an_address(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    href = address(open_hermes_store(31))
    for page in (read(signed_in.get(f"{href}/plan")), read(signed_in.post(f"{href}/plan", {"confirm": "1"}))):
        for form in page.all("form"):
            if form.all("input", name="csrfmiddlewaretoken"):
                assert form.attributes["method"] == "post"
                assert all("formmethod" not in element.attributes for element in form.walk())
        sent = [element.attributes for element in page.walk() if {"hx-get", "hx-include"} <= element.attributes.keys()]
        assert sent
        assert all(attributes["hx-params"] == "not csrfmiddlewaretoken" for attributes in sent)


def test_a_plan_that_saves_much_leads_to_the_preview(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    worth = read(signed_in.get(f"{address(open_hermes_store(31))}/plan")).one("section", id="plan")
    assert "save little" not in worth.text
    assert "primary" in worth.one("button", name="apply").classes


def test_a_plan_that_saves_little_says_so(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "assistant", "", tool_calls=[empty_store.call("terminal", "c", command="make")])
    empty_store.say("s", "tool", "compiled one more file\n" * 100, tool_call_id="c")
    for at in range(24):
        empty_store.say("s", ("user", "assistant")[at % 2], f"number {at} " + "of many words " * 280)
    little = read(signed_in.get(f"{href}/plan?strategy=prune", headers=FRAGMENT))
    assert "This would save little: less than a tenth of the " in little.text
    assert "primary" not in little.one("button", name="apply").classes


def test_it_is_said_that_nothing_leaves_the_machine(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    panel = read(signed_in.get(f"{address(open_hermes_store(31))}/plan")).one("section", id="plan")
    note = panel.one("select", id="summarizer").attributes["aria-describedby"]
    said = panel.one("p", id=note)
    assert said.text.startswith("Nothing leaves this machine.")
    assert said.one("a").attributes["href"] == "/settings"


@pytest.mark.parametrize("version", [*slow(21), 31])
def test_preview_then_apply_then_undo(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None, version: int
) -> None:
    hermes_store = open_hermes_store(version)
    before = hermes_store.live()
    card = read(signed_in.post(f"{address(hermes_store)}/compact", {"apply": "0"}, headers=FRAGMENT)).one(
        "section", "card"
    )
    assert "ready" in card.classes
    assert hermes_store.live() == before
    summary = "".join(item for item in card.one("textarea").inside if isinstance(item, str))
    run = Run.objects.get()
    assert summary.strip() == run.summary
    done = read(
        signed_in.post(
            f"/runs/{run.pk}/apply", {"summary": f"{summary}\r\n\r\nAdded <b>by hand</b>."}, headers=FRAGMENT
        )
    )
    assert "applied" in done.one("section", "card").classes
    assert "The agent sees it with its next message. Nothing to do." in done.text
    assert not done.all("button", **{"type": "button"}), "there is nothing to resume"
    assert done.one("section", "card").attributes["hx-trigger"] == "every 15s"
    run.refresh_from_db()
    page = read(signed_in.get(f"{address(hermes_store)}?around={run.handoff_id}"))
    section = page.one("section", id=f"b{run.handoff_id}")
    assert "by you, here" in section.one(cls="line").text
    assert "Added <b>by hand</b>." in section.text
    undo = section.all("a", "btn")[0]
    assert undo.text == "Undo this compaction…"
    hermes_store.append("and on it goes")
    picked_up = read(signed_in.get(f"/runs/{run.pk}", headers=FRAGMENT))
    assert "Picked up" in picked_up.text
    signed_in.post(undo.attributes["href"])
    assert [row[1] for row in hermes_store.live()] == [row[1] for row in before] + ["and on it goes"]
    assert not read(signed_in.get(address(hermes_store))).one(id="run").all("section")


def test_the_report_names_what_is_not_found_after(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    hermes_store = open_hermes_store(21)
    signed_in.post(f"{address(hermes_store)}/compact", {"apply": "0"}, headers=FRAGMENT)
    run = Run.objects.get()
    run.report = {
        **run.report,
        "lost": [
            {"kind": "id", "text": "NEW222", "message": 9, "line": "Order NEW222 is late.", "by": "agent"},
            {"kind": "id", "text": "OLD111", "message": None, "line": "", "by": "summary"},
            {"kind": "name", "text": "Priya", "message": 9, "line": '{"to": "Priya"}', "by": "call"},
        ],
        "lost_statements": [
            {"kind": "statement", "text": "- Never <b>delete</b>.", "message": 7, "line": "", "by": "person",
             "category": "instruction", "matters": "instruction"},
            {"kind": "statement", "text": "Gates are green.", "message": 9, "line": "", "by": "agent",
             "category": "cause", "above": "Garden"},
        ],
        "ranked": ["lost_statements:0", "lost_statements:1", "lost:0", "lost:1", "lost:2"],
        "things": 5,
        "request": {"text": "Move <i>it</i>.", "message": 7, "open": True, "kept": False, "needs": [1, 2]},
        "instructions": [2, 3],
    }  # fmt: skip
    run.save()
    page = read(signed_in.get(f"/runs/{run.pk}"))
    has, lacks = (
        [(each.text, each.attributes["class"]) for each in shown.all("li")] for shown in page.all("ul", "kept")
    )
    assert has == [
        ("1 of 2 lines the request refers to Refers to " + TERMS["refers to"], "ok"),
        ("2 of 3 standing instructions", "ok"),
    ]
    assert lacks == [
        ("The open request: Move <i>it</i>.", "bad"),
        ("1 of 2 lines the request refers to", "bad"),
        ("1 of 3 standing instructions", "bad"),
    ]
    assert page.text.index("Lost") < page.text.index("The open request"), "it is not among what is kept"
    assert page.one("p", "loss").text == "5 lines are lost. The next turn needs 1 of them."
    rows = page.one("ol", "lost").all("li")
    assert [row.text.removesuffix(" Put in") for row in rows] == [
        "standing instruction Never <b>delete</b>. said by a person",
    ], "what the next turn needs"
    assert rows[0].all("span", "bad")
    less = {**run.report, "ranked": run.report["ranked"][1:]}
    Run.objects.update(report=less)
    others = read(signed_in.get(f"/runs/{run.pk}")).one("ol", "lost").all("li")
    assert [row.text.removesuffix(" Put in") for row in others] == [
        "cause Garden Gates are green. said by the agent",
    ], "then what is worth a look: not each name"
    Run.objects.update(report=run.report)
    assert rows[0].one("a").attributes["href"] == f"{address(hermes_store)}?around=7#m7"
    every = read(signed_in.get(f"/runs/{run.pk}/lost")).all("details", "lost-group")
    assert [(each.one("h3").text, [row.text for row in each.all("li")]) for each in every] == [
        ("Needed by the open request", ["Standing instruction, said by a person", "Never <b>delete</b>."]),
        ("Decisions, causes, open tasks and the like", ["Cause, said by the agent", "Garden Gates are green."]),
        ("Said by the agent", ["Order NEW222 is late."]),
        ("From the earlier summary", ["OLD111"]),
        ("Used in calls", ["Name", 'Priya {"to": "Priya"}']),
    ], "what matters first, then by whose it is"
    assert ["open" in each.attributes for each in every] == [True, True, False, False, False]
    nothing = {"lost": [], "lost_statements": [], "ranked": [], "things": 0}
    kept = {"request": {**run.report["request"], "kept": True, "open": False, "needs": [2, 2]}, "instructions": [0, 0]}
    run.report = {**run.report, **nothing, **kept}
    run.save()
    page = read(signed_in.get(f"/runs/{run.pk}"))
    assert page.one("p", "loss").text == "No line that we recognise is lost." and not page.all("button", name="put")
    assert [[each.attributes["class"] for each in shown.all("li")] for shown in page.all("ul", "kept")] == [
        ["ok", "ok"],
        [],
    ]
    run.report = {key: value for key, value in run.report.items() if key != "statements"}
    run.save()
    assert "we recognise" not in read(signed_in.get(f"/runs/{run.pk}")).text, "a run from before they were counted"


def test_the_boundary_comes_without_a_reload(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    hermes_store = open_hermes_store(31)
    signed_in.post(f"{address(hermes_store)}/compact", {"apply": "1"})
    run = Run.objects.get()
    assert run.status == "applied"
    here = FRAGMENT | {"HX-Current-URL": f"http://testserver{address(hermes_store)}?around=3"}
    loads = read(signed_in.get(f"/runs/{run.pk}?seen=applying", headers=here)).all(**{"hx-trigger": "load"})
    assert [load.attributes["hx-get"] for load in loads] == [
        f"{address(hermes_store)}?around={run.handoff_id}#b{run.handoff_id}"
    ]
    for href, headers in ((f"/runs/{run.pk}?seen=applied", here), (f"/runs/{run.pk}?seen=applying", FRAGMENT)):
        assert not read(signed_in.get(href, headers=headers)).all(**{"hx-trigger": "load"})


def test_without_htmx_a_run_has_its_own_page(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    hermes_store = open_hermes_store(31)
    answer = signed_in.post(f"{address(hermes_store)}/compact", {"apply": "0", "focus": "gift cards", "keep": "20"})
    run = Run.objects.get()
    assert answer["Location"] == f"/runs/{run.pk}"
    assert (run.focus, run.keep_last) == ("gift cards", 20)
    page = read(signed_in.get(answer["Location"]))
    assert "gift cards" in page.one("dl", "facts").text
    discard = page.one("main").one("button", formaction=f"/runs/{run.pk}/discard")
    assert signed_in.post(discard.attributes["formaction"])["Location"] == f"/runs/{run.pk}"
    card = read(signed_in.get(f"/runs/{run.pk}")).one("section", "card")
    assert "Discarded" in card.text
    (again,) = card.all("button")
    assert again.text == "Preview again"
    form = card.one("form")
    answer = signed_in.post(
        form.attributes["action"], {each.attributes["name"]: each.attributes["value"] for each in form.all("input")}
    )
    newer = Run.objects.latest("pk")
    assert (answer["Location"], newer.status, newer.focus, newer.keep_last) == (
        f"/runs/{newer.pk}", "ready", "gift cards", 20,
    )  # fmt: skip


@pytest.mark.parametrize("status", ["failed", *slow("cancelled", "discarded", "conflict", "queued")])
def test_a_run_that_left_nothing_in_context_shows_no_tokens_after_it(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], status: str
) -> None:
    hermes_store = open_hermes_store(21)
    after = None if status in ("failed", "queued") else 6_000
    Run.objects.create(
        store="hermes", session_id=hermes_store.session_id, status=status, strategy="summary", summarizer="extract",
        apply=True, tokens_before=19_600, tokens_after=after,
    )  # fmt: skip
    row = read(signed_in.get("/compactions")).one("main").all("tbody")[0].one("tr")
    assert "19.6k" in row.text
    assert "→" not in row.text


@pytest.mark.parametrize("status", STATUSES)
def test_a_run_of_each_status_has_a_card(signed_in: Client, chat_store: HermesStore, status: str) -> None:
    run = Run.objects.create(
        store="hermes", session_id=chat_store.session_id, status=status, strategy="summary", summarizer="offline",
        apply=True, tokens_before=19_600, tokens_after=6_000, progress={"sentence": "So far."},
    )  # fmt: skip
    card = read(signed_in.get(f"/runs/{run.pk}", headers=FRAGMENT)).one("section", "card")
    assert card.attributes["data-run"] == status
    if status == "undone":
        Run.objects.update(progress={"sentence": "Undone 28 Nov 15:43."})
        assert read(signed_in.get(f"/runs/{run.pk}")).one("section", "card").text.count("Undone") == 1
    assert (card.attributes.get("hx-trigger") == "every 1s") == (status in OPEN_STATUSES)


def test_the_time_in_which_somebody_looked_at_a_candidate_is_no_time_it_took(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    hermes_store = open_hermes_store(21)
    signed_in.post(f"{address(hermes_store)}/compact", {"apply": "0"}, headers=FRAGMENT)
    run = Run.objects.get()
    assert run.finished_at
    reading = timedelta(minutes=5)
    Run.objects.update(created_at=run.created_at - reading, finished_at=run.finished_at - reading)
    signed_in.post(f"/runs/{run.pk}/apply")
    run.refresh_from_db()
    assert run.status == "applied"
    assert "min" not in read(signed_in.get(f"/runs/{run.pk}")).one("dl", "facts").text.partition("Took")[2]
    assert run.worked_seconds is not None and 0 <= run.worked_seconds < 60


@pytest.mark.parametrize("strategy", ["summary", *slow("prune")])
@pytest.mark.parametrize("version", [*slow(21), 31])
def test_a_compaction_is_counted_alike_wherever_it_is_told(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None, strategy: str, version: int
) -> None:
    hermes_store = open_hermes_store(version)
    hermes_store.append("a record", role="session_meta")  # that the agent keeps for itself: no message
    signed_in.post(f"{address(hermes_store)}/compact", {"apply": "1", "strategy": strategy}, headers=FRAGMENT)
    run = Run.objects.get()
    page = read(signed_in.get(address(hermes_store)))
    receipt, top = page.one("section", "applied").text, page.one(id="facts").text
    boundary = read(signed_in.get(f"{address(hermes_store)}?around={run.handoff_id}")).one(id=f"b{run.handoff_id}")
    undo = read(signed_in.get(receipt_undo(page), headers=FRAGMENT)).one("form").text
    assert f"{run.messages_after} → {run.messages_before} messages" in undo
    with open_store(get_store("hermes")) as reader:
        assert len(for_model(messages.live_context(reader, hermes_store.session_id))) == run.messages_after
    if strategy == "prune":
        shortened = re.search(r"(\d+) shortened", receipt)
        assert shortened and re.search(rf"{shortened[1]} messages? shortened", boundary.one("h2").text)
        assert f"{shortened[1]} of them shortened" in boundary.one("nav").text
        assert "no message left the context" in receipt
    else:
        said = f"{run.messages_before} → {run.messages_after} messages with the summary"
        assert said in receipt and said in boundary.one("h2").text
        assert f"{run.messages_after - 1} of " in top and "and the summary in context" in top


def receipt_undo(page: Element) -> str:
    return page.one("section", "applied").one("a", "btn").attributes["hx-get"]


def test_an_open_run_is_polled_and_can_be_cancelled(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(31)
    card = read(signed_in.post(f"{address(hermes_store)}/compact", {"apply": "1"}, headers=FRAGMENT)).one(
        "section", "card"
    )
    run = Run.objects.get()
    poll = card.attributes["hx-get"]
    assert poll.startswith(f"/runs/{run.pk}?seen=queued&mark=")
    assert signed_in.get(poll, headers=FRAGMENT).status_code == 204
    Run.objects.update(progress={"sentence": "News."})
    assert "News." in read(signed_in.get(poll, headers=FRAGMENT)).text
    assert card.one("progress").attributes["aria-label"]
    # A second tab is shown the run that is at work, which goes on to tell how it goes there too.
    again = read(signed_in.post(f"{address(hermes_store)}/compact", {"apply": "1"}, headers=FRAGMENT), 409)
    assert "already" in again.one(role="alert").text
    assert again.one("section", "card").attributes["hx-get"].startswith(f"/runs/{run.pk}?seen=queued")
    whole = read(signed_in.post(f"{address(hermes_store)}/compact", {"apply": "1"}), 409).one("main")
    assert whole.all("a", href=f"/runs/{run.pk}")
    cancelled = read(signed_in.post(f"/runs/{run.pk}/cancel", headers=FRAGMENT)).one("section", "card")
    assert "hx-get" not in cancelled.attributes
    assert "cancelled" in cancelled.text.lower()


def test_a_conflict_says_why_and_what_to_do(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    hermes_store = open_hermes_store(31)
    signed_in.post(f"{address(hermes_store)}/compact", {"apply": "0", "focus": "refunds & returns", "keep": "20"})
    run = Run.objects.get()
    hermes_store.take_back_newest()
    refused = read(signed_in.post(f"/runs/{run.pk}/apply", headers=FRAGMENT), 409)
    for answer in (refused, read(signed_in.get(address(hermes_store)))):
        card = answer.one("section", "conflict")
        assert "taken back since. Nothing was written and the summary is kept." in card.text
    assert "taken back" in refused.one("p", **{"hx-swap-oob": "innerHTML:#run-said"}).text
    again = card.one("a", "btn").attributes["href"]
    assert again.startswith(f"{address(hermes_store)}/plan?")
    assert f"/runs/{run.pk}" in [link.attributes["href"] for link in card.all("a")]
    panel = read(signed_in.get(again, headers=FRAGMENT))
    assert panel.one("input", id="focus").attributes["value"] == "refunds & returns"
    assert panel.one("select", id="keep").one("option", selected="").attributes["value"] == "20"
    ready = read(signed_in.post(f"{address(hermes_store)}/compact", {"apply": "0"}, headers=FRAGMENT)).one(
        "section", "ready"
    )
    assert ready.all("a", href=f"/runs/{run.pk}"), "the summary that could not be written stays within reach"
    assert run.summary.splitlines()[0].strip("# ") in read(signed_in.get(f"/runs/{run.pk}")).text


@pytest.mark.parametrize(
    ("stood", "shown"),
    [
        ("- **Origin:** MCO", "Origin: MCO"),
        ("Your reservation ID is **HATHAV**.", "Your reservation ID is HATHAV."),
        ("## Aisle 4-02", "Aisle 4-02"),
        ("> Booked: **Mia Li**, **Omar Davis**", "Booked: Mia Li, Omar Davis"),
        ("-6 pieces in 4-02", "-6 pieces in 4-02"),
        ("area = 2**3 + x[1]**2 + y**2", "area = 2**3 + x[1]**2 + y**2"),
        ("ls src/**/*.py lib/**", "ls src/**/*.py lib/**"),
        ("[the log](https://ci.example/42)", "[the log](https://ci.example/42)"),
        ("f(**options)", "f(**options)"),
        ("| 3-02 | ribbon, red | **-6** |", "3-02 · ribbon, red · -6"),
        ("cat log | grep 3-02 | wc", "cat log | grep 3-02 | wc"),
    ],
)
def test_a_lost_line_is_shown_without_the_signs_of_lists_and_bold_words(stood: str, shown: str) -> None:
    assert unmarked(stood) == shown


def test_an_edited_text_survives_the_conflict(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    hermes_store = open_hermes_store(31)
    signed_in.post(f"{address(hermes_store)}/compact", {"apply": "0"})
    run = Run.objects.get()
    hermes_store.take_back_newest()
    typed = {"summary": f"{run.summary}\n\nMy own words."}
    answer = read(signed_in.post(f"/runs/{run.pk}/apply", typed, headers=FRAGMENT), 409)
    assert "My own words." in answer.one("textarea", readonly="").text
    assert answer.one("section", "conflict").one("a", "btn").text == "Plan again"


@pytest.mark.parametrize(
    ("typed", "said"), [("", "empty"), ("word " * 60_000, "shrink"), *slow(("word " * 100_000, "shrink"))]
)
def test_a_refused_edit_keeps_the_form_the_text_and_both_buttons(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None, typed: str, said: str
) -> None:
    hermes_store = open_hermes_store(31)
    signed_in.post(f"{address(hermes_store)}/compact", {"apply": "0"})
    run, before = Run.objects.get(), hermes_store.live()
    fragment = read(signed_in.post(f"/runs/{run.pk}/apply", {"summary": typed}, headers=FRAGMENT), 422)
    whole = read(signed_in.post(f"/runs/{run.pk}/apply", {"summary": typed}), 422).one("main")
    for answer in (fragment, whole):
        (card,) = answer.all(**{"data-run": "ready"})
        assert re.search(said, card.one(role="alert").text)
        field = card.one("textarea")
        assert "readonly" not in field.attributes
        assert field.inside == ["\n" + typed.strip() if typed else "\n"] or field.text.split() == typed.split()
        assert field.attributes["data-draft"] == "typed"
        restore = card.one("button", name="restore")
        buttons = [each.text for each in card.all("button", "btn") if each.attributes.get("name") != "put"]
        assert [text for text in buttons if text not in ("Save draft", "Count again", "Restore the proposed text")] == [
            "Apply",
            "Discard",
        ]
    assert hermes_store.live() == before
    run.refresh_from_db()
    assert run.status == "ready"
    for headers in ({}, FRAGMENT):
        data, href = {"summary": typed, "restore": "1"}, restore.attributes["formaction"]
        restored = read(signed_in.post(href, data, headers=headers, follow=True))
        assert restored.one("textarea").text.split() == run.summary.split(), "the proposed text is back"
        assert not Run.objects.get().draft
        signed_in.post(f"/runs/{run.pk}/apply", {"summary": typed})
    signed_in.post(f"/runs/{run.pk}/apply", {"summary": "## Goal\nBooked."})
    run.refresh_from_db()
    assert run.status == "applied"


def test_after_a_compaction_the_next_thing_to_do_is_no_other_preview(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    hermes_store = open_hermes_store(21)

    def preview() -> Element:
        return read(signed_in.get(f"{address(hermes_store)}/plan", headers=FRAGMENT)).all("button", name="apply")[0]

    assert "primary" in preview().classes
    signed_in.post(f"{address(hermes_store)}/compact", {"apply": "0"})
    assert "primary" in preview().classes, "it is hidden until other settings are asked for"
    run = Run.objects.get()
    signed_in.post(f"/runs/{run.pk}/apply")
    panel = read(signed_in.get(f"{address(hermes_store)}/plan", headers=FRAGMENT))
    assert not [button for button in panel.all("button", "primary") if "disabled" not in button.attributes]
    receipt = read(signed_in.get(address(hermes_store))).one("section", "applied")
    undo = receipt.one("a", "btn")
    assert undo.text == "Undo this compaction…" and "primary" not in undo.classes, "the result is what one asked for"
    assert "Before and after" not in receipt.text, "they are under the summary"
    assert "Undo this compaction?" in read(signed_in.get(undo.attributes["hx-get"], headers=FRAGMENT)).text


def test_a_text_that_cannot_be_applied_any_more_is_kept(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    signed_in.post(f"{address(open_hermes_store(31))}/compact", {"apply": "0"})
    run = Run.objects.get()
    signed_in.post(f"/runs/{run.pk}/discard")
    typed = {"summary": "\r\nMy own words & <b>more</b>"}
    fragment = read(signed_in.post(f"/runs/{run.pk}/apply", typed, headers=FRAGMENT), 409).one(role="alert")
    whole = read(signed_in.post(f"/runs/{run.pk}/apply", typed), 409).one("main")
    for answer in (fragment, whole):
        kept = answer.one("textarea", readonly="")
        assert kept.inside == ["\n\nMy own words & <b>more</b>"]  # a textarea swallows its first line feed
        assert "not applied" in answer.one("label").text
    unedited = read(signed_in.post(f"/runs/{run.pk}/apply", {"summary": run.summary}), 409)
    assert not unedited.all("textarea")


def test_schema_16_says_why_it_cannot(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    hermes_store = open_hermes_store(16, "Airline desk, week 30 #4")
    panel = read(signed_in.get(address(hermes_store))).one("section", id="plan")
    assert "schema 16" in panel.text
    assert "disabled" in panel.one(cls="actions").all("button")[0].attributes
    assert panel.one(cls="actions").all("button")[0].text == "Compact now…"
    refused = read(signed_in.post(f"{address(hermes_store)}/compact", {"apply": "1"}), 409)
    assert "schema 16" in refused.one("main").text


def test_too_little_to_compact_is_said(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "user", "hello")
    panel = read(signed_in.get(href)).one("section", id="plan")
    assert "too few messages" in panel.text
    assert all("disabled" in button.attributes for button in panel.one(cls="actions").all("button"))


def test_a_refusal_offers_the_other_way_where_that_helps(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "user", "Look at the log.")
    empty_store.say("s", "assistant", "", tool_calls=[empty_store.call("terminal", "c", command="tail log")])
    empty_store.say("s", "tool", "one more line of it\n" * 1_500, tool_call_id="c", tool_name="terminal")
    empty_store.chat("s", 12)
    with pytest.raises(compaction.NothingToCompact) as refusal:
        planning.draft(get_store("own"), "s", planning.Options("summary"))
    assert refusal.value.instead == "prune"
    panel = read(signed_in.get(f"{href}/plan?focus=errors&strategy=summary")).one("section", id="plan")
    assert refusal.value.reason in panel.text
    offered = panel.one("a", "btn")
    assert offered.text == STRATEGIES["prune"].label
    assert "focus=errors" in offered.attributes["href"]
    shortening = read(signed_in.get(offered.attributes["hx-get"], headers=FRAGMENT))
    assert "checked" in shortening.one("input", id="strategy-prune").attributes
    assert not shortening.one("button", value="0").attributes.keys() & {"disabled"}


def test_where_shortening_alone_saves_half_it_is_chosen_first(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    for at in range(6):
        empty_store.say("s", "user", f"Look at log {at}.")
        empty_store.say("s", "assistant", "", tool_calls=[empty_store.call("terminal", f"c{at}", command=f"tail {at}")])
        empty_store.say("s", "tool", "one more line of it\n" * 900, tool_call_id=f"c{at}", tool_name="terminal")
        empty_store.say("s", "assistant", f"Log {at} is long.")
    empty_store.chat("s", 12)

    def chosen(address: str) -> str:
        ticked = [
            each for each in read(signed_in.get(address)).all("input", name="strategy") if "checked" in each.attributes
        ]
        return " ".join(each.attributes["value"] for each in ticked)

    assert chosen(href) == chosen(f"{href}/plan") == "prune"
    assert "with a summary that kept nothing" not in read(signed_in.get(f"{href}/plan")).one(id="plan").text
    assert chosen(f"{href}/plan?strategy=summary") == "summary", "what is chosen stays"
    signed_in.post(f"{href}/compact", {"apply": "0"})
    assert Run.objects.get().strategy == "prune"
    talk = empty_store.session("talk")
    for at in range(60):
        empty_store.say("talk", ("user", "assistant")[at % 2], f"Word {at} of it. " * 60)
    assert chosen(f"{talk}/plan") == "summary"


def test_a_running_turn_is_waited_for_visibly(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    hermes_store = open_hermes_store(31)
    quiet = read(signed_in.get(f"{address(hermes_store)}/plan")).one("section", id="plan")
    assert quiet.one("button", name="confirm").text == "Compact now…"
    hermes_store.start_turn()
    panel = read(signed_in.get(f"{address(hermes_store)}/plan"))
    assert "A turn has been running since" in panel.text and "for up to 10 min" in panel.text
    assert panel.one("button", name="confirm").text == "Compact when this turn ends…"
    asked = read(signed_in.post(f"{address(hermes_store)}/plan", {"confirm": "1"})).one(cls="confirm")
    assert "It is written when the running turn ends." in asked.text
    assert asked.one("button").text == "Compact when this turn ends"


def test_somebody_elses_lock_is_named_and_nothing_can_be_started(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(31)
    hermes_store.rows(
        "INSERT INTO compression_locks VALUES (?, 'pid=1:agent=other', unixepoch(), unixepoch() + 300)",
        hermes_store.session_id,
    )
    panel = read(signed_in.get(f"{address(hermes_store)}/plan")).one("section", id="plan")
    assert "Another process (pid=1:agent=other) has been compacting this session since " in panel.text
    buttons = panel.one("p", "actions").all("button")
    assert len(buttons) == 2 and all("disabled" in button.attributes for button in buttons)
    assert panel.one("p", "actions").one("a").text == "Look again"
    refused = read(signed_in.post(f"{address(hermes_store)}/compact", {"apply": "1"}, headers=FRAGMENT), 409)
    assert "pid=1:agent=other" in refused.one(role="alert").text
    assert not Run.objects.exists()


@pytest.mark.slow
def test_a_long_context_is_planned_after_the_page(signed_in: Client, demo: Callable[[str], str]) -> None:
    href = demo("Support desk, the long thread")
    panel = read(signed_in.get(href)).one("section", id="plan")
    assert panel.one("a", "btn").attributes["href"] == f"{href}/plan"
    assert "To summarise" in read(signed_in.get(f"{href}/plan")).text


def test_what_changes_a_run_is_no_look(signed_in: Client, db: None) -> None:
    for action in ("apply", "discard", "cancel"):
        assert signed_in.get(f"/runs/7/{action}").status_code == 404, "there is no such run to be led to"
        assert signed_in.put(f"/runs/7/{action}").status_code == 405


# --- with a model ----------------------------------------------------------------------------------------------------


def test_the_panel_says_what_a_model_is_sent(
    signed_in: Client, chat_store: HermesStore, use_model: Callable[..., None]
) -> None:
    href = f"{address(chat_store)}/plan"
    assert [option.attributes["value"] for option in read(signed_in.get(href)).one(id="summarizer").all("option")] == [
        "offline"
    ]
    use_model("openai", model="gpt-4o-mini", base_url="https://api.openai.com/v1")
    quiet = read(signed_in.get(href))
    assert "Nothing leaves this machine." in quiet.text and "can be set up" not in quiet.text
    panel = read(signed_in.get(f"{href}?summarizer=openai"))
    assert panel.one("option", value="openai").attributes.keys() == {"value", "selected"}
    assert "Nothing leaves this machine." not in panel.text
    said = next(note.text for note in panel.all("p", "note") if "Sends about" in note.text)
    assert "tokens to api.openai.com , less than $0.01." in said
    use_model("openai", window=8_000)
    said = read(signed_in.get(f"{href}?summarizer=openai")).text
    assert " to 127.0.0.1:" in said and "price not known" in said
    assert " parts, each with the instructions and the summary so far." in said
    use_model("openai", window=1_000)
    assert "too small to summarise in" in read(signed_in.get(f"{href}?summarizer=openai")).one("p", "warn").text


@pytest.mark.slow
def test_the_estimate_is_near_what_is_sent(
    signed_in: Client,
    open_hermes_store: Callable[..., HermesStore],
    use_model: Callable[..., None],
    model_service: ModelService,
    at_once: None,
) -> None:
    hermes_store = open_hermes_store(31)
    count = compaction.counter_for("gpt-4o")
    for window in (0, 8_000):
        use_model("openai", window=window)
        drafted = planning.draft(hermes_store.store, hermes_store.session_id, planning.Options(summarizer="openai"))
        model = connections.connection("openai")
        assert model is not None
        estimate = limits.estimate(drafted.plan, model)
        model_service.requests.clear()
        signed_in.post(f"{address(hermes_store)}/compact", {"apply": "0", "summarizer": "openai"})
        assert Run.objects.latest("pk").status == "ready"
        sent = sum(count(each["content"]) for body in model_service.requests for each in body["messages"])
        assert estimate.requests == len(model_service.requests)
        if estimate.requests == 1:
            assert estimate.input_tokens == pytest.approx(sent, rel=0.03)
        else:  # it carries from part to part as much as may be; what this service answers is short
            carried = (estimate.requests - 1) * estimate.output_tokens / estimate.requests
            assert sent < estimate.input_tokens < (sent + carried) * 1.15


def test_the_store_keeps_to_the_summariser_it_used_last(
    signed_in: Client,
    open_hermes_store: Callable[..., HermesStore],
    use_model: Callable[..., None],
    settings: Settings,
    at_once: None,
) -> None:
    hermes_store = open_hermes_store(31)
    use_model("openai")

    def chosen() -> str:
        return (
            read(signed_in.get(f"{address(hermes_store)}/plan"))
            .one("select", id="summarizer")
            .one("option", selected="")
            .text
        )

    offline = chosen()
    assert "no model" in offline
    signed_in.post(f"{address(hermes_store)}/compact", {"apply": "0", "summarizer": "openai"})
    run = Run.objects.get()
    signed_in.post(f"/runs/{run.pk}/discard")
    signed_in.post(f"{address(hermes_store)}/compact", {"apply": "0", "strategy": "prune"})
    signed_in.post(f"/runs/{Run.objects.latest('pk').pk}/discard")
    assert chosen() == "some-model"
    settings.MODELS = {kind: given | {"model": ""} for kind, given in settings.MODELS.items()}
    assert chosen() == offline


def test_what_the_model_took_is_told(
    signed_in: Client,
    open_hermes_store: Callable[..., HermesStore],
    use_model: Callable[..., None],
    model_service: ModelService,
    at_once: None,
) -> None:
    use_model("openai")
    signed_in.post(f"{address(open_hermes_store(31))}/compact", {"apply": "0", "summarizer": "openai"})
    run = Run.objects.get()
    facts = read(signed_in.get(f"/runs/{run.pk}")).one("dl", "facts").text
    assert "some-model (OpenAI or compatible)" in facts
    assert "1 call, 12,000 tokens in, 80 out, price not known" in facts
    for cost, words in ((0.0213, "about $0.02"), (0.0004, "less than $0.01"), (0.0, "free of charge")):
        Run.objects.update(usage={"calls": 3, "input_tokens": 41_200, "output_tokens": 2_310, "cost": cost})
        assert f"3 calls, 41,200 tokens in, 2,310 out, {words}" in read(signed_in.get(f"/runs/{run.pk}")).text
    Run.objects.update(usage={"calls": 2, "input_tokens": 0, "output_tokens": 0, "cost": None})
    assert "2 calls, tokens not told, price not known" in read(signed_in.get(f"/runs/{run.pk}")).text, "not none"


def test_seconds_and_tokens_are_no_news(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    """The clock of a long summary changes in place; only another part or phase makes a new card and is announced."""
    card = read(signed_in.post(f"{address(open_hermes_store(31))}/compact", {"apply": "1"}, headers=FRAGMENT))
    assert card.one("p", **{"hx-swap-oob": "innerHTML:#run-said"}).text.endswith("Waiting for a worker.")
    run = Run.objects.get()

    def tell(chunk: int, tokens: int, seconds: int) -> None:
        said = f"Summarising 173 messages. Part {chunk} of 4. {tokens:,} tokens written. {seconds} s so far."
        told = {
            "sentence": said,
            "doing": "Summarising 173 messages.",
            "chunk": chunk,
            "chunks": 4,
            "tokens": tokens,
            "seconds": seconds,
        }
        Run.objects.update(status="summarizing", model="some-model", progress=told)

    tell(2, 0, 0)
    card = read(signed_in.get(f"/runs/{run.pk}?mark=old", headers=FRAGMENT))
    assert "Summarising 173 messages with some-model." in card.text and "Part 2 of 4." in card.text
    poll, done = card.one("section").attributes["hx-get"], int(card.one("progress").attributes["value"])
    assert signed_in.get(poll, headers=FRAGMENT).status_code == 204
    tell(2, 1_204, 9)
    answer = signed_in.get(poll, headers=FRAGMENT)
    assert answer["HX-Reswap"] == "none"
    clock = read(answer)
    assert clock.text == "1,204 tokens written, 9 s"
    assert clock.one("span").attributes["id"] == card.one("section").one("span", id=f"ticks-{run.pk}").attributes["id"]
    tell(3, 0, 10)
    card = read(signed_in.get(poll, headers=FRAGMENT))
    assert "Part 3 of 4." in card.one("p", **{"hx-swap-oob": "innerHTML:#run-said"}).text
    assert done < int(card.one("progress").attributes["value"]) < 100
    Run.objects.update(status="waiting", progress={"sentence": "Ready to be written."})
    card = read(signed_in.get(poll, headers=FRAGMENT))
    assert "Applying" in card.text and "value" not in card.one("progress").attributes, "how long is not known"


def test_a_look_at_an_open_run_reads_no_plan(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], django_assert_max_num_queries: Callable[..., Any]
) -> None:
    card = read(signed_in.post(f"{address(open_hermes_store(31))}/compact", {"apply": "1"}, headers=FRAGMENT))
    with django_assert_max_num_queries(2) as asked:
        assert signed_in.get(card.one("section").attributes["hx-get"], headers=FRAGMENT).status_code == 204
    assert not any('"plan"' in each["sql"] for each in asked.captured_queries)


def test_a_waiting_run_says_for_whom_and_until_when(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    signed_in.post(f"{address(open_hermes_store(31))}/compact", {"apply": "1"})
    said = "Waiting for the agent's turn to end. Another process (pid=7) has been running a turn since 14:02:11."
    told = {"sentence": said, "until": "2026-07-14T04:12:00Z", "holder": "pid=7", "since": "2026-07-14T04:02:11Z"}
    Run.objects.update(status="waiting", progress=told)
    card = read(signed_in.get(f"/runs/{Run.objects.get().pk}")).one("section", "card")
    assert said in card.text and "then keeps the summary for you to apply" in card.text
    assert card.one("time").attributes["datetime"].startswith("2026-07-14")
    assert card.one("button").text == "Cancel"


def test_a_wait_that_ended_without_a_write_can_be_applied_again(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], settings: Settings, at_once: None
) -> None:
    hermes_store = open_hermes_store(31)
    settings.WAIT_SECONDS = 0
    hermes_store.start_turn()
    signed_in.post(f"{address(hermes_store)}/compact", {"apply": "1"})
    card = read(signed_in.get(address(hermes_store))).one("section", "ready")
    assert "It did not end within 0 s; nothing was written" in card.one("p", "warn").text
    assert card.one("p", "actions").all("button")[0].text == "Apply again"
    hermes_store.end_turn()
    run = Run.objects.get()
    done = read(signed_in.post(f"/runs/{run.pk}/apply", {"summary": run.summary}, headers=FRAGMENT))
    assert "applied" in done.one("section").classes


def test_a_failed_run_goes_on_behind_its_finished_parts(
    signed_in: Client,
    chat_store: HermesStore,
    use_model: Callable[..., None],
    model_service: ModelService,
    at_once: None,
) -> None:
    use_model("openai", window=8_000)
    model_service.behaviours = [answers(), refuses(401)]
    options = {"apply": "1", "summarizer": "openai", "focus": "refunds", "keep": "20"}
    signed_in.post(f"{address(chat_store)}/compact", options)
    card = read(signed_in.get(address(chat_store))).one("section", "failed")
    parts = model_service.prompts()[0].partition("part 1 of ")[2].partition(" ")[0]
    assert f"1 of {parts} parts is kept: trying again goes on after them." in card.text
    assert "does not accept the API key" in card.one("p", "bad").text
    assert [button.text for button in card.all("button")] == ["Try again", "Use Extract instead"]
    assert card.one("p", "actions").one("a").attributes["href"] == "/settings"

    form = card.one("form")
    again = {field.attributes["name"]: field.attributes["value"] for field in form.all("input")}
    model_service.behaviours = [answers()]
    sent = len(model_service.requests)
    signed_in.post(form.attributes["action"], again)
    newer = Run.objects.latest("pk")
    assert (newer.status, newer.focus, newer.keep_last, newer.summarizer) == ("applied", "refunds", 20, "openai")
    assert len(model_service.requests) - sent == int(parts) - 1
    older = read(signed_in.get(f"/runs/{newer.pk - 1}")).one("section", "failed")
    assert "parts is kept" not in older.text


def test_without_a_model_is_a_preview_with_the_same_options(
    signed_in: Client,
    open_hermes_store: Callable[..., HermesStore],
    use_model: Callable[..., None],
    model_service: ModelService,
    at_once: None,
) -> None:
    hermes_store = open_hermes_store(31)
    use_model("anthropic")
    model_service.behaviours = [refuses(529)]
    signed_in.post(f"{address(hermes_store)}/compact", {"apply": "1", "summarizer": "anthropic", "focus": "refunds"})
    card = read(signed_in.get(address(hermes_store))).one("section", "failed")
    assert not card.one("p", "actions").all("a"), "an overloaded service is nothing to set"
    form = card.one("form")
    sent = {field.attributes["name"]: field.attributes["value"] for field in form.all("input")}
    button = form.one("button", name="without_model").attributes
    signed_in.post(form.attributes["action"], sent | {button["name"]: button["value"]})
    run = Run.objects.latest("pk")
    assert (run.status, run.summarizer, run.focus, run.apply) == ("ready", "offline", "refunds", False)


def test_a_model_that_is_gone_is_not_replaced_in_silence(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    hermes_store = open_hermes_store(31)
    answer = signed_in.post(
        f"{address(hermes_store)}/compact", {"apply": "1", "summarizer": "openai"}, headers=FRAGMENT
    )
    assert "No openai model is set up" in read(answer, 409).one(role="alert").text
    assert not Run.objects.exists()


def test_a_run_into_a_new_session_leads_there(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    hermes_store = open_hermes_store(31)
    run = service.start(hermes_store.store, hermes_store.session_id, planning.Options(mode="split"), apply=True)
    assert (run.status, run.error_message) == ("applied", "")
    page = read(signed_in.get(f"/runs/{run.pk}"))
    card = page.one("section", "applied")
    new = f"/stores/hermes/sessions/{run.new_session_id}"
    assert new in [link.attributes["href"] for link in card.all("a")]
    assert "There is no Undo for this" in card.text
    assert "in a new session" in page.one("dl", "facts").text
    shown = read(signed_in.get(next(a.attributes["href"] for a in card.all("a") if a.text == "History"), follow=True))
    assert shown.all("section", "boundary") or shown.one(id="reading")


def test_when_the_agent_went_on_from_the_result_undo_leads_no_more(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    hermes_store = open_hermes_store(21)
    signed_in.post(f"{address(hermes_store)}/compact", {"apply": "1"})
    for at in range(60):
        hermes_store.append(f"number {at} " + "of many words " * 280, ("user", "assistant")[at % 2])
    page = read(signed_in.get(address(hermes_store)))
    assert "Picked up" in page.one("section", "applied").text
    assert "primary" not in page.one("section", "applied").one("a", "btn").classes
    panel = read(signed_in.get(f"{address(hermes_store)}/plan", headers=FRAGMENT))
    assert [each.text for each in panel.all("button", "primary")] == ["Preview"]
