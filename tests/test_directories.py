"""What CONTRIBUTING says of where things are."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from django.conf import settings

ROOT: Path = settings.BASE_DIR
DIRECTORIES = sorted(f"viewer/{path.parent.name}/" for path in (ROOT / "viewer").glob("*/__init__.py"))


@pytest.mark.parametrize("directory", [directory for directory in DIRECTORIES if directory != "viewer/migrations/"])
def test_every_directory_is_named_and_says_what_it_is(directory: str) -> None:
    assert f"`{directory}`" in (ROOT / "CONTRIBUTING.md").read_text()
    if directory != "viewer/management/":  # Django's own layout
        assert (ROOT / directory / "__init__.py").read_text().startswith('"""')


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
    classes = Counter(name for _, code in modules() for name in re.findall(r"^ *class (\w+)[(:]", code, re.MULTILINE))
    assert [name for name, count in classes.items() if count > 1 and name not in ("Command", "Meta")] == []
    assert len(classes) > 500


IMPORTS = re.compile(r"^ *(from [.\w]+ import (?:\([^)]*\)|.*)|import [.\w]+(?: as \w+)?$)", re.MULTILINE)


@cache
def imported(path: Path) -> list[list[str]]:
    """The parts of the full names that a module of the tests imports from modules of the tests."""
    package, found = list(path.relative_to(ROOT).parts[:-1]), list[list[str]]()
    for node in ast.parse("\n".join(IMPORTS.findall(path.read_text()))).body:
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module.split(".") if node.module else []
            above = package[: len(package) + 1 - node.level] if node.level else []
            names = [[*above, *module, alias.name] for alias in node.names]
        else:
            continue
        found += [name for name in names if name[0] == "tests"]
    return found


def test_no_test_imports_another() -> None:
    importing = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("*.py")
        if any(part.startswith("test_") for name in imported(path) for part in name)
    }
    assert not importing


def test_no_directory_of_tests_imports_another() -> None:
    """What several share is in modules of `tests`, in `tests/factories` or in `tests/agents`, which import none of them
    either. Measurements, which are no tests, may take what the tests of a directory have.
    """
    tests = ROOT / "tests"
    directories = {path.relative_to(tests).parts[0] for path in tests.rglob("*/test_*.py")}
    importing = {
        (str(path.relative_to(ROOT)), ".".join(name))
        for path in tests.rglob("*.py")
        if path.parent.name != "bench"
        for name in imported(path)
        if name[1] in directories - {path.relative_to(tests).parts[0]}
    }
    assert {"store", "interop", "contract"} <= directories
    assert not importing


@pytest.mark.parametrize("directory", sorted(path.parent for path in (ROOT / "tests" / "agents").rglob("__init__.py")))
def test_every_directory_of_agents_says_what_is_in_it(directory: Path) -> None:
    told = (directory / "__init__.py").read_text()
    inside = [path.name for path in directory.glob("*.py") if path.name != "__init__.py"]
    inside += [f"{path.parent.name}/" for path in directory.glob("*/__init__.py")]
    assert not [name for name in inside if f"`{name}`" not in told]


SLOW = (
    "interop/test_hermes_words.py", "faults/test_races.py", "e2e/test_main_job.py", "pages/test_browser_steps.py",
    "postgres/test_same.py",
)  # fmt: skip
COLLECT = """
import sys, pytest

class Told:
    def pytest_collection_finish(self, session):
        for item in session.items:
            print("MARKS", item.nodeid.partition("::")[0], *{mark.name for mark in item.iter_markers()})

sys.exit(pytest.main(["-q", "--collect-only", *sys.argv[1:]], plugins=[Told()]))
"""


@pytest.mark.slow
def test_what_needs_a_browser_a_server_or_an_agent_is_slow() -> None:
    """Such files hold no test without the mark."""
    command = [sys.executable, "-c", COLLECT, *(f"tests/{file}" for file in SLOW), "-m", "slow or not slow"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tests = [line.split()[1:] for line in told.splitlines() if line.startswith("MARKS ")]
    assert {file for file, *_ in tests} == {f"tests/{file}" for file in SLOW}
    assert not [(file, marks) for file, *marks in tests if "slow" not in marks]
