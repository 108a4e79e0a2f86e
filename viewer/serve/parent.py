"""How a child process learns that it must end, even if its parent was killed by SIGKILL, which cannot be caught."""

import os
import signal
import threading


def end_with_it() -> None:
    """Send this process one SIGTERM when standard input ends: a pipe whose other end only the parent has."""
    threading.Thread(target=_watch, name="parent", daemon=True).start()


def _watch() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
