"""Credentials go, look-alikes stay."""

from __future__ import annotations

import time

import pytest

from compaction import redact

LETTERS = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"export OPENAI_API_KEY=sk-proj-{LETTERS}", f"sk-proj-{LETTERS}"),
        (f"key sk-ant-api03-{LETTERS}", f"sk-ant-api03-{LETTERS}"),
        ("aws AKIAIOSFODNN7EXAMPLE here", "AKIAIOSFODNN7EXAMPLE"),
        (f"git clone with ghp_{LETTERS}abcd", f"ghp_{LETTERS}abcd"),
        (f"github_pat_{LETTERS}{LETTERS}", f"github_pat_{LETTERS}{LETTERS}"),
        ("xoxb-123456789012-abcdefghij", "xoxb-123456789012-abcdefghij"),
        (f"AIza{LETTERS}abc", f"AIza{LETTERS}abc"),
        (f"glpat-{LETTERS}", f"glpat-{LETTERS}"),
        (f"hf_{LETTERS}", f"hf_{LETTERS}"),
        ("stripe sk" + f"_live_{LETTERS}", "sk" + f"_live_{LETTERS}"),
        (f"bot 123456789:AA{LETTERS}x", f"AA{LETTERS}x"),
        ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3", "eyJzdWIiOiIxMjM0In0"),
        ("Authorization: Bearer abcdef0123456789", "abcdef0123456789"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZDEy", "dXNlcjpwYXNzd29yZDEy"),
        ("postgres://app:s3cr3t@db.local/app", "s3cr3t"),
        ('{"password": "correct horse"}', "correct horse"),
        (r'{"content": "{\"api_key\": \"abcdefgh\"}"}', "abcdefgh"),
        ("DB_PASSWORD=hunter22", "hunter22"),
        ("password: hunter22", "hunter22"),
        ("login --password hunter22 --user bob", "hunter22"),
        ("client_secret='abcdefgh'", "abcdefgh"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----\nrest", "MIIEow"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEow and cut off", "MIIEow"),
        (f"İİ the dotted capitals and sk-{LETTERS}", f"sk-{LETTERS}"),
    ],
)
def test_credentials_are_redacted(text: str, secret: str) -> None:
    cleaned = redact(text)
    assert secret in text and secret not in cleaned and "[REDACTED]" in cleaned
    assert redact(cleaned) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "My reservation is XEHM4B, the other one 59XX6W.",
        "user mia_li_3668 paid with credit_card_4421486 and certificate_7504069",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "id 550e8400-e29b-41d4-a716-446655440000, call_ORFOG4jtgQK83YBzrDBgOTUy",
        "max_tokens=4096, token_count: 31,000, token: 31,000",
        "The password must never be shown; reset the token first.",
        "password = request.POST['password']",
        "token = get_token()\nself.token = token",
        "api_key: ${API_KEY}, secret=<your secret>, password=***",
        "https://example.com/a:b@c?token=",
        "https://docs.example.com:8080/path",
        "a basic understanding of things, the bearer of news",
        "sk-learn and task-runner-for-everything-in-the-shop",
        "password: str, token: Optional[str] = None",
        "2024-05-24T13:00:00 at 12:30, price $7,222",
        "",
    ],
)
def test_look_alikes_stay(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "piece",
    ["sk-", "sk-1-", "eyJ-", "glpat-" + "a" * 20 + "-", "-----BEGIN PRIVATE KEY-----\n", "token=1", "xoxb-aaaaaaaaaa-",
     "AIza-", "pypi-", "bearer/", "://a:"],
)  # fmt: skip
def test_looking_for_credentials_grows_with_the_text(piece: str) -> None:
    """A quadratic search takes minutes for this; a second stands for "never"."""
    started = time.monotonic()
    redact(piece * (300_000 // len(piece)))
    assert time.monotonic() - started < 2
