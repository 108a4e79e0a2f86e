"""Settings come from the environment; a wrong value names its variable and what is allowed."""

import os
import runpy
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

ROOT: Path = settings.BASE_DIR
SETTINGS = ROOT / "viewer" / "settings" / "__init__.py"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    monkeypatch.setenv("PALIMPSEST_DATA_DIR", str(tmp_path / "data"))
    return monkeypatch


def read() -> dict[str, Any]:
    return runpy.run_path(str(SETTINGS))


WRONG = [
    ("PORT", "abc", "1 to 65535"),
    ("PORT", "0", "1 to 65535"),
    ("PORT", "65536", "1 to 65535"),
    ("PORT", "²", "1 to 65535"),
    ("HOST", "http://x", "127.0.0.1"),
    ("PALIMPSEST_DEBUG", "maybe", "1 or 0"),
    ("PALIMPSEST_DATA_DIR", "relative/path", "absolute"),
    ("PALIMPSEST_DATA_DIR", "/dev/null/x", "can be written"),
    ("PALIMPSEST_OPENAI_URL", "127.0.0.1:8080/v1", "http://host/path"),
    ("PALIMPSEST_OPENAI_URL", "http://key@host/v1", "http://host/path"),
    ("PALIMPSEST_OPENAI_URL", "http://[::1/v1", "http://host/path"),
    ("PALIMPSEST_OPENAI_URL", "http://host/v1?key=1", "http://host/path"),
    ("PALIMPSEST_ANTHROPIC_URL", "https://host:99999/v1", "http://host/path"),
    ("PALIMPSEST_ANTHROPIC_WINDOW", "a lot", "0 to"),
    ("PALIMPSEST_MODEL_TIMEOUT", "0", "1 to"),
    ("PALIMPSEST_DATABASE_URL", "mysql://a/b", "sqlite:////"),
    ("PALIMPSEST_DATABASE_URL", "nonsense", "sqlite:////"),
    ("PALIMPSEST_DATABASE_URL", "postgres://host", "postgres://user"),
    ("PALIMPSEST_SECRET_KEY", "short", "32"),
    ("PALIMPSEST_SECRET_KEY_FALLBACKS", "short", "32"),
    ("PALIMPSEST_SECURE_COOKIES", "maybe", "1 or 0"),
    ("PALIMPSEST_START_LINK", "never", "1 or 0"),
    ("PALIMPSEST_TRUSTED_PROXIES", "my proxy", "127.0.0.1,10.0.0.0/8"),
    ("PALIMPSEST_ALLOWED_HOSTS", "https://a.example", "without scheme"),
    ("PALIMPSEST_BASE_PATH", "palimpsest", "/palimpsest"),
    ("PALIMPSEST_BASE_PATH", "https://a.example/palimpsest", "/palimpsest"),
    ("PALIMPSEST_BASE_PATH", "//a.example", "/palimpsest"),
    ("PALIMPSEST_BASE_PATH", "/a/../b", "/palimpsest"),
    ("PALIMPSEST_BASE_PATH", "/a b", "/palimpsest"),
    ("PALIMPSEST_STORES", "/path/state.db", "name of its own"),
    ("PALIMPSEST_STORES", "a=/path/state.db", "sqlite:////"),
    ("PALIMPSEST_STORES", "a=sqlite:///relative.db", "sqlite:////"),
    ("PALIMPSEST_STORES", "a=claude-code", "claude-code:///absolute/path"),
    ("PALIMPSEST_STORES", "a=sqlite:////x,a=sqlite:////y", "'a=sqlite:////y'"),
    ("PALIMPSEST_STORES", "demo=sqlite:////x", "not demo"),
    ("PALIMPSEST_STORES", "a=postgresq://me:secret@host/db", "'postgresq://...@host/db'"),
    ("PALIMPSEST_STORES", "my store=postgres://me:p/@secret@host/db", "'my store=postgres://...@host/db'"),
    ("PALIMPSEST_WAIT", "1.5", "1 to 86400"),
    ("PALIMPSEST_LOST_AFTER", "1", "2 to 3600"),
    ("PALIMPSEST_MACHINE", "box 1", "box1"),
    ("PALIMPSEST_WORKSPACES", "work", "absolute"),
    ("PALIMPSEST_WORKSPACES", "/srv/agents:work", "'work'"),
    ("PALIMPSEST_WORKSPACES", "/srv/agents:", "absolute"),
    ("PALIMPSEST_WORKSPACES", "~nobody-of-this-name/work", "absolute"),
    ("PALIMPSEST_RULE_SECTIONS", "Red Lines", '["Session Startup", "Red Lines"]'),
    ("PALIMPSEST_RULE_SECTIONS", '{"Red Lines": 1}', "JSON list"),
    ("PALIMPSEST_RULE_SECTIONS", '["Red Lines", 1]', "JSON list"),
    ("PALIMPSEST_RULE_SECTIONS", '[" "]', "JSON list"),
    ("PALIMPSEST_RULE_SECTIONS", "[" * 10_000, "JSON list"),
    ("HERMES_HOME", "hermes", "absolute"),
    ("HERMES_HOME", "~nobody-of-this-name/.hermes", "absolute"),
    ("TZ", "Middle/Earth", "Europe/Berlin"),
]


@pytest.mark.parametrize(("name", "value", "allowed"), WRONG)
def test_wrong_value_is_named(environment: pytest.MonkeyPatch, name: str, value: str, allowed: str) -> None:
    environment.setenv(name, value)
    with pytest.raises(ImproperlyConfigured) as caught:
        read()
    assert str(caught.value).startswith(name)
    assert allowed in str(caught.value)
    assert "\n" not in str(caught.value)


def refusal_of(*command: str, **environment: str) -> str:
    """The one line that a command ends with instead of doing something."""
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    return done.stderr.strip()


@pytest.mark.slow
def test_wrong_value_ends_a_command_with_one_line() -> None:
    assert refusal_of("up", PORT="eight") == "PORT must be a whole number from 1 to 65535, not 'eight'."


@pytest.mark.slow
def test_an_own_database_that_is_away_ends_a_command_with_one_line(tmp_path: Path) -> None:
    away = {"PALIMPSEST_DATA_DIR": str(tmp_path), "PALIMPSEST_DATABASE_URL": "postgres://127.0.0.1:1/away"}
    assert refusal_of("token", "create", "a tool", **away).startswith(
        "Palimpsest's own database cannot be used just now: its server cannot be reached."
    )


@pytest.mark.slow
def test_an_own_database_without_tables_ends_a_command_with_one_line(tmp_path: Path) -> None:
    refused = refusal_of("signin", PALIMPSEST_DATA_DIR=str(tmp_path))
    assert refused.startswith("Palimpsest's own database has no tables of this version")


def test_sites_on_one_host_have_cookies_of_their_own(environment: pytest.MonkeyPatch) -> None:
    names = []
    for port in ("8137", "8138"):
        environment.setenv("PORT", port)
        found = read()
        names += [found["SESSION_COOKIE_NAME"], found["CSRF_COOKIE_NAME"]]
    assert len(set(names)) == 4


def test_defaults(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.delenv("HERMES_HOME")
    environment.setenv("HOME", str(tmp_path))
    found = read()
    assert (found["HOST"], found["PORT"], found["SITE_ADDRESS"]) == ("127.0.0.1", 8000, "http://127.0.0.1:8000")
    assert found["HERMES_HOME"] == tmp_path / ".hermes"
    assert found["WORKSPACES"] == [tmp_path]
    assert found["RULE_SECTIONS"] is None
    assert found["STORES"] == {}
    assert found["DEBUG"] is False
    database = found["DATABASES"]["default"]
    assert database["ENGINE"] == "django.db.backends.sqlite3"
    assert database["NAME"] == str(tmp_path / "data" / "palimpsest.sqlite3")


def test_a_common_key_goes_to_the_common_url_alone(environment: pytest.MonkeyPatch) -> None:
    """`OPENAI_API_KEY` stands in many a shell, and was given for what `OPENAI_BASE_URL` says."""
    environment.setenv("PALIMPSEST_OPENAI_MODEL", "some-model")
    environment.setenv("OPENAI_API_KEY", "common")

    def found() -> tuple[str, str]:
        model = read()["MODELS"]["openai"]
        return model["base_url"], model["api_key"]

    assert found() == ("", "common")
    environment.setenv("OPENAI_BASE_URL", "https://proxy.example/v1")
    assert found() == ("https://proxy.example/v1", "common")
    environment.setenv("PALIMPSEST_OPENAI_URL", "http://vllm.example:8000/v1")
    assert found() == ("http://vllm.example:8000/v1", "")
    environment.setenv("PALIMPSEST_OPENAI_KEY", "its own")
    assert found() == ("http://vllm.example:8000/v1", "its own")


def test_stores_keep_commas_of_their_urls(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("PALIMPSEST_STORES", "work=sqlite:////a,b/state.db, pg=postgres://u@h1,h2/db")
    assert read()["STORES"] == {"work": "sqlite:////a,b/state.db", "pg": "postgres://u@h1,h2/db"}


def test_rules_are_read_below_these_directories_and_from_these_sections(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.setenv("HOME", str(tmp_path))
    environment.setenv("PALIMPSEST_WORKSPACES", "/srv/agents: ~/work")
    environment.setenv("PALIMPSEST_RULE_SECTIONS", '["Safety ", "Ünsere Regeln"]')
    found = read()
    assert found["WORKSPACES"] == [Path("/srv/agents"), tmp_path / "work"]
    assert found["RULE_SECTIONS"] == ["Safety", "Ünsere Regeln"]
    environment.setenv("PALIMPSEST_RULE_SECTIONS", "[]")
    assert read()["RULE_SECTIONS"] == []


def test_postgres_as_own_database(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("PALIMPSEST_DATABASE_URL", "postgres://u:p@db.example:6543/palimpsest")
    database = read()["DATABASES"]["default"]
    assert (database["ENGINE"], database["HOST"], database["PORT"]) == (
        "django.db.backends.postgresql",
        "db.example",
        6543,
    )
    assert "init_command" not in database.get("OPTIONS", {})


def test_secret_key_is_made_once_and_private(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first, second = read()["SECRET_KEY"], read()["SECRET_KEY"]
    file = tmp_path / "data" / "secret-key"
    assert first == second == file.read_text()
    assert len(first) >= 50
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("host", "address"),
    [("0.0.0.0", "http://127.0.0.1:81"), ("::", "http://[::1]:81"), ("box.lan", "http://box.lan:81")],
)
def test_address_to_open(environment: pytest.MonkeyPatch, host: str, address: str) -> None:
    environment.setenv("HOST", host)
    environment.setenv("PORT", "81")
    assert read()["SITE_ADDRESS"] == address


def test_named_hosts_are_trusted_behind_tls(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("PALIMPSEST_ALLOWED_HOSTS", "a.example, .b.example")
    found = read()
    assert found["ALLOWED_HOSTS"][:2] == ["a.example", ".b.example"]
    assert "*" not in found["ALLOWED_HOSTS"]
    assert found["CSRF_TRUSTED_ORIGINS"] == ["https://a.example", "https://*.b.example"]


def test_every_answer_has_the_security_headers(client: Client, db: None) -> None:
    answer = client.get("/sign-in/")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Referrer-Policy"] == "same-origin"


def test_the_nonce_of_the_header_is_the_one_of_the_page_and_new_each_time(client: Client, db: None) -> None:
    nonces = set()
    for _ in range(2):
        answer = client.get("/sign-in/")
        nonce = answer.context["csp_nonce"]
        assert f'nonce="{nonce}"' in answer.content.decode()
        assert f"'nonce-{nonce}'" in answer.headers["Content-Security-Policy"]
        nonces.add(nonce)
    assert len(nonces) == 2
