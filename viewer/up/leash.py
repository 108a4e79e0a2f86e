"""How a child process ends with its parent, gently, whichever way the parent ends.

The child's standard input is a pipe whose other end only the parent holds. One byte asks the child to end; end of file
means the parent is gone, even by SIGKILL, which no handler of the parent would see. The child is leader of a session of
its own, so that Ctrl-C in a terminal reaches the parent alone: a worker that gets a second signal ends its run
(`docs/hermes.md` section 5, process traps).
"""

import os
import signal
import threading
import time

GRACE_SECONDS = 30.0  # for a run under way once the parent is gone; one that is cut off is taken up at the next start


def hold(grace: float = GRACE_SECONDS) -> None:
    """Watch standard input from a thread: one SIGTERM to this process when asked or left alone by its parent.

    Alone, what is left of its group after `grace` seconds gets SIGKILL.
    """
    threading.Thread(target=_watch, args=(grace,), name="leash", daemon=True).start()


def _watch(grace: float) -> None:
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    while os.read(0, 1):
        pass
    time.sleep(grace)
    os.killpg(os.getpgid(0), signal.SIGKILL)
