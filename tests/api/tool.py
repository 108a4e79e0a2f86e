"""The API over HTTP on copies of real databases."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.test import Client

from tests.runs.desk import Desk


@dataclass(frozen=True)
class Tool:
    """Another program with a token: `call` gives status and JSON."""

    token: str

    def call(self, method: str, path: str, body: Any = None, **query: Any) -> tuple[int, Any]:
        address = f"/api/v1{path}"
        if method == "GET":
            response = self._client.get(address, query)
        else:
            response = self._client.generic(method, address, json.dumps(body or {}), content_type="application/json")
        return response.status_code, response.json()

    @cached_property
    def _client(self) -> Client:
        """One for all calls: it builds the middleware once."""
        return Client(headers={"Authorization": f"Bearer {self.token}"}, raise_request_exception=False)

    def get(self, path: str, **query: Any) -> Any:
        status, answer = self.call("GET", path, **query)
        assert status == 200, answer
        return answer


def session_path(desk: Desk) -> str:
    """The path of a desk's session."""
    return f"/stores/hermes/sessions/{desk.session_id}"
