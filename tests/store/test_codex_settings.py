"""When the client compacts by itself, as far as its settings tell. What it does is held in `tests/interop/codex`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.codex.by_hand import CodexByHand, agent
from viewer.stores.base import Store
from viewer.stores.registry import agent_of

__all__ = ["agent"]

WINDOW, USUAL = 258_400, 244_800


def threshold(agent: CodexByHand) -> int | None:
    return agent_of(Store("codex", agent.url, "configured")).threshold("gpt-6-sol", WINDOW)


@pytest.mark.parametrize(
    ("said", "tokens"),
    [
        (b"model_auto_compact_token_limit = 100_000\n", 100_000),
        (b"model_auto_compact_token_limit = 300_000\n", USUAL),
        *((b"model_auto_compact_token_limit = " + value, 1) for value in (b"0", b"-5")),
        (b'model = "gpt-6-sol"\n[profiles.a]\nmodel_auto_compact_token_limit = 5\n', USUAL),
        *((b"model_auto_compact_token_limit = " + value, USUAL) for value in (b'"100"', b"true", b"1.5", b"[")),
        (b"\xff\x00 = [", USUAL),
        (b"a = " + b"[" * 90_000, USUAL),
        (b"model_auto_compact_token_limit = 100\n" + b"#" * 1_000_001, USUAL),
    ],
)
def test_the_limit_that_somebody_set(agent: CodexByHand, said: bytes, tokens: int) -> None:
    assert threshold(agent) == USUAL
    (agent.root / "config.toml").write_bytes(said)
    assert threshold(agent) == tokens


def test_what_is_no_file(agent: CodexByHand, tmp_path: Path) -> None:
    (agent.root / "config.toml").mkdir()
    assert threshold(agent) == USUAL


def test_a_limit_that_was_changed_is_read_again(agent: CodexByHand) -> None:
    for limit in (50_000, 7_000):
        (agent.root / "config.toml").write_text(f"model_auto_compact_token_limit = {limit}\n")
        assert threshold(agent) == limit
