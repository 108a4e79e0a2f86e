"""Programs of agents that npm fetches once, for all tests that ever run; they are kept in the cache directory."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

WAIT = 180.0  # seconds that a program may take to say its version
FETCH = 600.0  # seconds that npm may take
_WHOLE: set[Path] = set()  # programs that were looked at before: to say its version takes one a second


class NotInstalled(Exception):
    """The program cannot be had here, and why."""


def fetched(home_name: str, inside: str, version: str, fetch: Callable[[Path], None]) -> Path:
    """The program at `inside` a directory of the cache, which `fetch` fills if it is not whole. Raises NotInstalled."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise NotInstalled(f"the program is one for linux on x86_64, and this is {sys.platform}")
    cache = Path(os.environ.get("PALIMPSEST_CACHE_DIR") or _user_cache() / "palimpsest")
    cache.mkdir(parents=True, exist_ok=True)
    home = cache / home_name
    if home / inside in _WHOLE:
        return home / inside
    with open(f"{home}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # parallel test runs share the cache
        if not _is_whole(home / inside, version):
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            try:
                fetch(home)
            except BaseException:
                shutil.rmtree(home, ignore_errors=True)
                raise
    _WHOLE.add(home / inside)
    return home / inside


def npm(*arguments: str | Path) -> str:
    """What npm prints. Raises NotInstalled where there is none, or it fails."""
    found = shutil.which("npm")
    if found is None:
        raise NotInstalled("there is no npm")
    done = subprocess.run([found, *arguments], capture_output=True, text=True, timeout=FETCH)
    if done.returncode:
        raise NotInstalled(f"npm {' '.join(map(str, arguments))}: {done.stderr.strip()[-400:]}")
    return done.stdout


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _is_whole(program: Path, version: str) -> bool:
    """Whether the program is there and runs; its package is unpacked file by file."""
    if not program.exists():
        return False
    with tempfile.TemporaryDirectory(prefix="palimpsest-program-") as home:
        told = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=WAIT, env={"PATH": os.defpath, "HOME": home}
        )
    return told.returncode == 0 and version in f"{told.stdout} {told.stderr}".split()  # pi says it on the latter
