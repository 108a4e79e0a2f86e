"""What is installed in agents names the tools of recall as the MCP server does."""

from __future__ import annotations

from typing import Any

import pytest

from integrations.hermes import recall
from viewer.inside.agents import claude_code
from viewer.mcp.tools import TOOLS

SAID = ("type", "items", "enum", "minimum", "description")  # of an argument


def _said(field: dict[str, Any]) -> dict[str, Any]:
    """What is said of an argument; that it may be null is not."""
    whole = {**field.get("anyOf", [{}])[0], **field}
    return {name: whole[name] for name in SAID if name in whole}


@pytest.mark.parametrize("name, description, properties, required", recall.TOOLS)
def test_tools_in_hermes_are_those_of_the_server(
    name: str, description: str, properties: dict[str, Any], required: list[str]
) -> None:
    (tool,) = [each for each in TOOLS if each.name == name]
    schema = tool.arguments.model_json_schema()
    assert (tool.scope, tool.description, schema.get("required", [])) == ("read", description, required)
    served = {argument: _said(field) for argument, field in schema["properties"].items()}
    assert {**properties, **recall.SESSION, **recall.CURSOR} == served


def test_claude_code_may_call_all_tools_that_only_read() -> None:
    assert [*claude_code.READING] == [tool.name for tool in TOOLS if tool.scope == "read"]
