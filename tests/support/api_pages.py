"""All pages of an answer of the API, one behind the other."""

from __future__ import annotations

from typing import Any

from tests.api.tool import Tool


def walk(tool: Tool, path: str, **query: Any) -> list[Any]:
    """Every item of a list, page by page."""
    items: list[Any] = []
    answer = tool.get(path, **query)
    items += answer["items"]
    while answer["next"]:
        answer = tool.get(path, cursor=answer["next"], **query)
        assert answer["items"]
        items += answer["items"]
    return items
