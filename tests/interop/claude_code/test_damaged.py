"""Of files that were damaged at random the real Claude Code sends what we say, or we refuse to compact them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.agents.base import Block
from tests.agents.claude_code import views
from tests.interop.fetched import NotInstalled
from tests.interop.processes import ClientFailed
from viewer.stores.base import Store
from viewer.stores.registry import open_store

from .client import Client, program
from .damage import SESSION, damaged
from .playing import NEXT
from .service import Service

SAMPLE = 12


@pytest.fixture(scope="module")
def found() -> Path:
    try:
        return program()
    except NotInstalled as missing:
        pytest.skip(f"Claude Code is not here: {missing}")


@pytest.mark.parametrize("seed", range(SAMPLE))
def test_a_damaged_session_is_read_as_it_is_sent_or_refused(found: Path, tmp_path: Path, seed: int) -> None:
    data, done = damaged(seed)
    with Service() as service:
        client = Client(found, tmp_path / "client", service)
        directory = client.config / "projects" / re.sub(r"[^a-zA-Z0-9]", "-", str(client.work))
        directory.mkdir(parents=True)
        (directory / f"{SESSION}.jsonl").write_bytes(data)
        with open_store(Store("work", f"claude-code:///{client.config}", "configured")) as reader:
            read = views.conversation(views.told(reader.live(SESSION)))
            refused = reader.refusal(SESSION)
        sent = _sent(client, service)
    assert refused is not None or sent is None or read == sent, f"{seed}: {done}"


def _sent(client: Client, service: Service) -> list[Block] | None:
    """What the client sends when it resumes the session; None where it does not open it."""
    try:
        client.run(NEXT, "--resume", SESSION)
    except ClientFailed as failed:
        assert "No conversation found" in str(failed)
        return None
    blocks = views.conversation(views.sent(service.of("turn")[0]))
    assert blocks[-1].said == NEXT
    return blocks[:-1]
