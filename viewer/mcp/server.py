"""The tools as an MCP server, with the official SDK. Import it late: the SDK takes a second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from asgiref.sync import sync_to_async
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from viewer.mcp.tools import Caller, RecallTool, answer, tools_for

NAME = "palimpsest"
INSTRUCTIONS = (
    "Your context may begin with a summary. What it leaves out is not lost: ask search_history with your question, "
    "then read_history for what is around a match."
)


def server_for(caller: Caller) -> Server[Any]:
    """An MCP server that answers this caller."""

    async def list_tools(context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(map(_described, tools_for(caller))))

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        asking = replace(caller, environment={**caller.environment, **_session_in(params.meta or {})})
        given = await sync_to_async(answer)(asking, params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(type="text", text=given.text)], is_error=given.is_error)

    return Server(NAME, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool)


def _described(tool: RecallTool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=not tool.writes, destructive_hint=False, open_world_hint=False)
    schema = tool.arguments.model_json_schema()
    return types.Tool(name=tool.name, description=tool.description, input_schema=schema, annotations=hints)


def _session_in(meta: Mapping[str, Any]) -> dict[str, str]:
    """The session in hand where a client names it with each call, as Codex does (openai/codex#18093, #21329)."""
    turn = meta.get("x-codex-turn-metadata")
    thread = meta.get("threadId") or (turn.get("thread_id") or turn.get("session_id") if isinstance(turn, dict) else "")
    return {"CODEX_THREAD_ID": thread} if isinstance(thread, str) and thread else {}


async def serve(caller: Caller) -> None:
    """Answer on standard input and output until the input ends."""
    server = server_for(caller)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
