"""`manage.py stores --create` makes a store that can be used at once, and never touches one that is there."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from tests.factories import postgres_stores


def told(*arguments: str) -> str:
    out = StringIO()
    call_command("stores", *arguments, stdout=out)
    return out.getvalue()


def test_a_store_is_made_and_listed(postgres: str, settings: Settings, tmp_path: Path) -> None:
    settings.DEMO_STORE = tmp_path / "none.db"
    settings.STORES = {"pg": postgres_stores.place(postgres), "file": f"sqlite:///{tmp_path / 'new.db'}"}
    assert "pg    /postgres?" in told() and "not of agent sessions" in told()
    made = told("--create", "pg")
    assert made.startswith("Made the tables in /postgres?")
    assert "schema 31, 0 sessions, can compact" in made
    assert "Made " in told("--create", "file")
    for name, said in (
        ("pg", "tables of these names already"),
        ("file", "exists already"),
        ("other", "no store named"),
    ):
        with pytest.raises(CommandError, match=said):
            told("--create", name)
