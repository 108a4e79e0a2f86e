"""What tests of a door in a real agent share: a workspace with rules, its audit, and the states of the notes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from compaction.handoff import BY_ENGINE
from tests.clients import ApiClient
from viewer.enforcement import auditing
from viewer.enforcement.models import Event
from viewer.history import index_cache
from viewer.stores.registry import get_store, open_store

RULE = "Never push to main."
SECTIONS = ["Session Startup", "Red Lines"]


def write_rules(workspace: Path, file: str) -> None:
    """Rules, and the file that they want read."""
    startup, lines = SECTIONS
    (workspace / "AGENTS.md").write_text(f"# Agents\n\n## {startup}\n\nRead `{file}`.\n\n## {lines}\n\n{RULE}\n")
    (workspace / file).write_text("Small steps.\n")


def statuses() -> list[tuple[str, str]]:
    """Kind and status of all notes and warnings, the oldest first."""
    return list(Event.objects.order_by("pk").values_list("kind", "status"))


def judged(api_client: ApiClient, store: str, session_id: str) -> str:
    """The status of the newest audit, once a worker has looked at the session."""
    with open_store(get_store(store)) as reader:
        session = reader.session(session_id)
        (audit, *_) = auditing.look(reader, session, index_cache.index_of(reader, session), arm=True)
    listed = api_client.get(f"/stores/{store}/sessions/{session_id}/audits")["items"]
    assert listed[0]["status"] == audit.status
    return audit.status


def by_us(sent: Sequence[str]) -> list[int]:
    """Where summaries by our engine are among the texts of a request."""
    return [at for at, text in enumerate(sent) if BY_ENGINE in text]
