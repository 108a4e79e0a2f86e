"""`manage.py compact` and `manage.py undo`."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import Settings

from tests.factories.stores import HermesStore
from tests.runs.commands import run
from viewer.runs.models import Run
from viewer.workspaces.models import StoreRules

pytestmark = pytest.mark.django_db(transaction=True)

RED_LINES = "## Red Lines\n\nNever push to main. \x1b[31m"  # with a terminal's colour


def test_plan_compact_undo_without_a_worker(hermes_store: HermesStore, settings: Settings) -> None:
    settings.AT_ONCE = False
    before = hermes_store.live()
    said = run("compact", "hermes", hermes_store.session_id, "--plan")
    assert "to summarise" in said and "tokens" in said
    plan = json.loads(run("compact", "hermes", hermes_store.session_id, "--plan", "--json"))
    assert hermes_store.live() == before and not Run.objects.exists()

    said = run("compact", "hermes", hermes_store.session_id, "--focus", "refunds")
    made = Run.objects.get()
    assert (made.status, made.focus) == ("applied", "refunds")
    assert f"manage.py undo {made.pk}" in said and f"{len(before):,} -> {len(hermes_store.live()):,} messages" in said
    assert (
        made.messages_before
        == len(before)
        == sum(plan[part]["count"] for part in ("head", "middle", "tail")) + len(plan["lifted"])
    )

    assert "Undone" in run("undo", str(made.pk))
    assert hermes_store.live() == before
    with pytest.raises(SystemExit) as again:
        run("undo", str(made.pk))
    assert re.fullmatch(r"Already undone at \d\d:\d\d\.", str(again.value))
    answer = json.loads(run("compact", "hermes", hermes_store.session_id, "--keep-last", "12", "--json"))
    assert (answer["status"], answer["keep_last"], answer["undoable"]) == ("applied", 12, True)


@pytest.fixture
def workspace(tmp_path: Path, settings: Settings) -> Path:
    """Where the store's sessions work."""
    settings.WORKSPACES = [tmp_path]
    made = tmp_path / "ws"
    made.mkdir()
    (made / "AGENTS.md").write_text(f"# Agents\n\n{RED_LINES}\n\n## Tone\n\nFriendly.\n")
    StoreRules.objects.create(store="hermes", workspace=str(made))
    return made


def test_the_plan_shows_the_rules_that_are_carried(hermes_store: HermesStore, workspace: Path) -> None:
    said = run("compact", "hermes", hermes_store.session_id, "--plan")
    place = f"AGENTS.md in {workspace}"
    assert f"After the summary: {len(RED_LINES):,} characters of rules from {place}:" in said
    assert "    ## Red Lines\n\n    Never push to main." in said and "\x1b" not in said
    plan = json.loads(run("compact", "hermes", hermes_store.session_id, "--plan", "--json"))["rules"]
    assert (plan["text"], plan["source"], plan["workspace"]) == (RED_LINES, "AGENTS.md", str(workspace))
    assert plan["carried"]

    said = run("compact", "hermes", hermes_store.session_id, "--plan", "--no-rules")
    assert f"No rules are carried, as you chose; there are some in {place}." in said and "Never push" not in said
    pruned = ("compact", "hermes", hermes_store.session_id, "--plan", "--strategy", "prune")
    assert "rules" not in run(*pruned) and not json.loads(run(*pruned, "--json"))["rules"]["carried"]
    (workspace / "AGENTS.md").unlink()
    said = run("compact", "hermes", hermes_store.session_id, "--plan")
    assert f"No rules are carried. There is no context file with anything in it in {workspace}" in said


@pytest.mark.parametrize("carried", [True, False])
def test_rules_stand_in_the_handoff_unless_left_out(hermes_store: HermesStore, workspace: Path, carried: bool) -> None:
    made = json.loads(run("compact", "hermes", hermes_store.session_id, "--json", *([] if carried else ["--no-rules"])))
    assert (made["rules"]["text"], made["rules"]["carried"]) == (RED_LINES, carried)
    (handoff,) = [content for _, content, _, _ in hermes_store.live() if str(content).startswith("[CONTEXT SUMMARY]")]
    assert (RED_LINES in handoff) == carried


def test_refusals_are_one_line_and_exit_1(hermes_store: HermesStore) -> None:
    with pytest.raises(SystemExit, match="no session 'nobody'"):
        run("compact", "hermes", "nobody")
    with pytest.raises(SystemExit, match="no store named"):
        run("compact", "elsewhere", "nobody", "--plan")
    with pytest.raises(SystemExit, match="You asked to keep"):
        run("compact", "hermes", hermes_store.session_id, "--keep-last", "5000")
    with pytest.raises(SystemExit, match="no run 77"):
        run("undo", "77")
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("compact", "hermes", "nobody", "--json", stdout=out)
    assert json.loads(out.getvalue())["error"]["code"] == "not_found"
