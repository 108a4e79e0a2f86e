"""Runs of the agents' own programs: they end with the tests, and with what they started."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

WAIT = 180.0  # seconds for one turn: a busy machine takes three for what an idle one does in less than one
Command = Sequence[str | Path]

# It ends with the thread that started it, also where the tests are killed: it would go on to ask for its model.
WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--") if shutil.which("setpriv") else ()


class ClientFailed(Exception):
    """A run that did not end as asked, with what it wrote."""


def run(command: Command, work: Path, environment: Mapping[str, str], wait: float = WAIT) -> str:
    """What one run prints, which may take so many seconds. Raises ClientFailed."""
    with subprocess.Popen(
        [*WITH_PARENT, *command], cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            printed, complained = process.communicate(timeout=wait)
        except BaseException:
            end(process, patience=0)
            raise
    if process.returncode:
        raise ClientFailed(f"{' '.join(map(str, command))}: exit {process.returncode}\n{printed}{complained}")
    return printed


def end(process: subprocess.Popen[str] | subprocess.Popen[bytes], patience: float = 10.0) -> None:
    """Wait for a process that was asked to end; kill it with all that it started if it does not."""
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
