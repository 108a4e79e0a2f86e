"""A server of recall in place of ours, for tests of who starts it and what reaches it."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

TOOL = {
    "name": "search_history",
    "description": "Find what was summarised away.",
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What it answers to a call."""
    if method == "initialize":
        server = {"name": "palimpsest", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        text = f"Recalled for {params['arguments']['query']} in {os.environ.get(sys.argv[1], '?')}"
        return {"content": [{"type": "text", "text": text}]}
    return {}


for line in sys.stdin:
    call = json.loads(line)
    if "id" in call:
        result = answer(call["method"], call.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}), flush=True)
