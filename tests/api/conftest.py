from pathlib import Path

import pytest
from pytest_django import Settings

from tests.api.room import Room, furnish
from tests.clients import Tool
from tests.factories.stores import Desk


@pytest.fixture
def room(desk: Desk, tool: Tool, tmp_path: Path, settings: Settings) -> Room:
    """A session in a workspace with rules."""
    settings.WORKSPACES = [tmp_path]
    return furnish(desk, tool, tmp_path / "ws")
