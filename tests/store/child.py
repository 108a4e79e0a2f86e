"""Commit, undo and append in a process of its own, which a test may confine: python -m tests.store.child REQUEST.

The request is a JSON object: `path`, `session_id`, and `uid`, `fsize` (bytes a file may grow to) or neither. The
answer is JSON: {"opened": [...], "done": [...]} with each ordinary `open` of the store's files, or {"code", "message"}.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from typing import Any

from viewer.stores import lock_owners
from viewer.stores.base import Store
from viewer.stores.errors import StoreError
from viewer.stores.hermes import commit, encode, plan, presence, undo
from viewer.stores.hermes.reader import open_store
from viewer.stores.hermes.undo import Undoing
from viewer.stores.hermes.writer import append

HANDOFF = {"role": "user", "content": "[CONTEXT SUMMARY]: zebrafinch " * 100, "_compressed_summary": True}


def write_all(store: Store, session_id: str) -> list[str]:
    """Append, commit and undo; what was done."""
    append(store, session_id, [{"role": "user", "content": "appended " * 50}], now=time.time())
    holder = lock_owners.new_holder()
    presence.take_lock(store, session_id, holder)
    with open_store(store) as reader:
        planned = plan.snapshot(reader, session_id)
    kept = [row[0] for row in planned.rows[-3:]]
    steps: list[encode.Step] = [encode.New(HANDOFF), *map(encode.Clone, kept)]
    presence.take_lease(store, session_id, holder)
    done = commit.commit(store, planned, steps, lock_holder=holder, lease_holder=holder, now=time.time())
    originals = {row[0]: done.copies.get(row[0]) for row in planned.rows}
    undoing = Undoing(session_id, done.handoff_id, done.block_ids, originals)
    undo.undo(store, undoing, lock_holder=holder, lease_holder=holder)
    presence.release_lease(store, session_id, holder)
    presence.release_lock(store, session_id, holder)
    return ["append", "commit", "undo"]


def main(request: dict[str, Any]) -> dict[str, Any]:
    store = Store("hermes", f"sqlite:///{request['path']}", "configured")
    opened: list[str] = []

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and str(arguments[0]).startswith(request["path"]):
            opened.append(str(arguments[0]))

    sys.addaudithook(watch)
    if "fsize" in request:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["fsize"], request["fsize"]))
    if "uid" in request:
        os.setgid(request["uid"])
        os.setuid(request["uid"])
    try:
        return {"done": write_all(store, request["session_id"]), "opened": opened}
    except StoreError as refused:
        return {"code": refused.code, "message": refused.message, "opened": opened}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
