"""Changes to an agent's own files: written as they were shown, and taken out again without a trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from viewer.inside import writing
from viewer.inside.changes import Change, JsonItem, NewFile, NotInstallable, TextBlock, YamlItem

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
    (home / "a" / "b" / "__pycache__").mkdir()
    (home / "a" / "b" / "__pycache__" / "c.pyc").write_text("compiled")
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


def test_a_file_with_comments_is_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{\n  // mine\n  plugins: {},\n}\n")
    changes = [
        JsonItem(str(path), ("plugins", "paths"), "/a", in_list=True),
        JsonItem(str(path), ("plugins", "ours"), {"on": True}),
    ]
    with pytest.raises(NotInstallable) as refused:
        writing.planned(changes)
    shown = refused.value.message
    assert json.loads(shown[shown.index("{") :]) == {"plugins": {"paths": ["/a"], "ours": {"on": True}}}
    path.write_text(by_hand := "{\n  // mine\n  plugins: {paths: ['/b', '/a'], ours: {on: true}},\n}\n")
    written = _write(tmp_path, *changes)
    assert path.read_text() == by_hand
    (remark,) = writing.take_back(written)
    assert "by hand" in remark and path.read_text() == by_hand
    path.write_text(by_hand + "// more\n")
    assert "by hand" in writing.take_back(written)[0]


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
    _write(tmp_path, TextBlock(str(path), "[one]"))
    _write(tmp_path, TextBlock(str(path), "[two]"))
    assert "[one]" not in path.read_text() and "[two]" in path.read_text()


PLUGIN = ("plugins", "enabled"), "palimpsest", True, None
ENGINE = ("context", "engine"), "palimpsest", False, "compressor"
SERVER = ("mcp_servers", "palimpsest"), {"command": "a b", "args": ["c: d", "#e"]}, False, None


@pytest.mark.parametrize(
    ("text", "added", "item"),
    [
        ("", "plugins:\n  enabled:\n  - palimpsest\n", PLUGIN),
        ("# mine\n", "plugins:\n  enabled:\n  - palimpsest\n", PLUGIN),
        ("a: 1", "\nplugins:\n  enabled:\n  - palimpsest\n", PLUGIN),
        ("a: 1\r\n", "plugins:\r\n  enabled:\r\n  - palimpsest\r\n", PLUGIN),
        ("plugins: # of mine\n\na: 'x' # y\n", "  enabled:\n  - palimpsest\n", PLUGIN),
        ("plugins:\n    # not this\n    disabled: [x]\n\n# b\nb: 1\n", "    enabled:\n    - palimpsest\n", PLUGIN),
        ("plugins:\n  enabled:\n    - x # one\n\n# b\nb: 1\n", "    - palimpsest\n", PLUGIN),
        ("plugins:\n  enabled:\n  - x\n  disabled:\n  - y\n", "  - palimpsest\n", PLUGIN),
        ("plugins:\n  enabled:\nb: 1\n", "    - palimpsest\n", PLUGIN),
        ("plugins: {enabled: [x, 'y']} # z\n", ', "palimpsest"', PLUGIN),
        ("plugins: {enabled: [x,\n  y,\n]}\n", ' "palimpsest"', PLUGIN),
        ("plugins: {enabled: []}\n", '"palimpsest"', PLUGIN),
        ("plugins: {}\n", '"enabled": ["palimpsest"]', PLUGIN),
        ('{"model": {"a": 1}}', '"plugins": {"enabled": ["palimpsest"]}, ', PLUGIN),
        ("context: # c\n  x: 1\n", "  engine: palimpsest\n", ENGINE),
        ("mcp_servers:\n  # d\n  other:\n    command: x\n", "  palimpsest:\n    command: a b\n", SERVER),
    ],
)
def test_yaml_keeps_every_other_byte(text: str, added: str, item: tuple[Any, ...], tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(text.encode())
    change = YamlItem(str(path), *item)
    written = _write(tmp_path, change)
    now = path.read_bytes().decode()
    assert added in now
    at: Any = yaml.safe_load(now)
    for key in change.keys:
        at = at[key]
    assert (change.value in at) if change.in_list else at == change.value
    rest = iter(now)
    assert all(letter in rest for letter in text), "nothing of it is gone"
    assert writing.planned([change])[0].after == now, "what is there already is not added again"
    taken = change.taken(now)
    assert taken is not None and (yaml.safe_load(taken) or {}) == _filled(yaml.safe_load(text) or {})
    path.write_bytes((now.rstrip() if now.startswith("{") else now + "more: 1\n").encode())
    writing.take_back(written)
    assert "palimpsest" not in path.read_text()


def _filled(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without keys that have nothing below them: they go with what is put there."""
    below = {key: _filled(value) if isinstance(value, dict) else value for key, value in settings.items()}
    return {key: value for key, value in below.items() if value not in ({}, [], None)}


def test_a_yaml_value_that_is_the_default_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    text = "context:\n  engine: 'compressor'  # theirs\n  more: 1\n"
    path.write_text(text)
    written = _write(tmp_path, YamlItem(str(path), *ENGINE))
    assert path.read_text() == text.replace("'compressor'", '"palimpsest"')
    writing.take_back(written)
    assert path.read_text() == text
    written = _write(tmp_path, YamlItem(str(path), *ENGINE))
    path.write_text(path.read_text() + "b: 2\n")
    writing.take_back(written)
    assert path.read_text() == "context:\n  more: 1\nb: 2\n"


def test_several_yaml_items_go_again_without_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    text = "# Zoë\nplugins: {enabled: [x]}\n\nmodel:\n  default: m\n"
    path.write_text(text)
    written = _write(tmp_path, *(YamlItem(str(path), *item) for item in (PLUGIN, ENGINE, SERVER)))
    assert yaml.safe_load(path.read_text())["mcp_servers"]["palimpsest"]["args"] == ["c: d", "#e"]
    path.write_text(path.read_text() + "b: 2\n")
    assert len(writing.take_back(written)) == 1
    assert path.read_text() == text + "b: 2\n"


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("context:\n  engine: lcm\n", ENGINE),
        ("plugins: {enabled: x}\n", PLUGIN),
        ("plugins: [x]\n", PLUGIN),
        ("plugins: null\n", PLUGIN),
        ("a: &x {enabled: [b]}\nplugins: *x\n", PLUGIN),
        ("a: 1\n...\n", PLUGIN),
        ("a: 1\n---\nb: 1\n", PLUGIN),
        ("- a\n", PLUGIN),
        ("a: [\n", PLUGIN),
        ("a: !!python/object:os.system {}\n", PLUGIN),
        ("plugins:\n  enabled: [x, # y\n  ]\n", PLUGIN),
    ],
)
def test_yaml_that_cannot_be_changed_safely_is_not(text: str, item: tuple[Any, ...], tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(NotInstallable):
        writing.planned([YamlItem(str(path), *item)])
    assert path.read_text() == text


def test_what_is_to_be_pasted_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("a: &x {enabled: [b]}\nplugins: *x\n")
    with pytest.raises(NotInstallable, match="plugins:\n  enabled:\n  - palimpsest"):
        writing.planned([YamlItem(str(path), *PLUGIN)])


def test_what_an_agent_adds_inside_of_our_block_stays(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("a = 1\n")
    written = _write(tmp_path, TextBlock(str(path), "[ours]\nb = 2\n\n[ours.too]\nc = 3"))
    added = '[projects."/work"]\ntrust_level = "trusted"\n\n[ours.too]'
    path.write_text(path.read_text().replace("[ours.too]", added).replace("c = 3", "c = 4"))
    writing.take_back(written)
    assert path.read_text() == 'a = 1\n\n[projects."/work"]\ntrust_level = "trusted"\n'


def test_where_one_file_cannot_be_written_the_others_are_as_before(tmp_path: Path) -> None:
    settings, blocked = tmp_path / "settings.json", tmp_path / "file"
    settings.write_text(SETTINGS)
    blocked.write_text("in the way")
    first, second = JsonItem(str(settings), ("a",), 1), NewFile(str(tmp_path / "new" / "below"), "x")
    files = writing.planned([first, second])
    (tmp_path / "new").write_text("in the way")
    with pytest.raises(NotInstallable):
        writing.write(files, tmp_path / "copies")
    assert settings.read_text() == SETTINGS
