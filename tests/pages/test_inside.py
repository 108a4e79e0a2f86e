"""Settings → Inside the agents: what is written is shown, written, and taken out again; and what reaches an agent."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from tests.html import read
from viewer.inside.models import Door
from viewer.models import ApiToken

pytestmark = pytest.mark.django_db


@pytest.fixture
def home(tmp_path: Path, settings: Settings) -> Path:
    """The home of a pi with no session yet."""
    home = tmp_path / "pi"
    (home / "sessions").mkdir(parents=True)
    settings.STORES, settings.DATA_DIR = {"mine": f"pi://{home}"}, tmp_path / "data"
    return home


def test_what_is_shown_is_written_and_taken_out_again(signed_in: Client, home: Path) -> None:
    listed = read(signed_in.get("/settings")).one(id="inside")
    assert "nothing installed" in listed.text
    page = read(signed_in.get("/settings/inside/mine"))
    shown = [code.text for code in page.all("code")]
    assert str(home / "extensions" / "palimpsest" / "door.json") in shown
    assert list(home.iterdir()) == [home / "sessions"], "nothing is written by looking"

    answer = signed_in.post("/settings/inside/mine/change", {"do": "install", "notes": "on"}, follow=True)
    assert "Installed." in read(answer).text
    assert (home / "extensions" / "palimpsest" / "door.json").is_file()
    door = Door.objects.get()
    assert door.options == {"notes": True, "recall": False, "engine": False}
    assert "has not called yet" in read(signed_in.get("/settings")).one(id="inside").text
    page = read(signed_in.get("/settings/inside/mine"))
    assert "What is written" in page.text and "Install" not in [each.text for each in page.all("button")]
    (home / "extensions" / "palimpsest" / "index.ts").write_text("of an earlier version")
    page = read(signed_in.get("/settings/inside/mine"))
    assert "Install" in [each.text for each in page.all("button")], "what is there is not what would be written"
    Door.objects.update(called_at=timezone.now())
    assert "last called" in read(signed_in.get("/settings")).one(id="inside").text

    answer = signed_in.post("/settings/inside/mine/change", {"do": "remove"}, follow=True)
    assert "Removed" in read(answer).text
    assert list(home.iterdir()) == [home / "sessions"] and not Door.objects.exists() and not ApiToken.objects.exists()


def test_a_file_of_somebody_else_is_not_overwritten(signed_in: Client, home: Path) -> None:
    (mine := home / "extensions" / "palimpsest" / "index.ts").parent.mkdir(parents=True)
    mine.write_text("mine")
    page = read(signed_in.get("/settings/inside/mine"))
    assert "which is not ours" in page.text and "Install" not in [button.text for button in page.all("button")]
    assert signed_in.post("/settings/inside/mine/change", {"do": "install"}).status_code == 409
    assert mine.read_text() == "mine" and not Door.objects.exists()


def test_only_agents_that_can_have_something_installed_have_such_a_page(signed_in: Client, home: Path) -> None:
    for store in ("demo", "none"):
        assert signed_in.get(f"/settings/inside/{store}").status_code == 404
        assert signed_in.post(f"/settings/inside/{store}/change", {"do": "install"}).status_code == 404
    assert signed_in.get("/settings/inside/mine/change").status_code == 405
