"""A few rounds of clients that write beside us (`beside`): `python -m tests.faults beside` has as many as wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slow import slow

KINDS = ("claude-code", "codex", "openclaw-files", "pi")


@pytest.mark.parametrize(("kind", "rounds"), [*((kind, 2) for kind in KINDS), *slow(*((kind, 30) for kind in KINDS))])
def test_every_line_of_the_client_is_there_once(kind: str, rounds: int, tmp_path: Path) -> None:
    from .beside import Round  # Django is set up once conftest files are read

    for seed in range(rounds):
        made = Round(kind, tmp_path, seed)
        assert made.run() == []
        assert made.counts["lines of the client"]
