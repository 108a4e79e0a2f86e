"""Several web servers from one process, so that what is loaded by then is in memory once.

The process that forks serves nothing, and waits for its children. It is the one on the leash; its children end when it
asks them, or within a second of its own end (`server.Server.maintenance`).
"""

from __future__ import annotations

import gc
import os
import signal
import sys

from compaction import tokens


def fork(count: int) -> int:
    """Return in each of `count` child processes, with the id of their parent, which never returns.

    No database may be open: SQLite's locks are those of one process. A child that is killed is replaced at once. One
    that ends otherwise ends all, and its exit code is the parent's.
    """
    tokens.load(tokens.DEFAULT_ENCODING)  # the largest thing that each of them would load
    gc.collect()
    gc.freeze()
    parent, children = os.getpid(), set[int]()
    try:
        while True:
            while len(children) < count:
                child = os.fork()
                if not child:
                    return parent
                children.add(child)
            ended, status = os.wait()
            children.discard(ended)
            code = os.waitstatus_to_exitcode(status)
            if code != -signal.SIGKILL:
                break
            print("A server was killed; starting it again now.", file=sys.stderr, flush=True)
    except SystemExit:
        if os.getpid() != parent:
            raise
        code = 0
    _end(children)
    raise SystemExit(code if code >= 0 else 128 - code)


def _end(children: set[int]) -> None:
    while children:
        child = children.pop()
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
