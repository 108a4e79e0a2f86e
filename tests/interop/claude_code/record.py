"""Write down sessions of the scenarios, for tests that need no client: `python -m tests.interop.claude_code.record`.

Each is a directory as the client keeps it, without what says where it ran, and the blocks that were sent of it when it
was resumed, as JSON. Texts of the client itself are cut short, its log of requests is left out.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.agents.claude_code.recorded import RECORDED
from tests.interop.cutting import cut

from .playing import Case, Player
from .scenarios import SCENARIOS

MOMENTS = {
    "plain-turns": ["own-process"],
    "parallel-tools": ["steps"],
    "images": ["later"],
    "thinking": ["tools"],
    "spilled-output": ["compacted"],
    "sub-agent": ["started", "foreground"],
    "lost-sub-agent": ["told"],
    "typed-things": ["queued"],
    "forks": ["origin", "compacted-fork", "fork-of-compacted"],
    "older-2.1.246": ["compacted-again"],
    "older-2.1.178": ["later", "compacted-again"],
    "compact": ["at-once", "turn-of-open-client"],
    "auto-compaction": ["between-calls", "again"],
    "summarise-up-to": ["again-open", "end"],
    "summarise-from": ["again-open", "end"],
    "rewind": ["again", "to-the-kept"],
    "rewind-without-terminal": ["between-calls", "behind-compaction"],
    "open-client": ["tool-runs", "two-prompts"],
    "interrupted": ["while-asked", "end"],
    "killed-client": ["while-asked", "resumed-again"],
    "two-clients": ["both-open", "turn"],
    "api-errors": ["turn"],
    "torn-lines": ["turn", "garbage"],
    "changed-boundaries": ["no-kept", "segment-alone", "unknown-kept", "restated"],
    "steered": ["older-leaf", "nowhere", "before-boundary"],
}
HOME = "/home/user"
MUCH = 2_000  # characters of a result that are kept twice
REQUESTS = ("api-request", "api-request-shape", "api-request-blob")


def main() -> None:
    shutil.rmtree(RECORDED, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="palimpsest-claude-") as place, Player(Path(place)) as player:
        for name, moments in MOMENTS.items():
            player.start(SCENARIOS[name], moments)
        for name, moments in MOMENTS.items():
            for moment in moments:
                write(player.case(SCENARIOS[name], moment), RECORDED / f"{name}.{moment}")


def write(case: Case, target: Path) -> None:
    """Write a case down."""
    (project,) = (case.config / "projects").iterdir()
    kept = target / "projects" / _slug(f"{HOME}/work")
    for path in sorted(project.rglob("*")):
        if path.is_file() and case.session_id in str(path):
            copied = kept / path.relative_to(project)
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_bytes(_shortened(path.suffix, _anonymous(path.read_bytes(), case)))
    blocks = [json.dumps({name: value for name, value in asdict(block).items() if value}) for block in case.sent]
    sent = "[\n" + ",\n".join(blocks) + "\n]\n"
    target.with_suffix(f"{target.suffix}.sent.json").write_bytes(_anonymous(sent.encode(), case))


def _shortened(suffix: str, data: bytes) -> bytes:
    """A file of a session; lines that are no JSON stay as they are."""
    return b"".join(map(_shortened_line, data.splitlines(keepends=True))) if suffix == ".jsonl" else data


def _shortened_line(line: bytes) -> bytes:
    try:
        record = json.loads(line)
    except ValueError:
        return line
    if not isinstance(record, dict):
        return line
    if record.get("type") in REQUESTS:
        return b""
    if record.get("attachment", {"type": "file"})["type"] not in ("queued_command", "file"):
        record = cut(record)
    if len(str(record.get("toolUseResult"))) > MUCH:
        record["toolUseResult"] = cut(record["toolUseResult"])
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _anonymous(data: bytes, case: Case) -> bytes:
    """The same as if it had been done at home, on a machine like any other."""
    place = case.work.parent
    paths = {str(case.work): f"{HOME}/work", str(place / "config"): f"{HOME}/.claude", str(place / "tmp"): "/tmp"}
    names = {**paths, _slug(str(case.work)): _slug(f"{HOME}/work"), str(place): HOME}
    for name, instead in names.items():
        data = data.replace(name.encode(), instead.encode())
    return re.sub(rb"(?<=Linux )\d+\.[\w.+-]+", b"6.1.0", data)


def _slug(path: str) -> str:
    """How the client names the directory of a project."""
    return re.sub(r"[^a-zA-Z0-9]", "-", path)


if __name__ == "__main__":
    main()
