"""A writer of ours in a process of its own, which is forked from one that has set Django up once."""

from __future__ import annotations

import multiprocessing

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(["tests.writer"])


class WriterProcess:
    """It has planned a compaction of a session, and commits when it is let. `moment` is when it is killed: see
    `tests.writer`.
    """

    def __init__(self, store: str, url: str, session_id: str, moment: str = "never") -> None:
        from tests import writer  # it sets Django up: conftest files are read before

        self._ours, theirs = _FORKING.Pipe()
        self._process = _FORKING.Process(target=writer.main, args=(theirs, store, url, session_id, moment))
        self._process.start()
        theirs.close()

    def __enter__(self) -> WriterProcess:
        assert self._ours.recv() == "planned"
        return self

    def __exit__(self, *_: object) -> None:
        self._ours.close()
        self._process.kill()
        self._process.join()

    def commit(self) -> None:
        """Let it commit."""
        self._ours.send("go")

    def ended(self) -> tuple[int | None, str]:
        """Its exit code, minus the signal that killed it; the code of what refused its commit, or ""."""
        try:
            refused: str = self._ours.recv()
        except EOFError:  # it was killed
            refused = ""
        self._process.join()
        return self._process.exitcode, refused
