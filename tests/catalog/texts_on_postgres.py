"""What the full-text index finds on the database of this process: python -m tests.catalog.texts_on_postgres.

PALIMPSEST_STORES names a store `plain` of the JSON kind; what is asked for is read from standard input.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest


def main() -> None:
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    from tests.agents.json_file import add_json_kind
    from viewer.catalog import sync_worker
    from viewer.catalog.models import TextMessage
    from viewer.catalog.search import indexing

    settings.DEMO_STORE = Path(tempfile.gettempdir()) / "no-demo.db"
    add_json_kind(pytest.MonkeyPatch())
    call_command("migrate", verbosity=0)
    sync_worker.sync_all()
    found: dict[str, Any] = {q: _hits(q) for q in json.load(sys.stdin)}
    indexing.leave_out("plain", True)
    sync_worker.sync_all()
    json.dump({"found": found, "left": TextMessage.objects.count()}, sys.stdout)


def _hits(q: str) -> list[list[Any]]:
    from viewer.catalog.search.store_search import search
    from viewer.stores.registry import get_store, open_store
    from viewer.stores.search.pages import PageRequest, SearchFilter
    from viewer.stores.search.query import parse

    hits: list[list[Any]] = []
    for wanted in (SearchFilter(), SearchFilter(role="assistant")):
        page = PageRequest(500)
        with open_store(get_store("plain")) as reader:
            found = search(reader, parse(q), wanted, page)
        hits.append([[hit.session.id, hit.id, hit.key[1]] for hit in found.hits])
    return hits


if __name__ == "__main__":
    main()
