"""What this version makes of the runs in the site's own database: `python -m tests.runs.updated` prints it as JSON."""

from __future__ import annotations

import json
import os
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "viewer.settings")
django.setup()

from tests.factories.histories import history_of  # noqa: E402  # Django is set up by the line above
from viewer.history.models import Compaction  # noqa: E402
from viewer.runs import job, service  # noqa: E402
from viewer.runs.models import Run  # noqa: E402
from viewer.stores.errors import StoreError  # noqa: E402
from viewer.stores.registry import Reader, get_store, identity, open_store  # noqa: E402


def main() -> None:
    with open_store(get_store("demo")) as reader:
        found = {run.pk: told(reader, run) for run in Run.objects.order_by("pk")}
        undone = [each.undo for each in Compaction.objects.filter(undone=True)]
    ready = Run.objects.get(status="ready")
    ready.basis["file"] = list(identity(get_store("demo")))  # it was unpacked: the file it was planned on is another
    ready.save()
    service.apply(ready)
    job.compact(ready.pk)
    done = {run.pk: undo(run) for run in Run.objects.filter(status="applied").order_by("-pk")}
    with open_store(get_store("demo")) as reader:
        left = {run.pk: boundaries(reader, run.session_id) for run in Run.objects.order_by("pk")}
    print(json.dumps({"found": found, "undone": undone, "undo": done, "left": left}))


def told(reader: Reader, run: Run) -> dict[str, Any]:
    return {
        "status": run.status,
        "strategy": run.strategy,
        "boundaries": boundaries(reader, run.session_id),
        "undoable": service.is_undoable(run),
        "live": len(reader.live(run.session_id)),
    }


def boundaries(reader: Reader, session_id: str) -> list[int | None]:
    """The runs that History names for the compactions of a session."""
    return [each.run for each in history_of(reader, session_id).boundaries]


def undo(run: Run) -> str:
    run.refresh_from_db()
    try:
        service.undo_run(run)
    except StoreError as refused:
        return refused.code
    run.refresh_from_db()
    return run.status


if __name__ == "__main__":
    main()
