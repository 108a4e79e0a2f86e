"""What may be a handoff of an unknown form is said to be one on PostgreSQL, too: on the page and by the API."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from tests.factories import postgres_stores
from tests.factories.other_engines import compacted_by_engine
from tests.factories.stores import small_talk
from tests.html import read
from viewer.web import auth

pytestmark = pytest.mark.django_db

UNKNOWN = "[Folded context, tier 2 of 3]\n" + "The desk moved in May, and the tokens were rotated. " * 20


def test_it_is_suspected_on_the_page_and_by_the_api(
    postgres: str, tmp_path: Path, settings: Settings, signed_in: Client
) -> None:
    path = small_talk(tmp_path / "state.db", 20)
    suspected = compacted_by_engine(path, UNKNOWN)
    settings.STORES = {"pg": postgres_stores.filled(postgres, path).url}
    for view in ("", "/context"):
        page = read(signed_in.get(f"/stores/pg/sessions/s1{view}"))
        assert "Perhaps a summary" in page.one("article", id=f"m{suspected}").text
    tool = Client(headers={"Authorization": f"Bearer {auth.new_token('reader', ['read'])}"})
    for name in ("history", "live"):
        items = tool.get("/api/v1/stores/pg/sessions/s1/messages", {"view": name}).json()["items"]
        assert [item["id"] for item in items if item["suspected"]] == [suspected]
