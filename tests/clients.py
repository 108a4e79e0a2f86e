"""Clients of the site: a signed-in browser without its screen, and another program that asks the API."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.conf import settings
from django.test import Client

from tests.factories.stores import HermesStore


@dataclass(frozen=True)
class ApiClient:
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


def session_path(hermes_store: HermesStore) -> str:
    """The path of a store's session."""
    return f"/stores/hermes/sessions/{hermes_store.session_id}"


def signed_in_client() -> Client:
    """A client that is signed in as the owner. Django has to be set up."""
    client = Client()
    session = client.session
    session["signed_in"] = True
    session.save()
    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key or ""
    return client


def walk(api_client: ApiClient, path: str, **query: Any) -> list[Any]:
    """Every item of a list, page by page."""
    items: list[Any] = []
    answer = api_client.get(path, **query)
    items += answer["items"]
    while answer["next"]:
        answer = api_client.get(path, cursor=answer["next"], **query)
        assert answer["items"]
        items += answer["items"]
    return items
