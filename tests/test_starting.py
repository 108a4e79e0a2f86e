"""What `manage.py up` refuses before it starts anything, and what it says of the stores."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import Settings

from tests.processes import free_port
from viewer.serve.prepare import CannotStart, check_stores


def refusal() -> str:
    """What `up` says when it does not start."""
    with pytest.raises(SystemExit) as refused:
        call_command("up")
    return str(refused.value.code)


def test_busy_port(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings.HOST, settings.PORT = taken.getsockname()
        assert refusal() == f"Port {settings.PORT} on 127.0.0.1 is in use: set PORT to another one."


@pytest.mark.parametrize(
    ("host", "said"), [("192.0.2.1", "is not an address of this machine"), ("no.such.invalid", "is not known")]
)
def test_host_of_another_machine(settings: Settings, host: str, said: str) -> None:
    settings.HOST, settings.PORT = host, free_port()
    assert refusal().startswith(f"HOST {host} {said}: ")


def test_missing_store_file(settings: Settings, tmp_path: Path) -> None:
    missing = tmp_path / "state.db"
    settings.STORES = {"work": f"sqlite:///{missing}"}
    with pytest.raises(CannotStart) as refused:
        check_stores()
    assert str(refused.value) == f"Store work: there is no file {missing}. Correct PALIMPSEST_STORES."
    assert not missing.exists()


def test_an_address_of_no_kind(settings: Settings, tmp_path: Path) -> None:
    settings.STORES = {"work": f"parchment:///{tmp_path}"}
    with pytest.raises(CannotStart) as refused:
        check_stores()
    assert str(refused.value) == f"PALIMPSEST_STORES: no kind of store has addresses like parchment:///{tmp_path}."


def test_stores_command_says_what_works_and_why_not(
    own_databases: Callable[..., Path], capsys: pytest.CaptureFixture[str], settings: Settings
) -> None:
    listed = {f"v{version}": f"sqlite:///{own_databases(version, small=True)}" for version in (16, 31)}
    settings.STORES = listed | {"gone": "sqlite:////nowhere/state.db"}
    call_command("stores")
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "schema 16, " in lines["v16"]
    assert "cannot compact: " in lines["v16"]
    assert lines["v31"].endswith("can compact")
    assert "not open: " in lines["gone"]
    assert "demo" in lines
