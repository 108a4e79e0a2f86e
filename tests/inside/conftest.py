"""A site that an agent can reach, and what is installed in one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from tests.inside.doors import TestDoor


@pytest.fixture
def open_door(live_server: LiveServer, settings: Settings, tmp_path: Path) -> Callable[..., TestDoor]:
    """A function that installs a door into the agent of a store, as `manage.py install` does."""
    from viewer.inside import doors
    from viewer.inside.agents.agent import InstalledAgent, Options
    from viewer.stores.base import Store

    def opened(store: Store, agent: InstalledAgent, **options: bool) -> TestDoor:
        settings.SITE_ADDRESS, settings.DATA_DIR = live_server.url, tmp_path / "site"
        doors.install(agent, store, Options(**options))
        door = TestDoor(doors.connection_file(store))
        door.change(note_seconds=60)  # no test depends on the speed of its machine
        return door

    return opened
