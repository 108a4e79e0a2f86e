"""The real client reads AGENTS.md exactly where we say so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.claude_code.project_files import NAMES, laid_out
from tests.interop.fetched import NotInstalled
from viewer.stores.base import Store
from viewer.stores.registry import agent_of

from .client import Client, program
from .scenes import new_session
from .service import Service, text_of

RULE = "Never push to main."


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with Service() as server:
        yield server


def _client(place: Path, service: Service, work: Path) -> Client:
    work.mkdir(parents=True)
    try:
        return Client(program(), place, service, work)
    except NotInstalled as missing:
        pytest.skip(f"Claude Code is not here: {missing}")


def _is_sent(client: Client) -> bool:
    client.turn(new_session(), "Hello.")
    return any(RULE in text_of(message["content"]) for message in client.service.of("turn")[-1]["messages"])


def _is_passed_over(client: Client) -> bool:
    store = Store("work", f"claude-code:///{client.config}", "configured")
    return agent_of(store).passes_over(str(client.work), "AGENTS.md")


@pytest.mark.parametrize("name", NAMES)
def test_it_reads_agents_md_where_we_say_so(name: str, service: Service, tmp_path: Path) -> None:
    client = _client(tmp_path / "client", service, tmp_path / "top" / "above" / "work")
    is_read = laid_out(name, client.work, client.config)
    assert (_is_sent(client), not _is_passed_over(client)) == (is_read, is_read)


def test_a_users_own_claude_md_counts_for_work_in_the_home_directory(service: Service, tmp_path: Path) -> None:
    client = _client(tmp_path, service, tmp_path / "home" / "work")
    client.config = tmp_path / "home" / ".claude"
    client.options = {"CLAUDE_CONFIG_DIR": ""}  # the usual one
    laid_out("with a CLAUDE.md of the user", client.work, client.config)
    assert not _is_sent(client) and _is_passed_over(client)
    (client.config / "CLAUDE.md").unlink()
    assert _is_sent(client) and not _is_passed_over(client)
