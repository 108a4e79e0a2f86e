"""Random and stateful calls of the whole API, made by schemathesis from `openapi.json`; `make fuzz`.

`python -m tests.fuzz [EXAMPLES]`, so many for each operation, three times: with invented ids, in a store that is there
(calls then go on from what others made), and with the ids of a session, a compaction and a run. The site is the real
one with its worker, on a demo database.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

EXAMPLES = 100
# What the OpenAPI document cannot say: a cursor is what the call before gave; an invented one is refused (422).
KNOWN = {"query.cursor": ""}


def main(examples: int = EXAMPLES) -> int:
    """Print what schemathesis finds; 1 if that is anything."""
    from tests.processes import StartedSite

    with tempfile.TemporaryDirectory(prefix="palimpsest-fuzz-") as place:
        site = StartedSite(Path(place) / "data", HERMES_HOME=place)
        try:
            site.ready()
            token = site.own(
                "from viewer.web.auth import new_token; print(new_token('fuzz', ['read', 'write', 'compact']))"
            )
            found = [
                _run(Path(place), site.port, token, examples, known)
                for known in (KNOWN, KNOWN | {"path.store": "demo"}, KNOWN | _there(site.port, token))
            ]
        finally:
            site.cut_down()
    return int(any(found))


def _run(place: Path, port: int, token: str, examples: int, known: Mapping[str, Any]) -> int:
    print(f"\n{examples} examples for each operation, with {', '.join(known)} given", flush=True)
    lines = [f"{json.dumps(name)} = {json.dumps(value)}" for name, value in known.items()]
    (place / "schemathesis.toml").write_text("\n".join(["[parameters]", *lines]))
    program = [sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{port}/api/v1/openapi.json"]
    options = ["--checks", "all", "--continue-on-failure", "--phases", "examples,coverage,fuzzing,stateful"]
    if "path.session_id" in known:  # what others made is not asked for then, and the session must stay
        options[-1:] = ["examples,coverage,fuzzing", "--exclude-method", "DELETE"]
    sent = ["--max-examples", str(examples), "--header", f"Authorization: Bearer {token}", "--warnings", "off"]
    return subprocess.run([*program, *options, *sent], cwd=place).returncode


def _there(port: int, token: str) -> dict[str, Any]:
    """Ids that the API knows: of a session that was compacted, its newest compaction, and a run of it."""
    sessions = _ask(port, token, "stores/demo/sessions?compacted=true")["items"]
    session_id = max(sessions, key=lambda session: session["messages_live"])["id"]
    compactions = _ask(port, token, f"stores/demo/sessions/{session_id}/compactions")["items"]
    run = _ask(port, token, f"stores/demo/sessions/{session_id}/runs", {"apply": False})
    return {
        "path.store": "demo",
        "path.session_id": session_id,
        "path.handoff_id": compactions[-1]["handoff_id"],
        "path.run_id": run["id"],
    }


def _ask(port: int, token: str, path: str, body: Any = None) -> Any:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/api/v1/{path}", data, headers)
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "viewer.settings")
    sys.exit(main(*map(int, sys.argv[1:2])))
