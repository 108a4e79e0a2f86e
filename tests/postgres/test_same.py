"""What the site shows of a store on PostgreSQL is what it shows of the same rows in SQLite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from tests.clients import ApiClient
from tests.factories.postgres_stores import ODD
from tests.html import read
from tests.postgres.conftest import BothStores
from viewer.catalog import sync_worker
from viewer.catalog.models import SessionIndex
from viewer.exports import CONTENT_TYPES
from viewer.stores.hermes import change_tokens, listing, messages, paths
from viewer.stores.hermes.reader import open_store
from viewer.web import auth

pytestmark = pytest.mark.django_db

WEEK_29 = "Airline desk, week 29"


def all_ids(both_stores: BothStores) -> list[str]:
    with open_store(both_stores.lite) as reader:
        return [row[0] for row in reader.con.execute("SELECT id FROM sessions").fetchall()]


def test_every_row_and_every_history(both_stores: BothStores) -> None:
    ids = all_ids(both_stores)
    assert len(ids) > 20
    with open_store(both_stores.lite) as lite, open_store(both_stores.pg) as pg:
        for session_id in ids:
            assert messages.light_rows(pg, session_id) == messages.light_rows(lite, session_id)
            assert messages.read_history(pg, session_id) == messages.read_history(lite, session_id)
            assert messages.live_context(pg, session_id) == messages.live_context(lite, session_id)
            rows = messages.raw_rows(pg, session_id, before=None, limit=10_000)
            assert rows == messages.raw_rows(lite, session_id, before=None, limit=10_000)
            assert paths.system_prompt(pg, session_id) == paths.system_prompt(lite, session_id)
            same = replace(paths.get_session(pg, session_id), store="lite")
            assert same == paths.get_session(lite, session_id)
        assert change_tokens.read_marks(pg, ids) == change_tokens.read_marks(lite, ids)
        listed = {each.id: replace(each, store="lite") for each in listing.read_sessions(pg, ids).values()}
        assert listed == listing.read_sessions(lite, ids)
        assert listing.changed(pg, "", 10, 10) == listing.changed(lite, "", 10, 10)
        assert listing.given_id(pg) == listing.given_id(lite)


def test_the_lists(both_stores: BothStores) -> None:
    sync_worker.sync_all()

    def lines(store: str) -> list[tuple[Any, ...]]:
        facts = ("session_id", "title", "first_words", "messages", "in_context", "compactions", "tokens", "parts")
        return list(SessionIndex.objects.filter(state__name=store).order_by("session_id").values_list(*facts))

    assert len(lines("pg")) > 20
    assert lines("pg") == lines("lite")


def shown(client: Client, address: str, store: str) -> str:
    """What stands in the main part of a page, without what only names the store or the moment."""
    answer = client.get(address, follow=True)
    tree = read(answer)
    main = (tree.all("main") or [tree])[0]
    links = [element.attributes.get("href", "") for element in main.all("a")]
    text = "\n".join([main.text, *links])
    return re.sub(rf"\b{store}\b", "-", re.sub(r"(seen|mark)=[^&\s]*", "", text))


def pages_of(both_stores: BothStores) -> Iterator[str]:
    """Addresses behind a session's, of the sessions with the most in them."""
    with open_store(both_stores.lite) as reader:
        [(week,)] = reader.con.execute("SELECT id FROM sessions WHERE title = ?", [WEEK_29]).fetchall()
        handoffs = [boundary.handoff_id for boundary in messages.read_history(reader, week).boundaries]
        first = reader.con.execute("SELECT MIN(id) FROM messages WHERE session_id = ?", [week]).fetchone()[0]
        odd = reader.con.execute("SELECT MIN(id) FROM messages WHERE session_id = ?", [ODD]).fetchone()[0]
    assert handoffs
    for view in ("", "/context", "/context/prompt", "/rows", "/timeline", "/find?q=refund", f"?around={first}"):
        yield week + view
    for tab in ("summarised", "kept", "before-after", "before-after?only=changed"):
        yield f"{week}/boundaries/{handoffs[0]}/{tab}"
    yield f"{week}/messages/{first}"
    for view in ("", "/context", "/rows", f"/messages/{odd}", f"/messages/{odd + 1}", "/find?q=日本"):
        yield ODD + view


AGENTS = {"lite": "Hermes", "pg": "its agent"}  # nobody knows who writes to a server
RESUME = re.compile(r"To go on in a terminal:\s+hermes --resume \S+\s*(Copy\s+)?")


def test_the_pages(both_stores: BothStores, signed_in: Client) -> None:
    for page in pages_of(both_stores):
        lite, pg = (shown(signed_in, f"/stores/{name}/sessions/{page}", name) for name in ("lite", "pg"))
        assert len(lite) > 100, page
        lite = RESUME.sub("", lite)  # of an agent's own file alone
        lite = lite.replace(f"by {AGENTS['lite']},", f"by {AGENTS['pg']},")
        differ = [(one, other) for one, other in zip(pg.split(), lite.split(), strict=False) if one != other]
        assert not differ, (page, differ[:10])


def test_the_exports(both_stores: BothStores, signed_in: Client) -> None:
    def exported(store: str, session_id: str, kind: str, view: str) -> bytes:
        api_client = Client(headers={"Authorization": f"Bearer {token}"})
        path = f"/api/v1/stores/{store}/sessions/{session_id}/export"
        body = b"".join(api_client.get(path, {"format": kind, "view": view, "redact": "0"}))
        dated = re.sub(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?", b"-", body)
        named = re.sub(rf"(Compacted[^\n]{{0,40}}?)by {AGENTS[store]}".encode(), rb"\1by -", dated)
        return re.sub(rf"\b{store}\b".encode(), b"-", named)

    token = auth.new_token("reader", ["read"])
    with open_store(both_stores.lite) as reader:
        [(week,)] = reader.con.execute("SELECT id FROM sessions WHERE title = ?", [WEEK_29]).fetchall()
    views = ("history", "live", "raw")
    wanted = [(ODD, kind, view) for kind in CONTENT_TYPES for view in views]
    for each in [*wanted, (week, "md", "history"), (week, "html", "live"), (week, "jsonl", "raw")]:
        assert exported("pg", *each) == exported("lite", *each), each


def test_the_api(both_stores: BothStores) -> None:
    api_client = ApiClient(auth.new_token("reader", ["read"]))

    def answer(store: str, path: str, **query: Any) -> Any:
        found = api_client.get(f"/stores/{store}/sessions{path}", **query)
        for each in found.get("items", ()):
            if "by" in each:
                assert each.pop("by") == f"by {AGENTS[store]}"
        own = ("store", "address", "can_compact", "compact_reason")
        return {name: value for name, value in found.items() if name not in own}

    with open_store(both_stores.lite) as reader:
        [(week,)] = reader.con.execute("SELECT id FROM sessions WHERE title = ?", [WEEK_29]).fetchall()
    for session_id in (week, ODD):
        assert answer("pg", f"/{session_id}") == answer("lite", f"/{session_id}")
        assert answer("pg", f"/{session_id}/context") == answer("lite", f"/{session_id}/context")
        assert answer("pg", f"/{session_id}/compactions") == answer("lite", f"/{session_id}/compactions")
        for view in ("history", "live", "raw"):
            query: dict[str, Any] = {"view": view, "limit": 200}
            assert answer("pg", f"/{session_id}/messages", **query) == answer(
                "lite", f"/{session_id}/messages", **query
            )
