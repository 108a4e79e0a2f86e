"""Cookies are Secure behind TLS, by a setting or by a proxy that is named, and never where that would lock out."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from pytest_django import Settings

from viewer.web.auth import new_link

pytestmark = pytest.mark.django_db


def secure(host: str, **sent: Any) -> bool:
    """Sign in and switch redacting on: whether every cookie that comes back is Secure."""
    client = Client(enforce_csrf_checks=True, HTTP_HOST=host, **sent)
    link = new_link()
    client.get(link)
    body = {"csrfmiddlewaretoken": client.cookies[settings.CSRF_COOKIE_NAME].value}
    scheme = "https" if sent.get("HTTP_X_FORWARDED_PROTO") else "http"
    assert client.post(link, body, HTTP_ORIGIN=f"{scheme}://{host}").status_code == 302
    token = {"csrfmiddlewaretoken": client.cookies[settings.CSRF_COOKIE_NAME].value, "redact": "1"}
    assert client.post("/redact", token, HTTP_ORIGIN=f"{scheme}://{host}").status_code == 302
    session = settings.SESSION_COOKIE_NAME
    assert set(client.cookies) == {session, f"{session}_pages", settings.CSRF_COOKIE_NAME, "palimpsest_mask"}
    found = {bool(cookie["secure"]) for cookie in client.cookies.values()}
    assert len(found) == 1
    return found.pop()


@pytest.fixture(autouse=True)
def hosts(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["*"]


def test_plain_http_is_left_alone(settings: Settings) -> None:
    assert not secure("agents.example")


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000"])
def test_by_the_setting_but_never_on_this_machine(settings: Settings, host: str) -> None:
    settings.SECURE_COOKIES = True
    assert secure("agents.example")
    assert not secure(host)


@pytest.mark.parametrize(
    ("peer", "said", "believed"),
    [
        ("10.1.2.3", "https", True),
        ("fd00::1", "https", True),
        ("10.1.2.3", "http, https", True),  # the last is what the proxy itself says
        ("10.1.2.3", "https, http", False),
        ("192.0.2.1", "https", False),
        ("", "https", False),
    ],
)
def test_by_what_a_named_proxy_says_and_nobody_else(settings: Settings, peer: str, said: str, believed: bool) -> None:
    settings.TRUSTED_PROXIES = [ip_network("10.0.0.0/8"), ip_network("fd00::1")]
    settings.CSRF_TRUSTED_ORIGINS = ["https://127.0.0.1:8000"]
    assert secure("127.0.0.1:8000", REMOTE_ADDR=peer, HTTP_X_FORWARDED_PROTO=said) is believed
