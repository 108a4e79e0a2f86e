"""The startup reading after a compaction: on its boundary, on its tab, beside the session, on the Compactions page."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from compaction.handoff import END_MARKER, LEGACY_HEADER, RULES_OPEN, with_rules
from tests.factories.session_lists import settle
from tests.factories.stores import EmptyStore, HermesStore
from tests.factories.workspaces import today, write_workspace
from tests.html import Element, read
from viewer.enforcement import auditing, events
from viewer.enforcement.models import Audit, Event
from viewer.history import index_cache
from viewer.pages.boundary.startup_audit import GIVEN, LATE
from viewer.pages.parts.reach import ONLY_SHOWN
from viewer.runs import service
from viewer.runs.planning import Options
from viewer.stores.hermes.paths import get_session
from viewer.stores.hermes.reader import open_store
from viewer.stores.registry import get_store
from viewer.workspaces.sections import carried as carried_text

FRAGMENT = {"HX-Request": "true"}
PAGE = "/stores/own/sessions/s"
HOSTILE = "a\u202e<script>alert(1)</script>.md"
KEY = "ghp_aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYabcd"
RULES = """## Session Startup
Read `SOUL.md` and `memory/YYYY-MM-DD.md`.

## Red Lines
Never push `<script>alert(2)</script>` to main.
"""


@pytest.fixture
def workspace(tmp_path: Path, settings: Settings) -> Path:
    settings.WORKSPACES = [tmp_path]
    return write_workspace(tmp_path / "workspace", RULES)


def compacted(empty_store: EmptyStore, cwd: Path | str = "", body: str = "## Goal\nTo go on.") -> int:
    """A session `s` that its agent compacted once; the id of its handoff."""
    empty_store.session("s", cwd=str(cwd))
    for number in range(6):
        empty_store.say("s", ("user", "assistant")[number % 2], f"message {number}", active=0, compacted=1)
    return handoff(empty_store, body)


def handoff(empty_store: EmptyStore, body: str) -> int:
    text = f"{LEGACY_HEADER}\n{body}\n\n{END_MARKER}"
    made = empty_store.say("s", "user", text, _compressed_summary=1, timestamp=time.time())
    empty_store.say("s", "assistant", "Going on.", timestamp=time.time())
    return made


def armed(empty_store: EmptyStore) -> Audit:
    """As the worker does when it first sees the boundary."""
    settle()
    with open_store(get_store("own")) as reader:
        session = get_session(reader, "s")
        return auditing.look(reader, session, index_cache.index_of(reader, session), arm=True)[0]


def turn(empty_store: EmptyStore, *paths: str) -> list[int]:
    """A turn that reads these files; the ids of its rows."""
    calls = [empty_store.call("read_file", f"c{at}", path=path) for at, path in enumerate(paths)]
    now = {"timestamp": time.time()}
    ids = [empty_store.say("s", "user", "And now?", **now)]
    if calls:
        ids.append(empty_store.say("s", "assistant", "", tool_calls=calls, **now))
        ids += [empty_store.say("s", "tool", "1|Be kind.", tool_call_id=f"c{at}", **now) for at in range(len(calls))]
    ids.append(empty_store.say("s", "assistant", "Done.", **now))
    settle()
    return ids


def label(client: Client, at: int) -> str:
    """What the boundary's tab says of the reading."""
    page = read(client.get(f"{PAGE}?around={at}"))
    return page.one(id=f"b{at}-reading").text


def card(client: Client) -> Element:
    return read(client.get(PAGE)).one(id="aftermath")


def tab(client: Client, at: int) -> Element:
    return read(client.get(f"{PAGE}/boundaries/{at}/reading")).one("main")


def files(page: Element) -> list[str]:
    return [row.text for row in page.one("table").one("tbody").all("tr")]


def told(page: Element) -> list[str]:
    return [each.text for each in page.all(cls="badge")]


def judged(at: int, status: str, **fields: Any) -> Audit:
    """A settled audit of the compaction with this handoff, as it may stand in our own database."""
    required = [{"named": "SOUL.md", "path": "SOUL.md"}]
    found = {"workspace": "/ws", "source": "AGENTS.md", "required": required, "settled": True, "after": at}
    return Audit.objects.create(
        store="own", session_id="s", handoff_id=at, compacted_at=time.time(), status=status, **found | fields
    )


# -- from the compaction to the result ---------------------------------------------------------------------------------


def test_one_file_is_read_then_the_other(signed_in: Client, empty_store: EmptyStore, workspace: Path) -> None:
    at = compacted(empty_store, workspace)
    assert label(signed_in, at) == "not looked at yet"
    assert not card(signed_in).text
    assert "This compaction was not checked yet." in tab(signed_in, at).text

    armed(empty_store)
    assert label(signed_in, at) == "not yet"
    shown = card(signed_in)
    assert shown.all("p")[0].text == "2 files to read again . The agent's next complete turn will be checked."
    assert [each.text for each in shown.all("li")] == ["SOUL.md", today()]
    assert shown.one("a").attributes["href"] == f"{PAGE}/boundaries/{at}/reading"
    page = tab(signed_in, at)
    assert page.one("h1").text == "Startup reading: not yet"
    assert f"AGENTS.md in {workspace} asks the agent" in page.text
    assert "The agent is to read 2 files. Its next complete turn will be checked" in page.text
    assert files(page) == ["SOUL.md not yet", f"{today()} asked for as memory/YYYY-MM-DD.md not yet"]
    assert told(page) == ["pending"] and "Nobody asked for it yet." in page.text

    ids = turn(empty_store, "./SOUL.md")
    assert label(signed_in, at) == "1 of 2 files not read"
    assert Audit.objects.get().turns == 0, "a page writes nothing"
    armed(empty_store)
    assert card(signed_in).one("b", "warn").text == "1 of 2 files not read"
    assert card(signed_in).one("li").text == today()
    assert "A warning waits for the agent; its next turn is checked, too." in card(signed_in).text
    page = tab(signed_in, at)
    assert "By the end of the first complete turn after the compaction, 1 of 2 files had not been read." in page.text
    assert "A warning waits for the agent; its next turn is checked, too." in page.text
    assert files(page)[0] == f"SOUL.md ✓ read in message {ids[1]} by read_file"
    assert files(page)[1].endswith("✗ not read")
    assert page.one("table").one("a").attributes["href"] == f"{PAGE}?around={ids[1]}#m{ids[1]}"
    assert page.all("a")[1].attributes["href"] == f"{PAGE}?around={ids[-1]}#m{ids[-1]}"  # looked at up to
    assert len(told(page)) == 2 and today() in page.all("pre")[1].text and "SOUL.md" not in page.all("pre")[1].text

    ids = turn(empty_store, str(workspace / today()))
    armed(empty_store)
    assert label(signed_in, at) == "passed"
    assert card(signed_in).text == "After the last compaction 2 files read again Startup reading"
    page = tab(signed_in, at)
    assert "The agent read 2 files by the end of the second turn after the compaction." in page.text
    assert f"read in message {ids[1]}" in files(page)[1]
    assert told(page) == ["expired"] * 2 and "Nobody asked for it in time." in page.text


def test_no_page_writes_down_what_it_judges(signed_in: Client, empty_store: EmptyStore, workspace: Path) -> None:
    at = compacted(empty_store, workspace)
    armed(empty_store)
    turn(empty_store, "SOUL.md")
    boundary = f"{PAGE}/boundaries/{at}"
    pages = [PAGE, f"{PAGE}?around={at}", f"{boundary}/reading", f"{boundary}/undo", "/compactions"]
    with CaptureQueriesContext(connection) as queries:
        for page in pages:
            assert signed_in.get(page).status_code == 200
    ours = re.compile(r'(INSERT INTO|UPDATE|DELETE FROM) "(runs|history)_')
    assert not [each["sql"] for each in queries if ours.match(each["sql"])]


def test_the_tab_is_a_fragment_that_brings_its_label_up_to_date(
    signed_in: Client, empty_store: EmptyStore, workspace: Path
) -> None:
    at = compacted(empty_store, workspace)
    armed(empty_store)
    href = read(signed_in.get(f"{PAGE}?around={at}")).one(id=f"b{at}").one("nav").all("a")[-1].attributes["href"]
    turn(empty_store, "SOUL.md")
    fragment = read(signed_in.get(href, headers=FRAGMENT))
    assert not fragment.all("html")
    assert fragment.one(id=f"b{at}-reading").text == "1 of 2 files not read"
    assert fragment.one(id=f"b{at}-reading").attributes["hx-swap-oob"] == "true"
    assert fragment.one(id=f"b{at}-reading").attributes["hx-trigger"] == "audited from:body"  # one more turn counts
    assert fragment.one("div", "reading").attributes["hx-get"] == href  # what stands open follows its label
    assert not tab(signed_in, at).all(id=f"b{at}-reading")
    turn(empty_store, "SOUL.md", today())
    fragment = read(signed_in.get(href, headers=FRAGMENT))
    assert "hx-trigger" not in fragment.one(id=f"b{at}-reading").attributes
    assert "hx-get" not in fragment.one("div", "reading").attributes


def test_a_turn_that_comes_in_moves_the_card(signed_in: Client, empty_store: EmptyStore, workspace: Path) -> None:
    compacted(empty_store, workspace)
    armed(empty_store)
    look = read(signed_in.get(PAGE)).one(id="live").attributes["hx-get"]
    turn(empty_store, "SOUL.md", today())
    answer = signed_in.get(look, headers=FRAGMENT)
    assert answer["HX-Trigger"] == "audited"  # what the boundary's label waits for
    news = read(answer)
    assert news.one(id="aftermath").attributes["hx-swap-oob"] == "true"
    assert "2 files read again" in news.one(id="aftermath").text


# -- states ------------------------------------------------------------------------------------------------------------

READ = {"named": "SOUL.md", "path": "/ws/SOUL.md", "message": 8, "tool": "read_file"}
NOT_READ = READ | {"message": None, "tool": ""}
FIRST = "By the end of the first complete turn after the compaction, 1 of 1 file had not been read."
STATES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "at once": (
        {"status": "passed", "turns": 1, "findings": [READ]},
        "passed",
        "The agent read 1 file by the end of the first complete turn after the compaction.",
        "SOUL.md ✓ read in message 8 by read_file",
    ),
    "for good": (
        {"status": "missing", "turns": 2, "findings": [NOT_READ]},
        "1 of 1 file not read",
        "By the end of the second turn after the compaction, 1 of 1 file had not been read. The result is final.",
        "SOUL.md ✗ not read",
    ),
    "cut short": (
        {"status": "missing", "turns": 1, "findings": [NOT_READ]},
        "1 of 1 file not read",
        f"{FIRST} A later compaction came before another turn could count: the result is final.",
        "SOUL.md ✗ not read",
    ),
    "late": (
        {"status": "missing", "turns": 1, "findings": [NOT_READ], "late": True},
        "1 of 1 file not read",
        f"{FIRST} The result is final.",
        "SOUL.md ✗ not read",
    ),
    "nothing": (
        {"status": "nothing_required", "required": [], "reason": "There is no context file."},
        "",
        "Nothing to check. There is no context file.",
        "",
    ),
    "gone": (
        {"status": "nothing_required", "turns": 1},
        "nothing left to check",
        "The files that were named do not exist any more.",
        "SOUL.md does not exist any more",
    ),
    "undone": (
        {"status": "undone"},
        "undone before it was checked",
        "This compaction was taken back before it was known",
        "SOUL.md not looked at",
    ),
    "superseded": (
        {"status": "superseded"},
        "overtaken by a later compaction",
        "A later compaction came before a turn was complete",
        "SOUL.md not looked at",
    ),
}


def test_each_state_is_said_in_words(signed_in: Client, empty_store: EmptyStore) -> None:
    at = compacted(empty_store)
    for name, (fields, short, sentence, row) in STATES.items():
        Audit.objects.all().delete()
        judged(at, **fields)
        session = read(signed_in.get(PAGE))
        assert [label.text for label in session.all(id=f"b{at}-reading")] == ([short] if short else []), name
        assert bool(session.one(id="aftermath").text) == (fields["status"] in ("passed", "missing")), name
        page = tab(signed_in, at)
        assert page.one("h1").text == f"Startup reading: {short or 'nothing to check'}", name
        assert sentence in page.text, name
        assert (LATE in page.text) == fields.get("late", False), name
        assert ([each.text for each in page.all("tr")[1:]] or [""]) == [row], name


def test_an_older_compaction_that_nobody_followed_has_no_tab(signed_in: Client, empty_store: EmptyStore) -> None:
    older = compacted(empty_store)
    for number in range(6):
        empty_store.say("s", ("user", "assistant")[number % 2], f"later {number}", active=0, compacted=1)
    newer = handoff(empty_store, "## Goal\nStill to go on.")
    page = read(signed_in.get(f"{PAGE}?around={newer}"))
    assert page.all(id=f"b{newer}-reading") and page.all("section", id=f"b{older}")
    assert not page.all(id=f"b{older}-reading")
    assert "nothing is known of the turn after it" in tab(signed_in, older).text


def test_a_message_that_is_no_boundary_is_a_404(signed_in: Client, empty_store: EmptyStore) -> None:
    at = compacted(empty_store)
    assert "no compaction with the id" in read(signed_in.get(f"{PAGE}/boundaries/{at + 1}/reading"), 404).text


# -- what is told ------------------------------------------------------------------------------------------------------


def test_an_agent_that_never_asked_is_offered_its_note(
    signed_in: Client, empty_store: EmptyStore, workspace: Path
) -> None:
    at = compacted(empty_store, workspace)
    audit = armed(empty_store)
    page = tab(signed_in, at)
    assert ONLY_SHOWN in page.text
    assert "<script>alert(2)</script>" in page.one("details").one("pre").text  # as text
    event = Event.objects.get(audit=audit)
    events.deliver([event])
    page = tab(signed_in, at)
    assert told(page)[0].startswith("delivered ")
    assert page.one(cls="badge").one("time")
    assert GIVEN in page.text and ONLY_SHOWN not in page.text


def test_without_rules_nothing_is_told(signed_in: Client, empty_store: EmptyStore) -> None:
    at = compacted(empty_store)
    assert armed(empty_store).status == "nothing_required"
    page = tab(signed_in, at)
    assert "Nothing to check. No workspace is known" in page.text
    assert "there are no rules to remind it of" in page.text
    assert ONLY_SHOWN not in page.text


# -- the rules in the handoff ------------------------------------------------------------------------------------------


def test_rules_are_no_part_of_the_summary_but_a_fold_of_their_own(signed_in: Client, empty_store: EmptyStore) -> None:
    carried = carried_text([RULES])
    at = compacted(empty_store, body=with_rules("## Goal\nTo go on.", carried))
    for href in (f"{PAGE}?around={at}", f"{PAGE}/context"):
        page = read(signed_in.get(href))
        assert page.one(cls="handoff").one(cls="body").text == "Goal To go on."
        fold = page.one("details", "rules")
        assert fold.one("summary").text.startswith("Rules carried along")
        assert "".join(map(str, fold.one("pre").inside)) == carried
    assert RULES_OPEN in read(signed_in.get(f"{PAGE}/rows")).text


def test_rules_are_not_what_an_update_changed(signed_in: Client, empty_store: EmptyStore) -> None:
    compacted(empty_store, body=with_rules("## Goal\nTo go on.", "## Red Lines\nNever push."))
    for number in range(6):
        empty_store.say("s", ("user", "assistant")[number % 2], f"later {number}", active=0, compacted=1)
    at = handoff(empty_store, with_rules("## Goal\nTo end.", "## Red Lines\nNever pull."))
    change = read(signed_in.get(f"{PAGE}/boundaries/{at}/update")).one("main")
    assert "To end." in change.text
    assert "Never" not in change.text and "workspace-critical" not in change.text


# -- what somebody else wrote ------------------------------------------------------------------------------------------


def test_names_of_files_and_tools_are_text(signed_in: Client, empty_store: EmptyStore) -> None:
    at = compacted(empty_store)
    required = [{"named": HOSTILE, "path": HOSTILE}]
    found = {"named": HOSTILE, "path": HOSTILE, "message": None, "tool": ""}
    judged(
        at, "missing", turns=2, required=required, findings=[found], source=HOSTILE, workspace=f"/{HOSTILE}",
        reason=HOSTILE,
    )  # fmt: skip
    for href in (f"{PAGE}?around={at}", f"{PAGE}/boundaries/{at}/reading"):
        page = read(signed_in.get(href))
        assert not [each for each in page.all("script") if "alert" in each.text]
        assert "a⟨RLO⟩<script>alert(1)</script>.md" in page.text


def test_with_the_mask_no_text_shows_what_looks_like_a_secret(
    signed_in: Client, empty_store: EmptyStore, workspace: Path
) -> None:
    (workspace / KEY).write_text("oh")
    (workspace / "AGENTS.md").write_text(f"## Session Startup\nRead `{KEY}`.\n")
    at = compacted(empty_store, workspace, with_rules("## Goal\nTo go on.", f"## Red Lines\nNot {KEY}."))
    audit = armed(empty_store)
    judged_name = [{"named": KEY, "path": KEY}]
    Audit.objects.filter(pk=audit.pk).update(required=judged_name, source=KEY, workspace=f"/{KEY}")
    Event.objects.update(text=f"Read {KEY}", status="delivered", delivered_at=timezone.now())
    shown = [f"{PAGE}?around={at}", f"{PAGE}/boundaries/{at}/reading", f"{PAGE}/context"]
    assert all(KEY in signed_in.get(href).content.decode() for href in shown)
    signed_in.cookies["palimpsest_mask"] = "1"
    assert not any(KEY in signed_in.get(href).content.decode() for href in shown)


# -- cost --------------------------------------------------------------------------------------------------------------


def asked(client: Client, href: str) -> list[str]:
    """The queries of a page on the tables of audits and events."""
    with CaptureQueriesContext(
        connection,
    ) as seen:
        assert client.get(href).status_code == 200
    return [each["sql"] for each in seen if "runs_audit" in each["sql"] or "runs_event" in each["sql"]]


def test_a_session_without_compactions_asks_nothing(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("plain")
    empty_store.chat("plain", 4)
    settle()
    assert asked(signed_in, "/stores/own/sessions/plain") == []
    look = read(signed_in.get("/stores/own/sessions/plain")).one(id="live").attributes["hx-get"]
    empty_store.say("plain", "user", "more")
    assert asked(signed_in, look) == []


def test_all_boundaries_of_a_page_ask_once(signed_in: Client, empty_store: EmptyStore) -> None:
    ids = [compacted(empty_store)]
    judged(ids[0], "passed", turns=1, findings=[READ])
    settle()
    assert len(asked(signed_in, PAGE)) == 1
    for number in range(3):
        empty_store.say("s", "user", f"later {number}", active=0, compacted=1)
        empty_store.say("s", "assistant", f"and {number}", active=0, compacted=1)
        ids.append(handoff(empty_store, f"## Goal\n{number}"))
        judged(ids[-1], "missing", turns=2, findings=[NOT_READ])
    settle()
    page = read(signed_in.get(PAGE))
    assert [page.one(id=f"b{each}-reading").text for each in ids] == ["passed"] + ["1 of 1 file not read"] * 3
    assert len(asked(signed_in, PAGE)) == 1


# -- over all sessions -------------------------------------------------------------------------------------------------


def test_the_compactions_page_counts_who_reads_again(signed_in: Client, empty_store: EmptyStore) -> None:
    at = compacted(empty_store)
    assert "Startup reading" not in read(signed_in.get("/compactions")).text
    for number, (status, turns) in enumerate([*[("passed", 1)] * 3, *[("passed", 2)] * 2, ("missing", 2)]):
        judged(at + 100 + number, status, turns=turns, model="<b>m</b>")
    table = read(signed_in.get("/compactions")).one(
        "div", "scroll", **{"aria-label": "Startup reading after compactions"}
    )
    assert [row.text for row in table.one("tbody").all("tr")] == ["own <b>m</b> 1 of 6 3 of 6 2 of 6"]


@pytest.mark.usefixtures("at_once")
def test_where_rules_come_from_is_told_of_our_own_compactions(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], workspace: Path
) -> None:
    place = workspace.rename(workspace.parent / KEY)
    hermes_store = open_hermes_store(21)
    hermes_store.rows("UPDATE sessions SET cwd = ? WHERE id = ?", str(place), hermes_store.session_id)
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    href = f"/stores/hermes/sessions/{hermes_store.session_id}?around={run.handoff_id}"
    fold = read(signed_in.get(href)).one("section", id=f"b{run.handoff_id}").one("details", "rules")
    said = f"Rules carried along: Session Startup, Red Lines from AGENTS.md in {place} ("
    assert fold.one("summary").text.startswith(said)
    signed_in.cookies["palimpsest_mask"] = "1"
    assert KEY not in read(signed_in.get(href)).one("section", id=f"b{run.handoff_id}").text
