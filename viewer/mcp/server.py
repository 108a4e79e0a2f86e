"""The tools as an MCP server for HTTP, with the official SDK. Import it late: the SDK takes a second."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from mcp import types
from mcp.server.lowlevel import Server

from .answers import answer
from .tools import INSTRUCTIONS, NAME, Caller, tools_for


def server_for(caller: Caller) -> Server[Any]:
    """An MCP server that answers this caller."""

    async def list_tools(context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        described = [types.Tool.model_validate(each.described()) for each in tools_for(caller)]
        return types.ListToolsResult(tools=described)

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        asking = caller.within(params.meta or {})
        given = await sync_to_async(answer)(asking, params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(type="text", text=given.text)], is_error=given.is_error)

    return Server(NAME, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool)
