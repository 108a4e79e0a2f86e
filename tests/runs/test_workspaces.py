"""Whose rules a session follows, which are carried and why none are, and which of the named files exist."""

from __future__ import annotations

import os
import tempfile
from dataclasses import asdict
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from django.test import override_settings
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from tests.agents.claude_code.project_files import NAMES, laid_out
from viewer.stores.base import Session, Store
from viewer.workspaces.models import StoreRules
from viewer.workspaces.rules import Rules, existing, reason_in, rules_of, rules_with, zone_of
from viewer.workspaces.sections import RULES_CHARS

STARTUP = "## Session Startup\n\nRead `WORKFLOW.md` and `memory/YYYY-MM-DD.md` first."
STYLE = "## Style\n\nShort."
RED = "## Red Lines\n\nNever push to main."
AGENTS = f"# Agents\n\n{RED}\n\n{STYLE}\n\n{STARTUP}\n"
DAY = date(2026, 11, 3)


@pytest.fixture
def home(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home with two workspaces that have rules of their own; only what is in it may be read."""
    made = tmp_path / "home"
    for name in ("mine", "stores"):
        (made / name).mkdir(parents=True)
        (made / name / "AGENTS.md").write_text(AGENTS + f"\nAlways in {name}.")
    settings.WORKSPACES = [made]
    monkeypatch.setenv("HOME", str(made))
    return made


@pytest.fixture
def store(tmp_path: Path) -> Store:
    path = tmp_path / "state.db"
    path.write_bytes(b"")
    return Store("hermes", f"sqlite:///{path}", "configured")


def session(cwd: str | Path) -> Session:
    return Session("hermes", "s1", "cli", "gpt-5", "", "", "", 0.0, 0.0, None, "", False, str(cwd), 1, "")


def read(store: Store, cwd: str | Path = "", workspace: str | Path = "", sections: list[str] | None = None) -> Rules:
    if workspace or sections is not None:
        StoreRules.objects.create(store=store.name, workspace=str(workspace), sections=sections)
    return rules_of(store, session(cwd))


# -- what is carried ---------------------------------------------------------------------------------------------------


def test_the_rules_of_the_working_directory_are_carried(db: None, store: Store, home: Path) -> None:
    assert read(store, home / "mine") == Rules(
        workspace=str(home / "mine"),
        source="AGENTS.md",
        sections=(f"{STARTUP}\n\nAlways in mine.", RED),
        text=f"{STARTUP}\n\nAlways in mine.\n\n{RED}",
        named=("WORKFLOW.md", "memory/YYYY-MM-DD.md"),
        reason="",
    )


def test_a_file_above_the_workspace_is_named_by_its_way(db: None, store: Store, home: Path) -> None:
    (home / "mine" / ".git").mkdir()
    (home / "mine" / ".hermes.md").write_text(RED)
    deep = home / "mine" / "src"
    deep.mkdir()
    found = read(store, deep)
    assert (found.workspace, found.source, found.text) == (str(deep), "../.hermes.md", RED)


def test_what_is_carried_is_short(db: None, store: Store, home: Path) -> None:
    (home / "mine" / "AGENTS.md").write_text(f"{STARTUP}\n\n{RED}" + "\nNot that either." * 1_000)
    found = read(store, home / "mine")
    assert len(found.text) <= RULES_CHARS < len("\n\n".join(found.sections))


@pytest.mark.parametrize(
    ("environment", "typed", "carried"),
    [
        (None, None, ["Session Startup", "Red Lines"]),
        (None, ["Style"], ["Style"]),
        (None, ["style", "Nowhere", "Red Lines"], ["Style", "Red Lines"]),
        (["Red Lines"], None, ["Red Lines"]),
        (["Red Lines"], ["Style"], ["Red Lines"]),
        (["Red Lines"], [], ["Red Lines"]),
    ],
)
def test_the_environment_names_the_sections_else_the_store_else_the_usual_ones(
    db: None, store: Store, home: Path, environment: list[str] | None, typed: list[str] | None, carried: list[str]
) -> None:
    with override_settings(RULE_SECTIONS=environment):
        found = read(store, home / "mine", sections=typed)
    assert [section.partition("\n")[0] for section in found.sections] == [f"## {title}" for title in carried]


def test_an_old_template_has_its_own_names(db: None, store: Store, home: Path) -> None:
    (home / "mine" / "AGENTS.md").write_text("## Safety\n\nAsk.\n\n## Every Session\n\nRead `SOUL.md`.")
    found = read(store, home / "mine")
    assert found.text == "## Every Session\n\nRead `SOUL.md`.\n\n## Safety\n\nAsk."
    assert found.named == ("SOUL.md",)


@pytest.mark.parametrize(
    ("environment", "typed", "where"),
    [(None, [], "in Settings"), ([], None, "in PALIMPSEST_RULE_SECTIONS"), ([], ["Style"], "in PALIMPSEST_RULE")],
)
def test_switched_off_nothing_is_looked_at(
    db: None, store: Store, home: Path, environment: list[str] | None, typed: list[str] | None, where: str
) -> None:
    with override_settings(RULE_SECTIONS=environment):
        found = read(store, "no/absolute/path", sections=typed)
    said = reason_in(asdict(found))
    assert found == Rules(reason=found.reason, advice=found.advice)
    assert said.startswith("Carrying rules is switched off") and where in said


def test_a_file_without_such_sections_and_no_file_say_what_to_do(db: None, store: Store, home: Path) -> None:
    file = home / "mine" / "AGENTS.md"
    file.write_text("# Agents\n\nBe kind.")
    assert read(store, home / "mine") == Rules(
        workspace=str(home / "mine"),
        source="AGENTS.md",
        reason=f"AGENTS.md in {home}/mine has no section called Session Startup or Red Lines.",
        advice="Give one that heading, or name the sections to carry",
    )
    file.unlink()
    assert read(store, home / "mine") == Rules(
        workspace=str(home / "mine"),
        reason=f"There is no context file with anything in it in {home}/mine "
        "(one of .hermes.md, HERMES.md, AGENTS.md, CLAUDE.md).",
    )


def test_a_file_that_is_refused_gives_its_reason(db: None, store: Store, home: Path) -> None:
    (home / "mine" / ".hermes.md").symlink_to("AGENTS.md")
    found = read(store, home / "mine")
    assert found == Rules(workspace=str(home / "mine"), reason=found.reason)
    assert found.reason.startswith(f".hermes.md in {home}/mine is a symbolic link; ")


@pytest.mark.parametrize("owner", ["this", "another"])
def test_a_context_file_that_is_a_database_is_refused(
    db: None, store: Store, home: Path, settings: Settings, owner: str
) -> None:
    database = Store("b", f"sqlite:///{home}/mine/AGENTS.md", "configured")
    settings.STORES = {"gone": "sqlite:////nowhere/state.db", "pg": "postgres://me@host/db"}
    if owner == "another":
        settings.STORES["b"] = database.url
    found = read(database if owner == "this" else store, home / "mine")
    assert "is the database of a store" in found.reason and not found.text


_PIECES = st.sampled_from(
    ["## Session Startup\n", "## Red Lines\n", "`a.md`", "YYYY-MM-DD", "```", "\r", "\n", "~/", "../"]
)


@given(st.binary(max_size=100) | st.lists(_PIECES | st.text(max_size=10)).map("".join).map(str.encode), st.text())
def test_whatever_stands_in_the_file_and_in_the_session_nothing_fails(octets: bytes, cwd: str) -> None:
    store = Store("hermes", "sqlite:////nowhere/state.db", "configured")
    with tempfile.TemporaryDirectory() as made, override_settings(WORKSPACES=[Path(made)]):
        Path(made, "AGENTS.md").write_bytes(octets)
        found = rules_with(store, made, StoreRules())
        assert bool(found.text) == bool(found.sections) == (not found.reason)
        assert existing(made, found.named, DAY) == []
        assert not rules_with(store, cwd, StoreRules()).text


@pytest.mark.parametrize("name", NAMES)
def test_rules_are_carried_where_claude_code_does_not_read_them(name: str, db: None, home: Path) -> None:
    work, config = home / "above" / "work", home / "config"
    work.mkdir(parents=True)
    is_read = laid_out(name, work, config)
    found = rules_with(Store("work", f"claude-code:///{config}", "configured"), str(work), StoreRules(store="work"))
    if is_read:
        assert found.text == "" and found.reason.startswith("Claude Code reads CLAUDE.md")
    else:
        assert (found.source, found.reason) == ("AGENTS.md", "") and "Never push to main." in found.text


# -- which workspace ---------------------------------------------------------------------------------------------------

NOWHERE = "/nowhere/ws"
WORKSPACES = [
    # the session's, the store's -> whose rules are carried, or part of the reason why none are
    ("{home}/mine", "", "mine"),
    ("{home}/mine/", "", "mine"),
    ("{home}/mine", "{home}/stores", "mine"),
    ("", "{home}/stores", "stores"),
    ("  ", " ~/stores ", "stores"),
    (NOWHERE, "~/stores", "stores"),
    ("C:\\Users\\ana\\ws", "{home}/stores", "stores"),
    ("{home}/mine/AGENTS.md/ws", "{home}/stores", "stores"),
    ("{home}/link", "", "mine"),
    ("", "", "No workspace is known: this session has no working directory."),
    (NOWHERE, "", "working directory, /nowhere/ws, does not exist on this machine."),
    ("C:\\Users\\ana", "", "working directory, C:\\Users\\ana, does not exist on this machine."),
    ("", NOWHERE, "The workspace set for this store, /nowhere/ws, does not exist on this machine."),
    ("", "ws", "ws is no absolute path"),
    ("", "~nobody-of-this-name/ws", "is no absolute path"),
    ("mine", "{home}/stores", "mine is no absolute path"),
    (".", "", "no absolute path"),
    ("~/mine", "", "~/mine is no absolute path"),
    (
        "/etc",
        "{home}/stores",
        "The workspace /etc is outside of the directories that rules are read from (PALIMPSEST_WORK",
    ),
    ("", "/", "The workspace / is outside"),
    ("{home}/../outside", "", "is outside"),
    ("{home}/mine/../../outside", "", "is outside"),
    ("{home}/way-out", "", "is outside"),
    ("{home}x", "", "is outside"),
    ("{home}/mine/AGENTS.md", "", "is no directory"),
    ("{home}/loop", "", "cannot be looked at: too many levels of symbolic links."),
    ("{home}/" + "x" * 300, "", "cannot be looked at: file name too long."),
    ("{home}/mi\0ne", "", "is no path that can be looked up"),
    ("{home}/mi\udcffne", "", "is no path that can be looked up"),
    ("/a\nb", "", "working directory, /a b, does not"),
]


@pytest.mark.parametrize(("cwd", "typed", "expected"), WORKSPACES)
def test_the_workspace_is_the_working_directory_else_the_one_of_the_store(
    db: None, store: Store, home: Path, tmp_path: Path, cwd: str, typed: str, expected: str
) -> None:
    for outside in (tmp_path / "outside", tmp_path / "homex"):
        outside.mkdir()
        (outside / "AGENTS.md").write_text(AGENTS)
    (home / "link").symlink_to("mine")
    (home / "way-out").symlink_to(tmp_path / "outside")
    (home / "loop").symlink_to("loop")
    found = read(store, cwd.replace("{home}", str(home)), typed.replace("{home}", str(home)))
    if expected in ("mine", "stores"):
        assert f"Always in {expected}." in found.text and not found.reason
        assert found.workspace in (f"{home}/{expected}", f"{home}/link")
    else:
        assert expected in found.reason
        assert found == Rules(reason=found.reason, advice=found.advice)
        found.reason.encode()


def test_an_allowed_directory_may_be_a_link_and_there_may_be_several(
    db: None, store: Store, home: Path, tmp_path: Path, settings: Settings
) -> None:
    (tmp_path / "allowed").symlink_to(home)
    settings.WORKSPACES = [tmp_path / "none", tmp_path / "allowed"]
    assert read(store, home / "mine").text
    assert read(store, tmp_path / "allowed" / "mine").text
    settings.WORKSPACES = [home / "mine"]
    assert read(store, home / "mine").text
    assert "is outside" in read(store, home).reason


# -- files that are named ----------------------------------------------------------------------------------------------


def test_named_files_that_exist_inside_are_found(home: Path, tmp_path: Path) -> None:
    ws = home / "mine"
    (ws / "memory").mkdir()
    (ws / "memory" / "2026-11-03.md").write_text("today")
    (ws / "memory" / "2026-11-02.md").write_text("yesterday")
    (ws / "WORKFLOW.md").write_text("do")
    (ws / "alias.md").symlink_to("WORKFLOW.md")
    (ws / "out.md").symlink_to(home / "stores" / "AGENTS.md")
    (ws / "out").symlink_to(home / "stores")
    os.mkfifo(ws / "pipe.md")
    named = [
        "memory/YYYY-MM-DD.md",
        "WORKFLOW.md",
        "./memory/../WORKFLOW.md",
        "alias.md",
        "memory\\2026-11-02.md",
        f"{ws}/AGENTS.md",
        "~/mine/AGENTS.md",
        *("GONE.md", "memory", "pipe.md", "out.md", "out/AGENTS.md", "../stores/AGENTS.md", "/etc/passwd", "~/x", ""),
        *("~/stores/AGENTS.md", ".", "a\0b", "x" * 300, "\udcff.md", "file:///etc/passwd", "file:%00"),
    ]
    assert existing(str(ws), named, DAY) == [
        *("memory/2026-11-03.md", "WORKFLOW.md", "alias.md", "memory/2026-11-02.md", "AGENTS.md")
    ]
    assert existing(str(ws), named[:1], date(2026, 11, 4)) == []


def test_a_workspace_behind_a_link_knows_its_files_by_both_names(home: Path) -> None:
    link = home / "link"
    link.symlink_to("mine")
    (home / "mine" / "a.md").write_text("a")
    (home / "mine" / "b.md").write_text("b")
    assert existing(str(link), [f"{link}/a.md", f"{home}/mine/b.md", "AGENTS.md"], DAY) == ["a.md", "b.md", "AGENTS.md"]


def test_twenty_files_are_enough(home: Path) -> None:
    names = [f"{number}.md" for number in range(30)]
    for name in names:
        (home / "mine" / name).write_text("x")
    assert existing(str(home / "mine"), names, DAY) == names[:20]


@pytest.mark.parametrize("workspace", ["", ".", "mine", "~/mine", "{home}/gone", "{home}/../outside", "/", "a\0b"])
def test_there_is_nothing_in_a_workspace_that_may_not_be_read(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workspace: str
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "AGENTS.md").write_text("x")
    monkeypatch.chdir(home / "mine")
    assert existing(workspace.replace("{home}", str(home)), ["AGENTS.md", f"{home}/mine/AGENTS.md"], DAY) == []


def test_the_day_is_that_of_the_agent_else_that_of_the_site(store: Store) -> None:
    assert zone_of(store) == timezone.get_current_timezone()
    store.path.with_name("config.yaml").write_text("timezone: Pacific/Kiritimati")
    assert zone_of(store) == ZoneInfo("Pacific/Kiritimati")
    with timezone.override("Asia/Tokyo"):
        assert zone_of(Store("pg", "postgres://me@host/db", "configured")) == ZoneInfo("Asia/Tokyo")
