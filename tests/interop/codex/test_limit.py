"""When the real Codex compacts by itself: at the tokens that we take for its limit, and not at one less."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.interop.fetched import NotInstalled
from viewer.stores.base import Store
from viewer.stores.registry import agent_of, open_store

from .client import GPT_5, GPT_6, Client, program
from .service import Service, says

ANSWER = 10  # tokens of each answer, which count, too


def compacts_at(place: Path, model: str, settings: str, short_of: int) -> bool:
    """Whether a client compacts a session at the tokens that we say it does, or at so many less."""
    with Service() as service:
        client = Client(program(), place, service, model=model)
        config = client.home / "config.toml"
        config.write_text(settings + re.sub("model_auto_compact_token_limit.*\n", "", config.read_text()))
        session = client.start("What is in the garden?")
        store = Store("work", f"codex:///{client.home}", "configured")
        with open_store(store) as reader:
            found = reader.session(session)
        tokens = agent_of(store).threshold(found.model, found.window)
        assert tokens is not None and found.window
        service.replies += [says("A great deal.", input_tokens=tokens - ANSWER - short_of)]
        client.turn(session, "What else?")
        with open_store(store) as reader:
            assert reader.usage(session).tokens == tokens - short_of
        client.turn(session, "And now?")
        return bool(service.of("summary"))


CASES = (
    (GPT_6, ""),
    (GPT_6, "model_auto_compact_token_limit = 100000\n"),
    (GPT_6, "model_auto_compact_token_limit = 80000\nmodel_context_window = 50000\n"),
    (GPT_5, ""),
    ("nobody-knows-1", ""),
)


@pytest.mark.parametrize(("model", "settings"), CASES)
def test_the_client_compacts_where_we_say(tmp_path: Path, model: str, settings: str) -> None:
    try:
        assert compacts_at(tmp_path / "at", model, settings, 0)
        assert not compacts_at(tmp_path / "below", model, settings, 1)
    except NotInstalled as missing:
        pytest.skip(f"Codex is not here: {missing}")
