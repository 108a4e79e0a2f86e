"""What the model sees, and raw rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate

import pytest
from django.test import Client

from tests.clients import ApiClient
from tests.factories.stores import EmptyStore, HermesStore
from tests.html import message_ids, read
from viewer.pages.parts.opened import open_session
from viewer.pages.session import timeline
from viewer.rendering import formats
from viewer.runs import service
from viewer.runs.planning import Options
from viewer.stores.registry import get_store, open_store
from viewer.web import auth

FRAGMENT = {"HX-Request": "true"}


def test_the_live_rows_in_order_under_the_system_prompt(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(21)
    page = read(signed_in.get(f"/stores/hermes/sessions/{hermes_store.session_id}/context"))
    assert page.one("details", "prompt")
    shown = message_ids(page)
    rows = [element.attributes["id"] for element in page.all() if element.attributes.get("id", "")[:1] in ("m", "h")]
    while links := page.all("a", "later"):
        page = read(signed_in.get(links[0].attributes["hx-get"], headers=FRAGMENT))
        assert not page.all("details", "prompt")
        shown += message_ids(page)
    live = [
        row[0]
        for row in hermes_store.rows(
            "SELECT id FROM messages WHERE session_id = ? AND active = 1", hermes_store.session_id
        )
    ]
    assert sorted([*shown, 141]) == sorted(live)
    assert "h141" in rows


@pytest.mark.parametrize(("version", "title"), [(21, None), (31, "Airline desk, week 29"), (31, "Merged carrier 92")])
def test_what_is_sent_has_its_sizes_and_leads_to_its_prompts(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], version: int, title: str | None
) -> None:
    hermes_store = open_hermes_store(version, title) if title else open_hermes_store(version)
    href = f"/stores/hermes/sessions/{hermes_store.session_id}"
    page = read(signed_in.get(f"{href}/context"))
    side = page.one(id="side")
    sizes = side.all("dl")[0]
    exact = [
        int(re.sub(r"\D", "", next((span.attributes["title"] for span in each.all("span")), each.text)))
        for each in sizes.all("dd")
    ]
    names = [re.sub(r",.*", "", each.text) for each in sizes.all("dt")]
    first = int(names[0].startswith("System prompt"))  # where it is known
    sums = ["Messages (tokens)", "With the system prompt"] if first else ["In all (tokens)"]
    assert names[first:] == ["Summary", "Prompts", "From the agent", "Tool output", *sums]
    messages = exact[first : -len(sums)]
    shown = next(each.attributes["title"] for each in page.one(id="fill").all("span") if "title" in each.attributes)
    assert sum(messages) == exact[-len(sums)], "each token counts once"
    assert sum(exact[: -len(sums)]) == exact[-1] and shown.startswith(f"{sum(messages):,} of"), "as in the head"
    assert len(side.one("svg").all("rect", "own")) == first, "the bar has it as well"
    assert sizes.all("dd")[first].text in page.all("section", "handoff")[0].text, (
        "the summary's own size is that of its box"
    )
    facts = page.one(id="facts").text
    live = int(re.findall(r"([\d,]+) of", facts)[0].replace(",", ""))
    sorts = sizes.all("dt")[first + 1 : first + 4]
    messages = [int(re.findall(r", ([\d,]+)", each.text)[0].replace(",", "")) for each in sorts]
    away = int(side.all("dl")[1].one("dd").text.split()[0].replace(",", ""))
    assert sum(messages) == live and f"{live + away:,}" in facts, "no message is forgotten or counted twice"
    lines = page.one("ol", id="toc").all("a")
    assert len(lines) == messages[0]
    for line in (lines[0], lines[-1]):
        address, _, anchor = line.attributes["href"].partition("#")
        there = read(signed_in.get(address)) if address else page
        assert there.one("article", "user", id=anchor)


def test_markup_is_set_apart_and_the_text_is_as_it_is_sent(signed_in: Client, empty_store: EmptyStore) -> None:
    sent = "<command-name>/tidy</command-name> and <b class='x'>, 1 < 2 > 0, [a](https://e.org/?q=<i> 'of <u>')"
    href = empty_store.session("s")
    row = empty_store.say("s", "user", f"{sent}\n\n    <pre>")
    article = read(signed_in.get(f"{href}/context")).one("article", id=f"m{row}")
    assert [each.text for each in article.all("span", "markup")][:3] == [
        "<command-name>",
        "</command-name>",
        "<b class='x'>",
    ]
    assert "<command-name>/tidy</command-name>and<bclass='x'>,1<2>0" in article.text.replace(" ", "")
    assert not article.one("code").all("span", "markup"), "code is shown as code"
    assert not read(signed_in.get(href)).all("span", "markup"), "History has what was typed"


def test_what_nobody_typed_is_folded_as_in_history(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "user", "go")
    row = empty_store.say("s", "user", "The list of tasks is empty.", display_kind="hidden")
    for view in ("", "/context"):
        fold = read(signed_in.get(f"{href}{view}")).one("article", id=f"m{row}").one("details", "fold")
        assert fold.one("summary").text == "Not typed by a person The list of tasks is empty."
        assert "open" not in fold.attributes


def test_a_handoff_is_nobodys_words(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    hermes_store = open_hermes_store(21)
    page = read(signed_in.get(f"/stores/hermes/sessions/{hermes_store.session_id}/context"))
    section = page.one("section", "handoff", id="h141")
    assert "sent in the role of assistant" in section.text
    assert "#141" not in section.text, "an id of the store says nothing here"
    assert not [article for article in page.all("article") if "CONTEXT" in article.text]


@pytest.mark.parametrize("title", ["Airline desk, week 29", "Merged carrier 92"])
def test_words_beside_a_summary_are_still_those_of_who_typed_them(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], title: str
) -> None:
    hermes_store = open_hermes_store(31, title)
    page = read(signed_in.get(f"/stores/hermes/sessions/{hermes_store.session_id}/context"))
    assert page.all("article", "user") and "not typed by a person" not in page.one("main").text


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("[STILL IN PROGRESS — this is the active request.]\nFix it.", "repeated by the agent"),
        ("Continue from the compressed conversation context above. This marker", "Written by the agent"),
        ("[Continuing toward your standing goal]\nGoal: ship", "Written by the agent"),
        ("Fix it.", ""),
    ],
)
def test_what_the_agent_says_in_the_users_name_is_said_to_be_its_own(
    signed_in: Client, empty_store: EmptyStore, content: str, note: str
) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "user", content)
    shown = read(signed_in.get(f"{href}/context")).one("main").text
    assert note in shown and ("the agent" in shown) == bool(note)


@pytest.mark.parametrize(("view", "role"), [("", "assistant"), ("/context", "user")])
def test_what_may_be_a_handoff_of_an_unknown_form_is_shown_whole_and_said_to_be_a_suspicion(
    signed_in: Client, empty_store: EmptyStore, view: str, role: str
) -> None:
    href = empty_store.session("s")
    first = empty_store.say("s", "user", "Move the desk.", active=0, compacted=1)
    suspected = empty_store.say("s", role, "[Folded context, tier 2]\n" + "The desk moved in May. " * 40 + "The end.")
    empty_store.say("s", "user", "And now?")
    page = read(signed_in.get(f"{href}{view}"))
    said = page.one("article", id=f"m{suspected}").text
    assert "Perhaps a summary" in said and "The end." in said and "not typed by a person" not in said
    assert "Perhaps" not in page.one("main").text.replace(said, "")
    api_client = ApiClient(auth.new_token("everything", auth.SCOPES))
    for name, ids in (("history", [first, suspected, suspected + 1]), ("live", [suspected, suspected + 1])):
        items = api_client.get("/stores/own/sessions/s/messages", view=name)["items"]
        assert [item["id"] for item in items] == ids
        assert [item["id"] for item in items if item["suspected"]] == [suspected]
        assert {item["kind"] for item in items} == {"message"}


def test_records_the_agent_keeps_for_itself_are_counted_not_shown(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s", system_prompt="Be <i>kind</i>.")
    empty_store.say("s", "session_meta", "secret bookkeeping")
    empty_store.say("s", "user", "hello")
    page = read(signed_in.get(f"{href}/context"))
    assert "1 record the agent keeps for itself is left out" in page.one("main").text
    assert "secret bookkeeping" not in page.one("main").text
    assert "Be <i>kind</i>." in page.one("details", "prompt").text


def test_an_empty_context_says_so(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    assert "Nothing is in context." in read(signed_in.get(f"{href}/context")).one("main").text


def test_raw_rows_show_every_column_but_what_may_hold_memory(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say(
        "s",
        "user",
        [{"type": "text", "text": "<u>hi</u>"}],
        api_content="INJECTED MEMORY",
        display_metadata='{"reactions": ["+1"]}',
        active=0,
        message_uid="uid-7",
    )
    page = read(signed_in.get(f"{href}/rows"))
    text = page.one("details", "raw").text
    assert "replaced or undone" in text
    assert "uid-7" in text
    assert '"<u>hi</u>"' in text
    assert '"reactions"' in text
    assert "INJECTED MEMORY" not in page.text


def test_raw_rows_load_in_windows(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    ids = empty_store.chat("s", 70)
    page = read(signed_in.get(f"{href}/rows"))
    seen = [int(row.attributes["id"][1:]) for row in page.all("details", "raw")]
    fragment = read(signed_in.get(page.one("a", "earlier").attributes["hx-get"], headers=FRAGMENT))
    assert not fragment.all("html")
    assert [int(row.attributes["id"][1:]) for row in fragment.all("details", "raw")] + seen == ids
    assert not fragment.all("a", "earlier")


def test_one_text_uncut(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s", system_prompt="prompt " * 50_000)
    row = empty_store.say(
        "s", "assistant", "x", tool_calls=[empty_store.call("f", "1", a="<b>")], reasoning="thought <i>"
    )
    other = empty_store.say(empty_store.session("t").rsplit("/", 1)[1], "user", "of another session")
    assert '"<b>' in read(signed_in.get(f"{href}/messages/{row}?part=calls")).one("pre").text.replace("\\", "")
    assert read(signed_in.get(f"{href}/messages/{row}?part=reasoning")).one("pre").text == "thought <i>"
    assert not read(signed_in.get(f"{href}/messages/{row}", headers=FRAGMENT)).all("html")
    assert read(signed_in.get(f"{href}/messages/{other}"), 404).one("h1")
    first = read(signed_in.get(f"{href}/context/prompt"))
    second = read(signed_in.get(first.one("p", "rest").one("a").attributes["href"]))
    assert len(first.one("pre").text) + len(second.one("pre").text) == len("prompt " * 50_000) - 1


def test_the_timeline_says_in_words_what_it_draws(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], counted: Callable[[str, str], None]
) -> None:
    hermes_store = open_hermes_store(21)
    href = f"/stores/hermes/sessions/{hermes_store.session_id}/timeline"
    counted("hermes", hermes_store.session_id)
    words = read(signed_in.get(href)).one("figure", "timeline").one("svg").attributes["aria-label"]
    assert words == (
        "Tokens in context over the session: 9.8k before compaction 1, 826 after it, "
        "4.1k before compaction 2, 776 after it, 3.6k now. The agent compacts by itself at 96k. "
        "The model takes 128k."
    )
    fragment = read(signed_in.get(href, headers=FRAGMENT))
    assert not fragment.all("html")
    assert fragment.one("svg").attributes["aria-label"] == words


def test_the_drop_of_a_compaction_is_where_the_cursor_is_at_its_boundary(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(21)
    href = f"/stores/hermes/sessions/{hermes_store.session_id}"
    figure = read(signed_in.get(f"{href}/timeline")).one("figure", "timeline")
    total = int(figure.one(id="scrub").attributes["max"])
    with open_store(get_store("hermes")) as reader:
        places = [boundary.place for boundary in open_session(reader, hermes_store.session_id).index.boundaries]
    drops = [float(line.attributes["x1"]) for line in figure.all("line", "cut")]
    assert len(places) == 2 and drops == [round(place / (total - 1) * timeline.WIDTH, 1) for place in places]
    assert figure.one("path", "stroke").attributes["d"].count(f" {drops[0]} ") >= 2, "up to it, and down from it"


@pytest.mark.usefixtures("at_once")
def test_the_line_is_level_after_the_drop_of_a_compaction_by_this_site(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore]
) -> None:
    """What it kept is in its block: nothing is added until the next message."""
    hermes_store = open_hermes_store(21)
    service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    href = f"/stores/hermes/sessions/{hermes_store.session_id}/timeline"
    figure = read(signed_in.get(href)).one("figure", "timeline")
    drop = figure.all("line", "cut")[-1].attributes["x1"]
    numbers = figure.one("path", "stroke").attributes["d"].removeprefix("M").split()
    points = list(zip(numbers[::2], numbers[1::2], strict=True))
    assert float(drop) < timeline.WIDTH and points[-2:] == [(drop, points[-1][1]), (points[-1][0], points[-1][1])]


NOTES = ["↑ the agent compacts by itself at 96k", "↑ the model's window, 128k"]


def test_the_timeline_has_a_line_where_the_agent_compacts_by_itself(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], counted: Callable[[str, str], None]
) -> None:
    hermes_store = open_hermes_store(21)
    href = f"/stores/hermes/sessions/{hermes_store.session_id}/timeline"
    counted("hermes", hermes_store.session_id)
    figure = read(signed_in.get(href)).one("figure", "timeline")
    assert [each.text for each in figure.one("div", "below").all("span")] == NOTES, "below the drawing, not in it"
    assert not figure.one("svg").all("line", "limit"), "far above all the tokens: an arrow, so that those are not flat"
    hermes_store.path.with_name("config.yaml").write_text("compression: {threshold: 0.95}")
    assert "compacts by itself at 121.6k" in signed_in.get(href).content.decode()
    hermes_store.path.with_name("config.yaml").write_text("compression: {threshold_tokens: 9000}")
    within = read(signed_in.get(href)).one("figure", "timeline")
    assert within.one("svg").all("line", "limit") and "compacts" not in within.one("svg").text
    assert within.one("span", "limit").text == "the agent compacts by itself at 9k"


def test_numbers_of_the_page_follow_what_is_counted_for_the_timeline(
    signed_in: Client, empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "COUNTING_SECONDS", 60)
    href = empty_store.session("s")
    for _ in range(600):
        empty_store.say("s", "user", "zq vx 81 kj 47 " * 9)  # more tokens than its length lets expect
    estimate = read(signed_in.get(href)).one("span", "fill").text
    shown = read(signed_in.get(f"{href}/timeline", headers=FRAGMENT))
    assert shown.one("span", "fill").text == read(signed_in.get(href)).one("span", "fill").text != estimate
    assert not read(signed_in.get(f"{href}/timeline", headers=FRAGMENT)).all("span", "fill"), "nothing is new"


def test_the_timeline_of_an_empty_session(signed_in: Client, empty_store: EmptyStore) -> None:
    page = read(signed_in.get(f"{empty_store.session('s')}/timeline"))
    assert page.one("figure", "timeline").one("svg").attributes["aria-label"] == "Nothing is in context."


def drawn(series: list[list[int]], limit: int | None, *, about: bool = False, window: int = 0) -> timeline.Timeline:
    """The drawing with all numbers at the same distance; a drop is upright: both its ends share a place."""
    starts = list(accumulate((len(stretch) - 1 for stretch in series), initial=0))
    last = max(1, starts[-1])
    places = [[(start + at) / last for at in range(len(each))] for start, each in zip(starts, series, strict=False)]
    return timeline.drawn(series, places, limit, about=about, window=window)


@pytest.mark.parametrize("limit", [1, 600, 4_000, 9_020, 9_500, 200_000])
def test_labels_keep_away_from_the_one_at_the_limit_and_say_about(limit: int) -> None:
    drawing = drawn([[100, 9_000], [100, 9_010], [100, 9_020], [500, 600]], limit, about=True)
    beyond = limit > 9_020 * timeline.HIGHEST
    name = "above" if beyond else "limit"
    assert drawing.notes == ((name, f"{'↑ ' * beyond}the agent compacts by itself at {formats.thin(limit)}"),)
    assert bool(drawing.limit) != beyond
    assert drawing.labels[-1].text == "~600"
    assert f"compacts by itself at {formats.thin(limit)}." in drawing.words
    assert drawn([[1]], None).notes == ()


@pytest.mark.parametrize("limit", [None, 600, 9_500, 64_000, 100_000])
@pytest.mark.parametrize("window", [8_000, 128_000, 1_000_000])
@pytest.mark.parametrize("highest", [9, 310, 9_020, 40_000, 127_000])
def test_the_axis_has_numbers_and_no_labels_of_the_drawing_meet(highest: int, window: int, limit: int | None) -> None:
    drawing = drawn([[100, highest], [9, highest - 4], [5, 7]], limit, window=window)
    assert 2 <= len(drawing.ticks) <= 4 and drawing.ticks[0].text == "0"
    feet = [float(tick.foot) for tick in drawing.ticks]
    assert all(one - other >= timeline.LINE for one, other in zip(feet, feet[1:], strict=False)) and feet[-1] > 8
    assert bool(drawing.window) == (window <= max(100, highest) * timeline.HIGHEST)
    assert (("above", f"↑ the model's window, {formats.thin(window)}") in drawing.notes) != bool(drawing.window)
    labels = drawing.labels
    assert not [1 for at, one in enumerate(labels) for other in labels[at + 1 :] if timeline._meet(one, other)]


@pytest.mark.parametrize("tokens", [310, 9_999, 127_500, 999_400, 1_200_000])
def test_what_is_in_context_now_stands_behind_the_line(tokens: int) -> None:
    for about in (False, True):
        (label,) = drawn([[100, tokens]], 96_000, about=about).labels
        assert label.anchor == "start" and float(label.x) > timeline.WIDTH


@pytest.mark.parametrize("series", [[[16]], [[100], [16]]])
def test_one_message_in_context_is_a_level_line_up_to_now(series: list[list[int]]) -> None:
    drawing = drawn(series, None)
    newest = drawing.labels[-1]
    assert newest.text == "16" and float(newest.x) > timeline.WIDTH
    before, x, now = drawing.line.split()[-3:]
    assert before == now and float(x) == timeline.WIDTH


def test_labels_of_the_timeline_do_not_run_into_each_other() -> None:
    for steps in ([40, 41, 42], [300, 301, 302, 303], [5], [200, 1, 200]):
        series = [[100 + at for at in range(each)] + [9_000 + number * 10] for number, each in enumerate(steps)]
        series += [[500, 600]]
        labels = drawn(series, None).labels
        spans = [(float(label.y), *timeline._span(label)) for label in labels]
        for at, (y, start, stop) in enumerate(spans):
            assert 0 <= start < stop <= timeline.WIDTH + timeline.ASIDE
            for other_y, first, last in spans[at + 1 :]:
                assert abs(y - other_y) >= 11 or start >= last or first >= stop
        assert labels[-1].text == "600"
    close = drawn([[0, 5_000] * 20, [100, 5_000], [100, 5_000], [100, 200]], None).labels
    assert [label.text for label in close].count("5k") >= 2
