"""The settings of carried rules, store by store: what is kept, what is refused, and what comes of it now."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries, Settings

from tests.html import Element, read
from viewer.workspaces.models import StoreRules

FRAGMENT = {"HX-Request": "true"}
AGENTS = "## Session Startup\n\nRead `WORKFLOW.md`.\n\n## Red Lines\n\nNever <b>push</b>.\n\n## Style\n\nShort.\n"


@pytest.fixture
def workspace(tmp_path: Path, settings: Settings) -> Path:
    made = tmp_path / "home" / "ws"
    made.mkdir(parents=True)
    (made / "AGENTS.md").write_text(AGENTS)
    settings.WORKSPACES = [made.parent]
    settings.STORES = {"own": f"sqlite:///{tmp_path}/own.db", "other": f"sqlite:///{tmp_path}/other.db"}
    return made


def form(page: Element, store: str = "own") -> Element:
    """The fold of one store."""
    (found,) = [
        each for each in page.one("section", id="rules").all("details", "of-store") if each.one("b").text == store
    ]
    return found


def heading(shown: Element) -> str:
    """What a fold says while it is closed."""
    return shown.all("summary")[0].text


def save(client: Client, **said: str) -> Element:
    """Fill the form and press *Save*; the page that follows."""
    return read(client.post("/settings/rules/own", said, follow=True))


def test_every_store_has_a_form_that_shows_the_usual(signed_in: Client, workspace: Path) -> None:
    page = read(signed_in.get("/settings"))
    assert [each.one("b").text for each in page.all("details", "of-store")] == ["own", "other", "demo"]
    assert str(workspace.parent) in page.one("section", id="rules").text
    shown = form(page)
    assert heading(shown) == "own no workspace set" and "open" not in shown.attributes
    assert shown.one("input", name="workspace").attributes["value"] == ""
    assert shown.one("textarea").inside == ["\nSession Startup\nRed Lines"]
    assert "Every Session and Safety" in shown.text
    assert "only sessions with a working directory carry rules" in shown.text
    labels = {label.attributes["for"] for each in page.all("details", "of-store") for label in each.all("label")}
    ids = [element.attributes["id"] for element in page.walk() if "id" in element.attributes]
    assert len(labels) == 6 and labels <= set(ids) and len(ids) == len(set(ids))
    assert shown.all("input", name="csrfmiddlewaretoken")


def test_what_is_saved_shows_at_once_what_is_carried(signed_in: Client, workspace: Path) -> None:
    shown = form(save(signed_in, workspace=f" {workspace} ", sections="## red lines\r\n\r\nStyle\r\nRed Lines\r\n"))
    row = StoreRules.objects.get()
    assert (row.store, row.workspace, row.sections) == ("own", str(workspace), ["Red Lines", "Style"])
    assert shown.one("p", "ok").text == "Saved." and "open" in shown.attributes
    assert heading(shown) == f"own Red Lines, Style in {workspace}"
    fold = shown.one("details", "rules", id="rules-1-text")
    assert (
        fold.one("summary").text
        == f"Carried from there now: Red Lines, Style from AGENTS.md in {workspace} (50 characters)"
    )
    assert fold.one("pre").inside == ["## Red Lines\n\nNever <b>push</b>.\n\n## Style\n\nShort."]
    again = form(read(signed_in.get("/settings")))
    assert "open" not in again.attributes and again.one("textarea").inside == ["\nRed Lines\nStyle"]
    assert heading(form(read(signed_in.get("/settings")), "other")) == "other no workspace set"


def test_the_usual_titles_stay_the_usual(signed_in: Client, workspace: Path) -> None:
    """So that older files' names count as well, and later versions' titles."""
    (workspace / "AGENTS.md").write_text("## Safety\n\nNever.")
    shown = form(save(signed_in, workspace=str(workspace), sections="session startup\nRED LINES"))
    assert StoreRules.objects.get().sections is None
    assert "Safety from AGENTS.md" in shown.text


def test_no_titles_switch_it_off(signed_in: Client, workspace: Path) -> None:
    shown = form(save(signed_in, workspace=str(workspace), sections=" \n##\n"))
    assert StoreRules.objects.get().sections == []
    assert heading(shown) == "own nothing is carried"
    reason = shown.one("p", "rules")
    assert "Carrying rules is switched off" in reason.text and reason.one("a").text == "Settings"
    assert shown.one("textarea").inside == ["\n"]


def test_a_directory_without_rules_is_kept_with_the_reason(signed_in: Client, workspace: Path) -> None:
    (workspace / "AGENTS.md").unlink()
    shown = form(save(signed_in, workspace=str(workspace), sections="Red Lines"))
    assert StoreRules.objects.get().workspace == str(workspace)
    assert "No rules carried along. There is no context file" in shown.one("p", "rules").text


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("{home}/nowhere", "does not exist on this machine"),
        ("{home}/ws/AGENTS.md", "is no directory"),
        ("{outside}", "outside of the directories that rules are read from"),
        ("{home}/link", "outside of the directories that rules are read from"),
        ("relative/<b>path", "is no absolute path"),
        ("/nul\x00", "is no path that can be looked up"),
        ("/" + "long/" * 1_000, "at most 4,096 characters"),
    ],
)
def test_a_workspace_that_cannot_be_read_comes_back(
    signed_in: Client, workspace: Path, tmp_path: Path, typed: str, sentence: str
) -> None:
    (workspace.parent / "link").symlink_to(tmp_path)
    typed = typed.format(home=workspace.parent, outside=tmp_path)
    answer = signed_in.post("/settings/rules/own", {"workspace": typed, "sections": "Mine\nYours"})
    page = read(answer)
    shown = form(page)
    field = shown.one("input", name="workspace").attributes
    assert (
        sentence in shown.one("p", "bad").text and shown.one("p", "bad").attributes["id"] == field["aria-describedby"]
    )
    assert (
        field["value"] == typed.replace("\x00", "␀") and field["aria-invalid"] == "true" and "open" in shown.attributes
    )
    assert shown.one("textarea").inside == ["\nMine\nYours"]
    assert not StoreRules.objects.exists()
    assert page.one("a", **{"aria-current": "page"}).text == "Settings"
    looked = form(read(signed_in.post("/settings/rules/own", {"workspace": typed, "do": "look"}, headers=FRAGMENT)))
    assert sentence in looked.one("p", "bad").text and "see what is wrong above" in looked.text


@pytest.mark.parametrize(
    ("sections", "sentence"),
    [
        ("x" * 201, "at most 200 characters"),
        ("\n".join(map(str, range(21))), "At most 20"),
        ("a\u202eb", "is one line"),
    ],
)
def test_titles_that_cannot_be_kept_come_back(signed_in: Client, workspace: Path, sections: str, sentence: str) -> None:
    shown = form(save(signed_in, workspace=str(workspace), sections=sections))
    assert sentence in shown.one("p", "bad").text and not StoreRules.objects.exists()
    assert "aria-invalid" in shown.one("textarea").attributes


def test_looking_keeps_nothing(signed_in: Client, workspace: Path) -> None:
    typed = {"workspace": str(workspace), "sections": "Style", "do": "look"}
    looked = form(read(signed_in.post("/settings/rules/own", typed, headers=FRAGMENT)))
    assert "Carried from there now: Style" in looked.text and looked.one("textarea").inside == ["\nStyle"]
    assert "This is not saved yet." in looked.text
    assert not StoreRules.objects.exists()
    save(signed_in, workspace=str(workspace), sections="Style")
    assert "not saved" not in read(signed_in.post("/settings/rules/own", typed, headers=FRAGMENT)).text


def test_the_environment_outranks_the_titles(signed_in: Client, workspace: Path, settings: Settings) -> None:
    StoreRules.objects.create(store="own", sections=["Style"])
    settings.RULE_SECTIONS = ["Red <i>Lines</i>", "Red Lines"]
    shown = form(read(signed_in.get("/settings")))
    assert not shown.all("textarea")
    assert "Red <i>Lines</i>, Red Lines set by PALIMPSEST_RULE_SECTIONS" in shown.one("dl").text
    assert "Red Lines from AGENTS.md" in form(save(signed_in, workspace=str(workspace))).text
    assert StoreRules.objects.get().sections == ["Style"], "what was typed is still there"
    settings.RULE_SECTIONS = []
    assert "none set by" in form(read(signed_in.get("/settings"))).one("dl").text


def test_only_a_store_that_exists_is_set(signed_in: Client, workspace: Path) -> None:
    assert signed_in.post("/settings/rules/nobody", {"workspace": str(workspace)}).status_code == 404
    assert signed_in.get("/settings/rules/own").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in.cookies
    assert strict.post("/settings/rules/own", {"workspace": str(workspace)}).status_code == 403
    assert not StoreRules.objects.exists()


def test_more_stores_cost_no_more_questions(
    signed_in: Client,
    workspace: Path,
    settings: Settings,
    tmp_path: Path,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with CaptureQueriesContext(connection) as few:
        signed_in.get("/settings")
    settings.STORES = {f"s{at}": f"sqlite:///{tmp_path}/{at}.db" for at in range(30)}
    for name in settings.STORES:
        StoreRules.objects.create(store=name, workspace=str(workspace))
    with django_assert_num_queries(len(few)):
        assert "Red Lines in" in heading(form(read(signed_in.get("/settings")), "s29"))
