"""How long a session of Codex takes whose file has 2 GB, most of it 500 snapshots of the history.

`python -m tests.bench.codex`; the file is made once under the cache directory, of invented text.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.agents.codex.by_hand import INTERNAL, meta
from tests.bench.claude_code import CACHE, WORDS, peak, set_up, timed

TURNS, TURNS_A_SNAPSHOT, TURNS_KEPT = 5_000, 10, 400
THREAD = str(UUID(int=(7 << 76) + (2 << 62) + 1))
Line = dict[str, Any]


def main() -> None:
    home = CACHE / "codex-large"
    path = made(home)
    with tempfile.TemporaryDirectory() as place:
        mine = Path(place) / "codex"  # what a compaction appends stays out of the file that is kept
        shutil.copytree(home, mine)
        os.environ["PALIMPSEST_DATA_DIR"] = str(Path(place) / "data")
        os.environ["PALIMPSEST_STORES"] = f"large=codex://{mine}"
        os.environ["DJANGO_SETTINGS_MODULE"] = "viewer.settings"
        set_up()
        measure("large", mine / path.relative_to(home))
    print(f"  peak memory of this process {peak():.0f} MB")


# -- making ------------------------------------------------------------------------------------------------------------


def made(home: Path) -> Path:
    """The rollout; written whole under another name first."""
    path = home / "sessions" / "2026" / "11" / "26" / f"rollout-2026-11-26T10-00-00-{THREAD}.jsonl"
    if not path.exists():
        print("Making codex-large, once ...", flush=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_suffix(".part").open("w") as file:
            file.writelines(lines())
        path.with_suffix(".part").rename(path)
    return path


def lines() -> Iterator[str]:
    """Turns of five items; after every tenth a compaction, whose snapshot has the newest 400 word for word."""
    dice, ordinal = random.Random(THREAD), 0
    turns: list[list[str]] = []
    for kind, payload in (("session_meta", meta(THREAD)), ("turn_context", {"turn_id": "t0", "model": "gpt-5.5"})):
        yield line(ordinal, kind, json.dumps(payload))
        ordinal += 1
    for number in range(TURNS):
        turns = [*turns[-TURNS_KEPT + 1 :], [json.dumps(item) for item in items(dice, number)]]
        written = [("response_item", item) for item in turns[-1]]
        if number % TURNS_A_SNAPSHOT == TURNS_A_SNAPSHOT - 1:
            written.append(("compacted", snapshot(number, turns)))
        for kind, text in written:
            yield line(ordinal, kind, text)
            ordinal += 1


def line(ordinal: int, kind: str, payload: str) -> str:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(1_795_600_000 + ordinal))
    return f'{{"timestamp":"{stamp}","ordinal":{ordinal},"type":"{kind}","payload":{payload}}}\n'


def items(dice: random.Random, number: int) -> Iterator[Line]:
    """A request, thoughts, a call, its output, a reply: some 10 kB."""

    def text(words: int) -> str:
        return " ".join(dice.choices(WORDS, k=words)) + f" number{number}"

    def message(role: str, kind: str, said: str) -> Line:
        part = {"type": "output_text" if role == "assistant" else "input_text", "text": said}
        around = {"turn_id": f"t{number}", "content_item_kinds": [kind]}
        return {"type": "message", "id": f"msg_{role}_{number}", "role": role, "content": [part], INTERNAL: around}

    yield message("user", "user.text", text(60))
    yield {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "x" * 1_500}
    call = {"name": "exec_command", "arguments": json.dumps({"cmd": f"ls {number}"}), "call_id": f"call_{number}"}
    yield {"type": "function_call", "id": f"fc_{number}", **call}
    yield {"type": "function_call_output", "id": f"fco_{number}", "call_id": f"call_{number}", "output": text(1_000)}
    yield message("assistant", "unknown", text(60))


def snapshot(number: int, turns: list[list[str]]) -> str:
    summary = {
        "type": "message", "id": f"msg_summary_{number}", "role": "user",
        "content": [{"type": "input_text", "text": f"Summary {number}: " + " ".join(WORDS * 30)}],
        INTERNAL: {"content_item_kinds": ["compaction.summary"]},
    }  # fmt: skip
    history = ",".join([json.dumps(summary), *(item for turn in turns for item in turn)])
    window = f'"window_number":{number},"window_id":"{UUID(int=(7 << 76) + (2 << 62) + number)}"'
    return f'{{"message":"","replacement_history":[{history}],{window}}}'


# -- measuring ---------------------------------------------------------------------------------------------------------


def measure(name: str, path: Path) -> None:
    from tests.clients import signed_in_client
    from viewer.catalog import sync_worker

    print(f"\none session of Codex, {path.stat().st_size / 1e6:.0f} MB, {TURNS // TURNS_A_SNAPSHOT} snapshots")
    client, address = signed_in_client(), f"/stores/{name}/sessions/{THREAD}"

    def get(query: str = "") -> None:
        assert client.get(f"{address}{query}").status_code == 200

    timed("the list, nothing known yet", lambda: client.get(f"/?store={name}"))
    timed("first look: its page, nothing known yet", get)
    timed("its newest window again", get)
    timed("once more", get)
    timed("a window in the middle", lambda: get("/context?start=10000"))
    with path.open("a") as file:
        file.write(line(TURNS * 6, "event_msg", '{"type":"token_count","info":null}'))
    timed("its page behind one appended line", get)
    plan = timed("what a plan reads of it, and the plan", lambda: planned(name, THREAD))
    timed("its commit, looked at before and behind", lambda: commit(name, THREAD, *plan))
    timed("its page behind the compaction", get)
    timed("a worker lists, counts and indexes it", sync_worker.sync_all)


def planned(name: str, session: str) -> tuple[Any, Any]:
    """What a commit takes: the token of what was read, and the new context."""
    import compaction
    from viewer.runs import candidate, planning
    from viewer.stores.message import message_of
    from viewer.stores.registry import get_store, open_store

    with open_store(get_store(name)) as reader:
        basis = planning.read_basis(reader, session)
    policy = compaction.Policy(keep_last=20, tail_only=basis.tail_only, handoff="hermes")
    plan = compaction.plan(list(map(message_of, basis.sent)), policy, compaction.counter_for(""))
    return basis.token, candidate.edits_of(basis, compaction.apply(plan, "## Goal\nFinish."))


def commit(name: str, session: str, token: Any, edits: Any) -> None:
    from viewer.stores import lock_owners
    from viewer.stores.registry import get_store, writer_of

    writer, holder = writer_of(get_store(name)), lock_owners.new_holder()
    with writer.hold(session, holder), writer.hold_turn(session, holder):
        writer.apply(session, token, edits, mode="in_place", holder=holder, now=time.time())


if __name__ == "__main__":
    main()
