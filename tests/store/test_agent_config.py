"""The agent's own threshold and time zone, as its `config.yaml` beside the store says it."""

from __future__ import annotations

import os
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.factories.stores import store_at
from viewer.stores.base import Store
from viewer.stores.hermes import agent_config


@pytest.fixture
def store(tmp_path: Path) -> Store:
    path = tmp_path / "state.db"
    path.write_bytes(b"")
    return store_at(path)


def threshold(store: Store, config: str | bytes | None, window: int = 200_000, model: str = "gpt-5") -> int | None:
    if config is not None:
        store.path.with_name("config.yaml").write_bytes(config.encode() if isinstance(config, str) else config)
    return agent_config.threshold(store, model, window)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (1_000_000, 500_000),
        (512_000, 256_000),
        (511_999, 383_999),
        (200_000, 150_000),
        (80_000, 64_000),
        (75_000, 63_750),
        (64_000, 54_400),
        (8_000, 6_800),
    ],
)
def test_without_a_configuration_its_defaults_count(store: Store, window: int, expected: int) -> None:
    assert threshold(store, None, window) == expected


@pytest.mark.parametrize(
    ("section", "window", "expected"),
    [
        ("threshold: 0.6", 1_000_000, 600_000),
        ("threshold: '0.6'", 1_000_000, 600_000),
        ("threshold: 0.6", 200_000, 150_000),
        ("threshold: 0.9", 200_000, 180_000),
        ("threshold: 1.5", 200_000, 170_000),
        ("threshold_tokens: 90000", 200_000, 90_000),
        ("threshold_tokens: 900000", 200_000, 150_000),
        ("threshold_tokens: null", 200_000, 150_000),
        ("model_thresholds: {gpt: 0.8, gpt-5: 0.9, claude: 0.95}", 200_000, 180_000),
        ("model_thresholds: {claude: 0.95}", 200_000, 150_000),
        ("{threshold: 0.6, model_thresholds: {gpt: 0.7}}", 1_000_000, 700_000),
        ("model_thresholds: {'openai:gpt-5': 0.9}", 200_000, 150_000),
        ("enabled: false", 200_000, None),
        ("enabled: 'off'", 200_000, None),
        ("enabled: true", 200_000, 150_000),
    ],
)
def test_what_is_configured_counts(store: Store, section: str, window: int, expected: int | None) -> None:
    assert threshold(store, f"model: x\ncompression:\n  {section}\n", window) == expected


@pytest.mark.parametrize(
    "config",
    [
        "",
        "just text",
        "- a list",
        "compression: 0.9",
        "compression: [0.9]",
        "compression: {threshold: much}",
        "compression: {threshold: [0.9]}",
        "compression: {threshold: -1}",
        "compression: {threshold: .nan}",
        "compression: {threshold: .inf}",
        "compression: {threshold: true}",
        "compression: {threshold_tokens: 0}",
        "compression: {model_thresholds: 0.9}",
        "compression: {model_thresholds: {gpt: much}}",
        "compression: {threshold: 0.9",
        "compression: !!python/object/apply:os.system [exit]",
        "compression: {threshold: 2001-99-99}",
        b"\xff\xfe\x00 \x00",
        "[" * 190_000,
        "a: &a [x, x]\n" + "\n".join(f"b{n}: &b{n} [*{'a' if not n else f'b{n - 1}'}, *a]" for n in range(40)),
        "compression: {threshold: 0.9}\n" + "# padding\n" * 20_000,
    ],
    ids=lambda config: str(config)[:30],
)
def test_whatever_else_is_in_the_file_the_defaults_count(store: Store, config: str | bytes) -> None:
    assert threshold(store, config) == 150_000


def test_a_file_that_changes_is_read_again(store: Store) -> None:
    assert threshold(store, "compression: {threshold: 0.8}") == 160_000
    assert threshold(store, "compression: {threshold: 0.90}") == 180_000


def test_a_symlink_is_followed_and_the_store_itself_is_never_opened(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, link = tmp_path / "elsewhere.yaml", tmp_path / "config.yaml"
    real.write_text("compression: {threshold: 0.9}")
    link.symlink_to(real)
    assert threshold(store, None) == 180_000
    link.unlink()
    store.path.write_text("compression: {threshold: 0.8}")
    link.symlink_to(store.path)
    assert threshold(store, None) == 150_000
    link.unlink()
    os.mkfifo(link)
    assert threshold(store, None) == 150_000, "a pipe would never end"
    link.unlink()
    link.mkdir()
    assert threshold(store, None) == 150_000


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("timezone: Asia/Kolkata", ZoneInfo("Asia/Kolkata")),
        ("timezone: ' Europe/Berlin '\ncompression: {threshold: 0.9}", ZoneInfo("Europe/Berlin")),
        (None, None),
        ("model: x", None),
        ("timezone: ''", None),
        ("timezone:", None),
        ("timezone: 5", None),
        ("timezone: [Europe/Berlin]", None),
        ("timezone: Middle/Earth", None),
        ("timezone: Europe", None),
        ("timezone: ../../../etc/passwd", None),
        ("timezone: /usr/share/zoneinfo/Europe/Berlin", None),
        ('timezone: "a\\0b"', None),
        ("timezone: Europe/Berlin\n- no yaml", None),
        ("- timezone", None),
    ],
)
def test_the_zone_it_names_counts_if_there_is_such_a_zone(
    store: Store, config: str | None, expected: ZoneInfo | None
) -> None:
    if config is not None:
        store.path.with_name("config.yaml").write_text(config)
    assert agent_config.zone(store) == expected


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("{default: gpt-5, context_length: 64000}", 64_000),
        ("{default: gpt-5, context_length: '64000'}", 64_000),
        ("{default: gpt-5, context_length: 256K}", 0),
        ("{default: gpt-5, context_length: true}", 0),
        ("{default: gpt-5, context_length: -5}", 0),
        ("{default: other, context_length: 64000}", 0),
        ("{context_length: 64000}", 0),
        ("{default: gpt-5}", 0),
        ("gpt-5", 0),
        ("", 0),
    ],
)
def test_the_window_that_somebody_configured_for_the_model_counts(store: Store, section: str, expected: int) -> None:
    assert agent_config.window(store, "gpt-5") == 0
    store.path.with_name("config.yaml").write_text(f"model: {section}")
    assert agent_config.window(store, "gpt-5") == expected


def test_a_store_on_a_server_has_no_configuration_beside_it() -> None:
    server = Store("pg", "postgres://me@host/db", "configured")
    assert agent_config.zone(server) is None
    assert agent_config.threshold(server, "gpt-5", 200_000) == 150_000
