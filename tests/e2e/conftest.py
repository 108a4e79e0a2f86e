"""Static files are collected and compressed by the first site that is started, which takes longer than all the rest."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

MADE = ("static", "static.stamp")


@pytest.fixture(scope="session")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first of them collected."""
    return tmp_path_factory.mktemp("collected")


@pytest.fixture(autouse=True)
def collected_once(collected: Path, tmp_path: Path) -> Iterator[None]:
    """The data directory of a test's site begins with them."""
    _copy(collected, tmp_path / "data")
    yield
    if not (collected / MADE[-1]).exists():
        _copy(tmp_path / "data", collected)


def _copy(one: Path, other: Path) -> None:
    if (one / MADE[-1]).exists():
        shutil.copytree(one / "static", other / "static")
        shutil.copy(one / MADE[-1], other)
