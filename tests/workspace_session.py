"""A session that works in a workspace with rules, driven over the API alone."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients import ApiClient
from tests.factories.stores import HermesStore

RULES = (
    "## Session Startup\n\nRead `WORKFLOW.md` and `STYLE.md`, then `memory/YYYY-MM-DD.md`.\n\n"
    "## Red Lines\n\nNever push to main."
)
AGENTS = f"# Agents\n\n{RULES}\n\n## Tone\n\nFriendly.\n"
READ_TOOL = "read_file"


@dataclass(frozen=True)
class WorkspaceSession:
    """A session of the store whose working directory is `workspace`: two of its three named files exist."""

    hermes_store: HermesStore
    api_client: ApiClient
    session_id: str
    workspace: Path

    @property
    def path(self) -> str:
        return f"/stores/hermes/sessions/{self.session_id}"

    def compact(self, **choices: Any) -> Any:
        """A run that is carried out at once."""
        status, run = self.api_client.call("POST", f"{self.path}/runs", {"apply": True, **choices})
        assert status == 202, run
        assert run["status"] == ("applied" if choices.get("apply", True) else "ready"), run
        return run

    def append(self, *messages: dict[str, Any], by_agent: bool = False) -> list[int]:
        """Append through the API, or as an agent does that asks nobody."""
        from viewer.stores.registry import writer_of  # not before Django is set up

        if by_agent:
            return writer_of(self.hermes_store.store).append(self.session_id, messages, now=time.time())
        status, answer = self.api_client.call("POST", f"{self.path}/messages", {"messages": messages})
        assert status == 201, answer
        return list(answer["ids"])

    def turn(self, *files: str, by_agent: bool = False) -> list[int]:
        """A complete turn in which the agent reads these files; the ids of its messages."""
        said: list[dict[str, Any]] = [{"role": "user", "content": "And the next step?"}]
        for at, file in enumerate(files):
            function = {"name": READ_TOOL, "arguments": json.dumps({"path": file})}
            said += [
                {"role": "assistant", "tool_calls": [{"id": f"r{at}", "type": "function", "function": function}]},
                {"role": "tool", "content": "1|Work in small steps.", "tool_call_id": f"r{at}", "name": READ_TOOL},
            ]
        return self.append(*said, {"role": "assistant", "content": "Done, the next step is taken."}, by_agent=by_agent)

    def judged(self) -> None:
        """A worker looks at the session, as it does when its messages have changed."""
        from viewer.enforcement import auditing  # models are there only now
        from viewer.history import index_cache
        from viewer.stores.registry import open_store

        with open_store(self.hermes_store.store) as reader:
            session = reader.session(self.session_id)
            auditing.look(reader, session, index_cache.index_of(reader, session), arm=True)

    def events(self, **wanted: str) -> list[dict[str, Any]]:
        self.judged()
        return list(self.api_client.get(f"{self.path}/events", **wanted)["items"])

    def audit(self) -> dict[str, Any]:
        """The newest one."""
        self.judged()
        return dict(self.api_client.get(f"{self.path}/audits")["items"][0])


def furnish(hermes_store: HermesStore, api_client: ApiClient, workspace: Path) -> WorkspaceSession:
    """Make the workspace, and a session in it that is long enough for a compaction."""
    workspace.mkdir()
    (workspace / "AGENTS.md").write_text(AGENTS)
    for name in ("WORKFLOW.md", "STYLE.md"):
        (workspace / name).write_text("Work in small steps.\n")
    said = [
        {"role": ("user", "assistant")[at % 2], "content": f"Message {at}. " + f"Ticket {at} is about a refund. " * 40}
        for at in range(40)
    ]
    body = {"cwd": str(workspace), "model": "gpt-5", "messages": said}
    status, session = api_client.call("POST", "/stores/hermes/sessions", body)
    assert status == 201, session
    return WorkspaceSession(hermes_store, api_client, session["id"], workspace)
