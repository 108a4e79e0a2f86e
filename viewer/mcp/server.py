"""The tools as an MCP server, with the official SDK. Import it late: the SDK takes a second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asgiref.sync import sync_to_async
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from .tools import INSTRUCTIONS, NAME, Caller, tools_for

if TYPE_CHECKING:
    from .answers import ToolAnswer


def server_for(caller: Caller) -> Server[Any]:
    """An MCP server that answers this caller."""

    async def list_tools(context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        described = [types.Tool.model_validate(each.described()) for each in tools_for(caller)]
        return types.ListToolsResult(tools=described)

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        asking = caller.within(params.meta or {})
        given = await sync_to_async(_answer)(asking, params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(type="text", text=given.text)], is_error=given.is_error)

    return Server(NAME, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool)


def _answer(caller: Caller, name: str, arguments: dict[str, Any]) -> ToolAnswer:
    from . import answers  # takes a second, which a server needs at its first call

    return answers.answer(caller, name, arguments)


async def serve(caller: Caller) -> None:
    """Answer on standard input and output until the input ends."""
    server = server_for(caller)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
