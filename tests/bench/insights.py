"""How long the page Insights takes over 100,000 catalogued sessions; part of `make bench`, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.bench.lines import _set_up
from tests.clients import signed_in_client

SESSIONS, REPEATS = 100_000, 5
ADDRESSES = (
    "",
    "days=all",
    "days=90&measure=cost&by=model",
    "days=all&by=model",
    "days=all&by=source&measure=cost",
    "days=all&by=store",
    "measure=lost",
)


def main() -> None:
    """Print a line for each of the page's views; the goal is 100 ms."""
    print(f"\nInsights over {SESSIONS:,} sessions (goal: under 100 ms)", flush=True)
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-insights-") as place:
        subprocess.run([sys.executable, "-m", "tests.bench.insights", place], check=True)


def _measure(place: Path) -> None:
    path = place / "empty.db"
    from viewer.stores.hermes import schema

    schema.create(path)
    _set_up(path, place)
    client = signed_in_client()
    client.get("/insights")
    _fill()
    for address in ADDRESSES:
        taken = []
        for _ in range(REPEATS):
            started = time.perf_counter()
            assert client.get(f"/insights?{address}").status_code == 200
            taken.append((time.perf_counter() - started) * 1000)
        print(f"  {address or 'as it comes':54} {median(taken):7.1f}ms {max(taken):7.1f}ms", flush=True)


def _fill() -> None:
    """Lines of a year, of 40 sorts, as a worker would have left them."""
    from viewer.catalog.models import FacetGroup, SessionDay, SessionIndex, StoreState, day_number

    state, now = StoreState.objects.get(name="filled"), time.time()
    flags = {"archived": False, "ended": False, "compacted": False, "near": False}
    sorts = [
        FacetGroup.objects.create(state=state, source=f"source {at % 5}", model=f"model {at // 5}", **flags)
        for at in range(40)
    ]
    lines = (
        SessionIndex(
            state=state,
            kind=sorts[at % 40],
            session_id=f"s{at}",
            row=at,
            title=f"Session {at}",
            first_words="words " * 30,
            own_words="words " * 30,
            words="words " * 60,
            started_at=now - at * 315 - 9_000,
            last_active=now - at * 315,
            tokens=30_000 + at % 900,
            messages=40,
            compactions=0,
            cost=0.01 if at % 3 else None,
            window=128_000,
            due=False,
        )
        for at in range(SESSIONS)
    )
    SessionIndex.objects.bulk_create(lines, batch_size=2_000)
    spent = SessionIndex.objects.filter(cost__isnull=False).values_list("pk", "last_active", "cost").iterator()
    days = (
        SessionDay(state=state, line_id=line, day=day_number(at) - before, dollars=(cost or 0.0) / 2, is_least=False)
        for line, at, cost in spent
        for before in range(2)
    )
    SessionDay.objects.bulk_create(days, batch_size=2_000)


if __name__ == "__main__":
    _measure(Path(sys.argv[1]))
