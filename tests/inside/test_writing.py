"""Changes to an agent's own files: written as they were shown, and taken out again without a trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from viewer.inside import writing
from viewer.inside.writing import Change, JsonItem, NewFile, NotInstallable, TextBlock

SETTINGS = '{\n    "model": "opus",\n    "hooks": {"Stop": [1]},\n    "name": "Zoë"\n}\n'


def _write(tmp_path: Path, *changes: Change) -> list[dict[str, Any]]:
    return writing.write(writing.planned(changes), tmp_path / "copies")


def test_a_file_gets_its_earlier_bytes_back(tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text(SETTINGS)
    settings.chmod(0o640)
    change = JsonItem(str(settings), ("hooks", "Start"), {"command": "door"}, in_list=True)
    (file,) = writing.planned([change])
    assert '+      "Start": [' in file.diff.replace("    ", "  ") or "Start" in file.diff
    written = _write(tmp_path, change)
    assert settings.read_text() == file.after
    assert json.loads(file.after)["hooks"] == {"Stop": [1], "Start": [{"command": "door"}]}
    assert "Zoë" in file.after and settings.stat().st_mode & 0o777 == 0o640
    assert writing.take_back(written) == []
    assert settings.read_text() == SETTINGS


def test_what_others_wrote_since_stays(tmp_path: Path) -> None:
    settings, config = tmp_path / "settings.json", tmp_path / "config.toml"
    settings.write_text(SETTINGS)
    config.write_text('model = "gpt"\n')
    written = _write(
        tmp_path,
        JsonItem(str(settings), ("servers", "palimpsest"), {"command": "door"}),
        TextBlock(str(config), "[servers.palimpsest]\ncommand = 'door'"),
    )
    changed = json.loads(settings.read_text()) | {"model": "haiku"}
    settings.write_text(json.dumps(changed, indent=4, ensure_ascii=False))
    config.write_text(config.read_text() + "[more]\n")
    assert len(writing.take_back(written)) == 2, "it says that both had been changed"
    assert json.loads(settings.read_text()) == json.loads(SETTINGS) | {"model": "haiku"}
    assert config.read_text() == 'model = "gpt"\n[more]\n'


def test_new_files_and_directories_go_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    written = _write(tmp_path, NewFile(str(home / "a" / "b" / "c.js"), "x"), NewFile(str(home / "a" / "d"), "y"))
    assert (home / "a" / "b" / "c.js").read_text() == "x"
    assert writing.take_back(written) == [] and list(home.iterdir()) == []


def test_somebody_elses_file_in_our_directory_stays(tmp_path: Path) -> None:
    written = _write(tmp_path, NewFile(str(tmp_path / "a" / "b"), "x"))
    (tmp_path / "a" / "mine").write_text("y")
    writing.take_back(written)
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["mine"]


def test_a_removed_file_needs_nothing(tmp_path: Path) -> None:
    written = _write(tmp_path, NewFile(str(tmp_path / "b"), "x"))
    (tmp_path / "b").unlink()
    assert writing.take_back(written) == []


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("{ // mine\n}", JsonItem("", ("a",), 1)),
        ("[]", JsonItem("", ("a",), 1)),
        ('{"a": 2}', JsonItem("", ("a",), 1)),
        ('{"a": 2}', JsonItem("", ("a", "b"), 1)),
        ('{"a": 2}', JsonItem("", ("a",), 1, in_list=True)),
        ("mine", NewFile("", "x")),
    ],
    ids=["comments", "no object", "another value", "no object below", "no list", "another file"],
)
def test_what_is_not_ours_is_not_written_to(text: str, change: Change, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(NotInstallable):
        writing.planned([type(change)(**{**{n: getattr(change, n) for n in change.__slots__}, "path": str(path)})])
    assert path.read_text() == text


def test_a_file_that_was_changed_since_it_was_shown_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(SETTINGS)
    files = writing.planned([JsonItem(str(path), ("a",), 1), NewFile(str(tmp_path / "new"), "x")])
    path.write_text("{}")
    with pytest.raises(NotInstallable):
        writing.write(files, tmp_path / "copies")
    assert path.read_text() == "{}" and not (tmp_path / "new").exists()


def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "settings.json").write_text("{}")
    (tmp_path / "settings.json").symlink_to(tmp_path / "dotfiles" / "settings.json")
    written = _write(tmp_path, JsonItem(str(tmp_path / "settings.json"), ("a",), 1))
    assert (tmp_path / "settings.json").is_symlink()
    assert json.loads((tmp_path / "dotfiles" / "settings.json").read_text()) == {"a": 1}
    writing.take_back(written)
    assert (tmp_path / "dotfiles" / "settings.json").read_text() == "{}"


def test_a_block_is_replaced_by_a_newer_one(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("a = 1\n")
    first = _write(tmp_path, TextBlock(str(path), "[one]"))
    _write(tmp_path, TextBlock(str(path), "[two]"))
    assert "[one]" not in path.read_text() and "[two]" in path.read_text()
    writing.take_back(first)
    assert path.read_text() == "a = 1\n"
