"""Files of this site's own are for their user alone, in any directory, under any umask, also those of old versions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

LOOK = """
import os, stat, sys, django
django.setup()
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from viewer.demo import ensure_demo
call_command("migrate", verbosity=0)
ensure_demo(settings.DEMO_STORE)
with connection.cursor() as cursor:
    cursor.execute("BEGIN IMMEDIATE")
    cursor.execute("CREATE TABLE IF NOT EXISTS kept (a)")
    cursor.execute("COMMIT")
    for place, _, names in os.walk(settings.DATA_DIR):
        for name in names:
            print(name, oct(stat.S_IMODE(os.stat(os.path.join(place, name)).st_mode)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("umask", ["000", "022"])
def test_files_of_ours_are_for_their_user_alone(tmp_path: Path, umask: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(0o755)  # as made by somebody else

    def modes(program: str) -> dict[str, str]:
        shell = ["sh", "-c", f'umask {umask}; exec "$@"', "sh", sys.executable]
        environment = {**os.environ, "PALIMPSEST_DATA_DIR": str(data)}
        done = subprocess.run(
            [*shell, "-c", program], cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return dict(line.split() for line in done.stdout.splitlines())

    new = modes(LOOK)
    expected = {"secret-key", "demo.db", "palimpsest.sqlite3", "palimpsest.sqlite3-wal", "palimpsest.sqlite3-shm"}
    assert set(new) >= expected and set(new.values()) == {"0o600"}, new
    shutil.copyfile(data / "demo.db", data / "demo.db-wal")  # only its mode counts
    for path in data.glob("*.*"):
        path.chmod(0o644)  # as an older version made them
    old = modes("import django, os; django.setup(); d = os.environ['PALIMPSEST_DATA_DIR']\n"
                "for n in os.listdir(d): print(n, oct(os.stat(d + '/' + n).st_mode & 0o777))")  # fmt: skip
    assert old.pop("static") == "0o700" and set(old) >= {"demo.db", "demo.db-wal", "palimpsest.sqlite3"}
    assert set(old.values()) == {"0o600"}, old
    assert data.stat().st_mode & 0o777 == 0o755  # the directory is not ours


@pytest.mark.slow
def test_commands_make_private_files(tmp_path: Path) -> None:
    """Whatever they are: those of other processes that a command starts, too."""
    store = tmp_path / "own.db"
    environment = {
        **os.environ,
        "PALIMPSEST_DATA_DIR": str(tmp_path / "data"),
        "PALIMPSEST_STORES": f"own=sqlite:///{store}",
    }
    command = ["sh", "-c", 'umask 000; exec "$@"', "sh", sys.executable, "manage.py", "stores", "--create", "own"]
    subprocess.run(command, cwd=settings.BASE_DIR, env=environment, check=True, capture_output=True)
    assert store.stat().st_mode & 0o777 == 0o600


def test_files_of_somebody_else_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from viewer.settings.private_files import keep_private

    path = tmp_path / "own.sqlite3"
    path.touch()
    path.chmod(0o644)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    keep_private(path)
    assert path.stat().st_mode & 0o777 == 0o644
