"""The list of sessions at full size: how long its catalog takes to make, and its pages then.

In a process of its own, because Django takes one data directory a process: python -m tests.bench.lines STORE DIRECTORY
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, get_args
from urllib.parse import urlencode

from tests.bench import search
from tests.clients import signed_in_client

REPEATS = 5
DEEP = 1_000  # the page that is measured far down the list, or the last whole one
PAGE = 40


def main(stores: dict[str, Path]) -> None:
    """Measure each of these stores, which are only read: what it is called -> its file."""
    print("\nThe list of sessions (goal: under 15 ms, at most 1.5 times that among 100,000)")
    for name, path in stores.items():
        with tempfile.TemporaryDirectory(prefix="palimpsest-bench-lines-") as place:
            print(f"{name}:", flush=True)
            subprocess.run([sys.executable, "-m", "tests.bench.lines", path, place], check=True)


def _measure(path: Path, place: Path) -> None:
    _set_up(path, place)
    from viewer.catalog import numbers, sync_worker
    from viewer.catalog.models import SessionIndex

    client = signed_in_client()
    started = time.perf_counter()
    client.get("/?store=filled")
    print(f"  {'first visit of all, nothing known yet':54} {(time.perf_counter() - started) * 1000:9.1f}ms")
    for name in ("count_some", "is_any_due"):  # lines first; counting tokens is another matter
        setattr(numbers, name, lambda *_: False)
    started = time.perf_counter()
    sync_worker.sync_all()
    print(
        f"  {f'making the catalog: {SessionIndex.objects.count():,} lines':54} {time.perf_counter() - started:9.1f}s "
    )
    for what, query, fragment in _pages():
        _time(client, what, f"/?{urlencode(query)}", fragment)
    search.main(client, "filled")


def _set_up(path: Path, place: Path) -> None:
    os.environ["PALIMPSEST_DATA_DIR"] = str(place)
    os.environ["PALIMPSEST_STORES"] = f"filled=sqlite:///{path}"
    os.environ["DJANGO_SETTINGS_MODULE"] = "viewer.settings"
    import django
    from django.conf import settings
    from django.core.management import call_command

    django.setup()
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]
    call_command("migrate", verbosity=0)


def _pages() -> Iterator[tuple[str, dict[str, str], bool]]:
    """What is measured: its name, its query, whether htmx asks for further lines."""
    from django.db.models.expressions import RawSQL

    from viewer.catalog.lines import COLUMNS, Order, sort_key
    from viewer.catalog.models import SessionIndex

    yield "first page", {}, False
    for order in get_args(Order):
        ordering = RawSQL(COLUMNS[order], ())  # an expression in some orders
        lines = SessionIndex.objects.filter(tip=True).order_by(ordering.asc() if order == "title" else ordering.desc())
        number = min(DEEP, lines.count() // PAGE)
        after = json.dumps(sort_key(lines[(number - 1) * PAGE - 1], order))
        yield f"by {order}, first page", {"order": order}, False
        yield f"by {order}, page {number:,}", {"order": order, "after": after}, False
        yield f"by {order}, page {number:,}, as it is scrolled to", {"order": order, "after": after}, True
    line = SessionIndex.objects.filter(tip=True).order_by("started_at")[0]
    yield "narrowed to a source and a model", {"source": line.source, "model": line.model}, False
    yield "nothing matches the filters", {"source": line.source, "state": "archived"}, False
    yield "a title's words", {"q": line.title or line.first_words[:30]}, False
    yield "words that are nowhere", {"q": "zebrafinch quartz"}, False


def _time(client: Any, what: str, url: str, fragment: bool) -> None:
    headers = {"HX-Request": "true"} if fragment else {}
    taken: list[float] = []
    octets = b""
    for _ in range(REPEATS + 1):
        started = time.perf_counter()
        octets = client.get(url, headers=headers).content
        taken.append(time.perf_counter() - started)
    taken = taken[1:]  # behind one to warm up
    print(
        f"  {what:54} {median(taken) * 1000:9.1f}ms {max(taken) * 1000:7.1f}ms  {len(octets) / 1000:,.0f} kB, "
        f"{len(gzip.compress(octets)) / 1000:,.1f} kB compressed",
        flush=True,
    )


if __name__ == "__main__":
    _measure(Path(sys.argv[1]), Path(sys.argv[2]))
