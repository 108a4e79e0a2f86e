"""What a writer in a process of its own does (`writer_process`): it plans, and commits when it is let.

MOMENT says when it is killed: "inside" the commit's transaction, "behind" it, or "never". Of a file of lines also while
they are appended: "torn 0.5" is behind half of the blanks, "overwritten 0.5" behind half of what is written over them
first, "steps 2" behind two such writes. Then it says what refused it, or nothing.
"""

from __future__ import annotations

import os
import signal
import time
from multiprocessing.connection import Connection
from typing import Any

import django

from viewer.stores import lock_owners

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "viewer.settings")
django.setup()

import compaction  # noqa: E402  # Django is set up by the line above
from viewer.runs import candidate, planning  # noqa: E402
from viewer.stores.base import Store  # noqa: E402
from viewer.stores.claude_code import encode as claude_encode  # noqa: E402
from viewer.stores.codex import encode as codex_encode  # noqa: E402
from viewer.stores.errors import StoreError  # noqa: E402
from viewer.stores.hermes import commit as hermes_commit  # noqa: E402
from viewer.stores.message import message_of  # noqa: E402
from viewer.stores.opencode import encode as opencode_encode  # noqa: E402
from viewer.stores.registry import open_store, writer_of  # noqa: E402
from viewer.stores.trees import encode as tree_encode  # noqa: E402

SUMMARY = "## Goal\nFinish."
# In the middle of each kind's commit: rows are inserted and not committed, lines are made and not appended.
INSIDE: list[tuple[Any, str]] = [
    (hermes_commit, "insert_block"),
    (claude_encode, "encoded"),
    (codex_encode, "encoded"),
    (tree_encode, "encoded"),
    (opencode_encode, "insert"),
]


def _killing(plain: Any) -> Any:
    """The function, behind which this process is killed."""

    def killed(*given: Any) -> Any:
        plain(*given)
        os.kill(os.getpid(), signal.SIGKILL)

    return killed


def _killed_in(name: str, share: float, whole: int = 0) -> None:
    """Be killed in a call of this function of `os`, with this share of its data written, behind so many whole ones."""
    plain, left = vars(os)[name], [None] * whole

    def write(descriptor: int, data: bytes, *where: int) -> int:
        if left:
            left.pop()
            return int(plain(descriptor, data, *where))
        plain(descriptor, data[: int(len(data) * share)], *where)
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    vars(os)[name] = write


def main(asking: Connection, name: str, url: str, session_id: str, moment: str) -> None:
    """Plan; commit when asked to; answer with the code of what refused it, or ""."""
    store, holder = Store(name, url, "configured"), lock_owners.new_holder()
    writer = writer_of(store)
    with writer.hold(session_id, holder), writer.hold_turn(session_id, holder):
        refused = _commit(asking, store, session_id, moment, holder)
    asking.send(refused)


def _commit(asking: Connection, store: Store, session_id: str, moment: str, holder: str) -> str:
    """The code of what refused it, or ""."""
    with open_store(store) as reader:
        basis = planning.read_basis(reader, session_id)
    plan = compaction.plan(
        list(map(message_of, basis.sent)),
        compaction.Policy(keep_last=6, tail_only=basis.tail_only, handoff="hermes"),
        compaction.counter_for(""),
    )
    edits = candidate.edits_of(basis, compaction.apply(plan, SUMMARY))
    if moment == "inside":
        for module, name in INSIDE:
            vars(module)[name] = _killing(vars(module)[name])
    asking.send("planned")
    asking.recv()
    match moment.split():
        case ["torn", share]:
            _killed_in("write", float(share))
        case ["overwritten", share]:
            _killed_in("pwrite", float(share))
        case ["steps", count]:
            _killed_in("pwrite", 1, int(count) - 1)
    try:
        writer_of(store).apply(session_id, basis.token, edits, mode="in_place", holder=holder, now=time.time())
        refused = ""
    except StoreError as problem:
        refused = problem.code
    if moment == "behind":
        os.kill(os.getpid(), signal.SIGKILL)
    return refused
