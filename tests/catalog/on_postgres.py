"""The catalog on the site's database of this process, printed as JSON: python -m tests.catalog.on_postgres.

Django takes one database a process; tests run on SQLite.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import astuple
from pathlib import Path
from typing import Any


def main() -> None:
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    settings.DEMO_STORE = Path(tempfile.gettempdir()) / "no-demo.db"
    call_command("migrate", verbosity=0)
    json.dump(_found(), sys.stdout)


def _found() -> dict[str, Any]:
    from django.db import connection

    from tests.catalog.list_pages import FILTERS, ORDERS, walk
    from tests.factories.session_lists import ids
    from viewer.catalog import sums, sync_worker
    from viewer.catalog.models import SessionIndex, StoreState
    from viewer.enforcement.models import Audit

    first = ids(order="recent")
    sync_worker.sync_all()
    lists = {
        f"{order} {wanted}": list(walk(7, order=order, **wanted))
        for order in ORDERS
        for wanted in [*FILTERS, {"q": "airline"}, {"compacted": True}, {"source": "cron"}]
    }
    return {
        "vendor": connection.vendor,
        "first": first,
        "lists": lists,
        "numbers": sorted(SessionIndex.objects.values_list("session_id", "messages", "compactions", "tokens", "parts")),
        "audits": sorted(Audit.objects.values_list("session_id", "handoff_id", "status")),
        "sums": [
            sorted(map(astuple, sums.of_sessions(list(StoreState.objects.all()), measure, by, 0.0)))
            for measure in ("tokens", "cost", "messages", "compactions")
            for by in ("day", "model", "source", "store")
        ],
        "filling": [each.line.session_id for each in sums.filling(list(StoreState.objects.all()), _newest(), 20)],
        "plans": _plans() if connection.vendor == "postgresql" else [],
    }


def _newest() -> float:
    from viewer.catalog.models import SessionIndex

    return SessionIndex.objects.latest("last_active").last_active + 1.0


def _plans() -> list[str]:
    """How a page of very many lines would be found: where looking through a table, and sorting it, are no choice."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from tests.factories.session_lists import ids

    found = []
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off")
        with CaptureQueriesContext(connection) as queries:
            ids(5, source="cron")
            ids(5, order="messages")
        for query in list(queries):
            if "catalog_line" in query["sql"] and "ORDER BY" in query["sql"]:
                cursor.execute("EXPLAIN " + query["sql"].replace("%", "%%"))
                found.append("\n".join(row[0] for row in cursor.fetchall()))
    return found


if __name__ == "__main__":
    main()
