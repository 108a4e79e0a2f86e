"""Write down sessions of the scenarios, for tests that need no client: `python -m tests.interop.codex.record`.

Each is a home as the client keeps it, without its databases and without what says where it ran, and the items that were
sent of the session when it was resumed, as JSON. Texts of the client itself are cut short, on both sides.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from tests.agents.base import Json
from tests.agents.codex.recorded import RECORDED
from tests.interop.cutting import cut

from .playing import Case, Player
from .scenarios import SCENARIOS

RESUMES = {  # of each scenario, which of the times that a session was resumed
    "plain-talk": [2],
    "local-compaction-gpt-5.5": [0],
    "remote-compaction-gpt-5.5": [0],
    "forks-gpt-5.5": [2],
    "reverted-gpt-5.5": [2],
    "legacy-gpt-5.5": [1],
    "killed-in-tools-gpt-5.5": [0],
    "sub-agent": [0],
}
HOME = "/home/user"
MUCH = 1_000  # characters of an output that are kept
CONTEXT = ("additional_tools", "developer")


def main() -> None:
    shutil.rmtree(RECORDED, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="palimpsest-codex-") as place, Player(Path(place)) as player:
        for name in RESUMES:
            player.start(SCENARIOS[name])
        for name, resumes in RESUMES.items():
            for at in resumes:
                write(player.cases(SCENARIOS[name])[at], RECORDED / f"{name}.{at}")


def write(case: Case, target: Path) -> None:
    """Write a case down."""
    rollouts = {_file_id(path): path for path in case.home.rglob("rollout-*.jsonl")}
    written: dict[str, dict[int, int]] = {}

    def write_rollout(file_id: str) -> dict[int, int]:
        """Write a file behind those that it points into; where its lines begin now, by where they began."""
        if file_id not in written:
            path = rollouts[file_id]
            lines = path.read_bytes().split(b"\n")
            starts, data, before = {}, b"", 0
            for line in lines:
                starts[before] = len(data)
                before += len(line) + 1
                data += _shortened(_anonymous(line, case), write_rollout) + b"\n"
            copied = target / path.relative_to(case.home)
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_bytes(data[:-1])
            written[file_id] = starts
        return written[file_id]

    for file_id in rollouts:
        write_rollout(file_id)
    told = {"session_id": case.session_id, "sent": [_cut_item(item) for item in case.sent]}
    sent = json.dumps(told, ensure_ascii=False, indent=0)
    target.with_suffix(f"{target.suffix}.sent.json").write_bytes(_anonymous(sent.encode(), case) + b"\n")


def _file_id(path: Path) -> str:
    """What other files call it: the end of its name."""
    return path.stem.rpartition("_")[2] if "_" in path.stem else path.stem[-36:]


def _shortened(line: bytes, starts_of: Any) -> bytes:
    """A line of a file; what is no JSON stays as it is."""
    try:
        record = json.loads(line)
    except ValueError:
        return line
    payload = record["payload"]
    if record["type"] == "response_item":
        record["payload"] = _cut_item(payload)
    elif record["type"] == "compacted":
        payload["replacement_history"] = [_cut_item(item) for item in payload["replacement_history"]]
    elif record["type"] == "event_msg" and payload["type"] == "item_completed":
        payload["item"] = cut(payload["item"]) if payload["item"]["type"] == "CommandExecution" else payload["item"]
    elif record["type"] in ("session_meta", "world_state", "turn_context"):
        if base := payload.get("history_base"):
            base["end_byte_offset"] = starts_of(base["thread_id"])[base["end_byte_offset"]]
        record["payload"] = cut(payload)
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()


def _cut_item(item: Json) -> Json:
    """The same item, without most of what is the client's own and of long outputs."""
    if item["type"] in CONTEXT or item.get("role") in CONTEXT:
        return {name: cut(value) for name, value in item.items()}
    if isinstance(item.get("output"), str) and len(item["output"]) > MUCH:
        return item | {"output": f"{item['output'][:MUCH]}…"}
    return item


def _anonymous(data: bytes, case: Case) -> bytes:
    """The same as if it had been done at home."""
    return data.replace(str(case.home.parent / "home").encode(), HOME.encode()).replace(
        str(case.home.parent).encode(), HOME.encode()
    )


if __name__ == "__main__":
    main()
