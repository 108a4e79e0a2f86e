"""The MCP server at `/mcp` of the site: one POST, one answer in JSON, nothing kept in between."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import anyio
from asgiref.sync import async_to_sync
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from viewer.web import auth

from .tools import Caller


@csrf_exempt  # a cookie is not enough here
@never_cache
def endpoint(request: HttpRequest) -> HttpResponse:
    """The answer to one MCP message of a client with a token."""
    if not _is_own_origin(request):
        return _refused(403, "forbidden", "This origin may not ask here.")
    token = auth.token_of(request)
    if token is None:
        refused = _refused(401, "unauthorized", "This call needs a known token: Authorization: Bearer <token>.")
        refused["WWW-Authenticate"] = "Bearer"
        return refused
    if "read" not in token.scopes:
        return _refused(403, "forbidden", f"The token {token.name} does not have the scope read.")
    if request.method != "POST":
        refused = _refused(405, "method_not_allowed", f"This call does not take {request.method}.")
        refused["Allow"] = "POST"
        return refused
    try:
        body = request.body
    except RequestDataTooBig:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        return _refused(413, "too_large", f"A call takes at most {limit:,} bytes: send less at a time.")
    return async_to_sync(_answered)(request, Caller(frozenset(token.scopes)), body)


def _is_own_origin(request: HttpRequest) -> bool:
    """Whether no browser asks, or one on a page of this site (the specification asks for it: DNS rebinding)."""
    origin = request.headers.get("Origin")
    return origin is None or urlsplit(origin).netloc == request.get_host()


def _refused(status: int, code: str, message: str) -> HttpResponse:
    return JsonResponse({"error": {"code": code, "message": message}}, status=status)


async def _answered(request: HttpRequest, caller: Caller, body: bytes) -> HttpResponse:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # takes a second

    from .server import server_for

    sent: list[dict[str, Any]] = []
    received = False

    async def receive() -> dict[str, Any]:
        nonlocal received
        if received:
            await anyio.sleep_forever()
        received = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    manager = StreamableHTTPSessionManager(
        server_for(caller),
        json_response=True,
        stateless=True,
        max_request_body_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
    )
    async with manager.run():
        await manager.handle_request(_scope(request), receive, send)
    return _response(sent)


def _scope(request: HttpRequest) -> dict[str, Any]:
    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1", "replace"))
        for name, value in request.headers.items()
        if name not in ("Authorization", "Cookie")
    ]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path_info,
        "raw_path": request.path_info.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": headers,
        "server": None,
        "client": None,
    }


def _response(sent: list[dict[str, Any]]) -> HttpResponse:
    nothing: dict[str, Any] = {"status": 500, "headers": []}
    start = next((each for each in sent if each["type"] == "http.response.start"), nothing)
    response = HttpResponse(
        b"".join(each.get("body", b"") for each in sent if each["type"] == "http.response.body"), status=start["status"]
    )
    del response["Content-Type"]
    for name, value in start["headers"]:
        if name.lower() != b"content-length":
            response[name.decode("latin-1")] = value.decode("latin-1")
    return response
