import pytest

from tests.api.tool import Tool
from tests.runs.desk import at_once, desk, open_desk

__all__ = ["at_once", "desk", "open_desk"]


@pytest.fixture
def tool(db: None) -> Tool:
    """A tool with every scope."""
    from viewer import access  # models can be imported only once Django is set up, conftest files are read before

    return Tool(access.new_token("everything", access.SCOPES))
