"""A few rounds of clients that write beside us (`beside`): `python -m tests.faults beside` has as many as wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

KINDS = ("claude-code", "codex", "openclaw-files", "pi")
SEEDS = (1, 3, 5)  # a client that writes rarely, as fast as it can, steadily; we are killed beside the first two


@pytest.mark.parametrize("kind", KINDS)
def test_every_line_of_the_client_is_there_once(kind: str, tmp_path: Path) -> None:
    from .beside import Round  # Django is set up once conftest files are read

    written = 0
    for seed in SEEDS:
        made = Round(kind, tmp_path, seed)
        assert made.run() == []
        written += made.counts["lines of the client"]
    assert written
