"""What is written into Codex' settings, and when it is not."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from viewer.inside.agents.agent import DoorOptions, Way
from viewer.inside.agents.codex import AGENT
from viewer.inside.changes import NotInstallable
from viewer.inside.writing import planned

WAY = Way(("/a b/python", "door.py", 'c"onnection'), ("python", "door.py", "mcp"))


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Codex is on this machine."""
    monkeypatch.setenv("PATH", "/nowhere")


def _after(home: Path, options: DoorOptions = DoorOptions()) -> str:  # noqa: B008  # it is frozen
    (file,) = planned(AGENT.changes(home, home / "own", WAY, options))
    return file.after


def test_the_hook_and_the_server_are_added(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('model = "gpt-6"\n[[hooks.SessionStart]]\nmatcher = "startup"\n')
    after = tomllib.loads(_after(tmp_path))
    assert after["model"] == "gpt-6"
    other, ours = after["hooks"]["SessionStart"]
    assert (other["matcher"], ours["matcher"]) == ("startup", "resume|compact")
    assert ours["hooks"][0]["command"] == "'/a b/python' door.py 'c\"onnection' SessionStart"
    assert after["mcp_servers"]["palimpsest"]["args"] == ["door.py", "mcp"]
    assert set(after["hooks"]) == {"SessionStart"}, "a hook for each prompt would stay in the history each time"


def test_what_is_not_wanted_is_not_added(tmp_path: Path) -> None:
    assert "hooks" not in _after(tmp_path, DoorOptions(notes=False))
    assert "mcp_servers" not in _after(tmp_path, DoorOptions(recall=False))


def test_where_codex_is_not_here_a_person_trusts_the_hook(tmp_path: Path) -> None:
    assert "trusted_hash" not in _after(tmp_path)
    (step,) = AGENT.next_steps(tmp_path, DoorOptions())
    assert "/hooks" in step
    (step,) = AGENT.next_steps(tmp_path, DoorOptions(notes=False))
    assert "/hooks" not in step


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ('[mcp_servers.palimpsest]\ncommand = "mine"\n', "which is not ours"),
        ("model = \n", "not valid TOML"),
        ("hooks = {}\n", "would not be valid TOML"),
    ],
)
def test_what_cannot_be_added_to_is_refused(settings: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(settings)
    with pytest.raises(NotInstallable, match=reason):
        _after(tmp_path)
