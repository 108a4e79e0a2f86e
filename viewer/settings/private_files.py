"""Files of this site's own that nobody else on the machine may read, whoever made the directory they are in."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

BESIDE = ("", "-wal", "-shm", "-journal")  # what SQLite keeps beside a file; it makes them with the file's own mode


def keep_private(path: Path, *, make: bool = False) -> None:
    """Mode 0600 for this file and those SQLite keeps with it, as far as they are this user's. With `make` it is made,
    empty, so that it never has another mode.

    To be called before this process opens any of them: closing a file drops the locks of its connections.
    """
    if make and path.parent.is_dir():
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    for end in BESIDE:
        with suppress(OSError):
            found = os.stat(f"{path}{end}")
            if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_mode & 0o077:
                os.chmod(f"{path}{end}", 0o600)
