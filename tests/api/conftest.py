from pathlib import Path

import pytest
from pytest_django import Settings

from tests.api.room import Room, furnish
from tests.api.tool import Tool
from tests.runs.desk import Desk, at_once, desk, open_desk

__all__ = ["at_once", "desk", "open_desk"]


@pytest.fixture
def tool(db: None) -> Tool:
    """A tool with every scope."""
    from viewer import access  # models can be imported only once Django is set up, conftest files are read before

    return Tool(access.new_token("everything", access.SCOPES))


@pytest.fixture
def room(desk: Desk, tool: Tool, tmp_path: Path, settings: Settings) -> Room:
    """A session in a workspace with rules."""
    settings.WORKSPACES = [tmp_path]
    return furnish(desk, tool, tmp_path / "ws")
