"""What CONTRIBUTING says of where things are."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from django.conf import settings

ROOT: Path = settings.BASE_DIR
ROOMS = sorted(f"viewer/{path.parent.name}/" for path in (ROOT / "viewer").glob("*/__init__.py"))


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "viewer/migrations/"])
def test_every_room_is_named_and_says_what_it_is(room: str) -> None:
    assert f"`{room}`" in (ROOT / "CONTRIBUTING.md").read_text()
    if room != "viewer/management/":  # Django's own layout
        assert (ROOT / room / "__init__.py").read_text().startswith('"""')


@pytest.mark.parametrize("folder", sorted(path.parent for path in (ROOT / "viewer" / "pages").glob("*/__init__.py")))
def test_every_folder_of_pages_says_what_people_see(folder: Path) -> None:
    assert (folder / "__init__.py").read_text().startswith('"""')


def modules() -> Iterator[tuple[Path, str]]:
    """The code of the site and the engine, without what Django generates."""
    for path in chain((ROOT / "viewer").rglob("*.py"), (ROOT / "compaction").rglob("*.py")):
        if "migrations" not in path.parts:
            yield path, path.read_text()


def test_no_two_classes_share_a_name() -> None:
    """But for those that Django looks up by name."""
    classes = Counter(
        node.name
        for _, code in modules()
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.ClassDef) and node.name not in ("Command", "Meta")
    )
    assert not [name for name, count in classes.items() if count > 1]


def test_no_test_imports_another() -> None:
    """What tests share is in modules of `tests`, in `tests/factories` and `tests/agents`, or beside the tests of one
    directory.
    """
    importing = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[-1].startswith("test_")
    }
    assert not importing


NEEDS = {
    "interop/test_hermes_words.py": "interop",
    "faults/test_races.py": "faults",
    "e2e/test_main_job.py": "e2e",
    "pages/test_browser_steps.py": "browser",
}
COLLECT = """
import sys, pytest

class Told:
    def pytest_collection_finish(self, session):
        for item in session.items:
            print("MARKS", item.nodeid.partition("::")[0], *{mark.name for mark in item.iter_markers()})

sys.exit(pytest.main(["-q", "--collect-only", *sys.argv[1:]], plugins=[Told()]))
"""


def test_what_tests_need_can_be_left_out_by_its_mark() -> None:
    """Such files hold no test without the mark."""
    command = [sys.executable, "-c", COLLECT, *(f"tests/{file}" for file in NEEDS)]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tests = [line.split()[1:] for line in told.splitlines() if line.startswith("MARKS ")]
    assert {file for file, *_ in tests} == {f"tests/{file}" for file in NEEDS}
    assert not [(file, marks) for file, *marks in tests if NEEDS[file.removeprefix("tests/")] not in marks]
