"""What a writer in a process of its own does (`writer_process`): it plans, and commits when it is let.

MOMENT says when it is killed: "inside" the commit's transaction, "behind" it, or "never". Of a file of lines also while
they are appended: "torn 3 0.5" is half of the fourth line; and of bytes that are overwritten then: "letters 2" is
behind two of them, "overwritten 0.5" behind half of the first ones. Then it says what refused it, or nothing.
"""

from __future__ import annotations

import os
import signal
import time
from multiprocessing.connection import Connection
from typing import Any

import django

from viewer import holders

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "viewer.settings")
django.setup()

import compaction  # noqa: E402  # Django is set up by the line above
from viewer.errors import StoreError  # noqa: E402
from viewer.runs import candidate, planning  # noqa: E402
from viewer.stores.base import Store  # noqa: E402
from viewer.stores.claude_code import lines  # noqa: E402
from viewer.stores.codex import lines as codex_lines  # noqa: E402
from viewer.stores.hermes import writing  # noqa: E402
from viewer.stores.message import message_of  # noqa: E402
from viewer.stores.openclaw import new_entries  # noqa: E402
from viewer.stores.registry import open_store, writer_of  # noqa: E402

SUMMARY = "## Goal\nFinish."
# In the middle of each kind's commit: rows are inserted and not committed, lines are made and not appended.
INSIDE: list[tuple[Any, str]] = [
    (writing, "insert_block"),
    (lines, "encoded"),
    (codex_lines, "encoded"),
    (new_entries, "encoded"),
]


def _killing(plain: Any) -> Any:
    """The function, behind which this process is killed."""

    def killed(*given: Any) -> Any:
        plain(*given)
        os.kill(os.getpid(), signal.SIGKILL)

    return killed


def _tear(line: int, share: float) -> None:
    """Be killed when so many lines are written, and of the next one this share."""
    plain = os.write

    def write(descriptor: int, data: bytes) -> int:
        whole = data.splitlines(keepends=True)
        plain(descriptor, b"".join([*whole[:line], whole[line][: int(len(whole[line]) * share)]]))
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    vars(os)["write"] = write


def _stop_at(letters: int) -> None:
    """Be killed when so many bytes are overwritten."""
    plain, left = os.pwrite, list(range(letters))

    def pwrite(descriptor: int, data: bytes, offset: int) -> int:
        written = plain(descriptor, data, offset) if left else 0
        if not left[1:]:
            os.kill(os.getpid(), signal.SIGKILL)
        left.pop()
        return written

    vars(os)["pwrite"] = pwrite


def _stop_in(share: float) -> None:
    """Be killed when this share of what is overwritten first is."""
    plain = os.pwrite

    def pwrite(descriptor: int, data: bytes, offset: int) -> int:
        plain(descriptor, data[: int(len(data) * share)], offset)
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    vars(os)["pwrite"] = pwrite


def main(asking: Connection, name: str, url: str, session_id: str, moment: str) -> None:
    """Plan; commit when asked to; answer with the code of what refused it, or ""."""
    store, holder = Store(name, url, "configured"), holders.new_holder()
    writer = writer_of(store)
    writer.take_lock(session_id, holder)
    writer.take_lease(session_id, holder)
    with open_store(store) as reader:
        basis = planning.read_basis(reader, session_id)
    plan = compaction.plan(
        list(map(message_of, basis.sent)),
        compaction.Policy(keep_last=6, tail_only=basis.tail_only),
        compaction.counter_for(""),
    )
    edits = candidate.edits_of(basis, compaction.apply(plan, SUMMARY))
    if moment == "inside":
        for module, name in INSIDE:
            vars(module)[name] = _killing(vars(module)[name])
    asking.send("planned")
    asking.recv()
    match moment.split():
        case ["torn", line, share]:
            _tear(int(line), float(share))
        case ["letters", count]:
            _stop_at(int(count))
        case ["overwritten", share]:
            _stop_in(float(share))
    try:
        writer.apply(session_id, basis.token, edits, mode="in_place", holder=holder, now=time.time())
        refused = ""
    except StoreError as problem:
        refused = problem.code
    if moment == "behind":
        os.kill(os.getpid(), signal.SIGKILL)
    writer.release_quietly(session_id, holder)
    asking.send(refused)
