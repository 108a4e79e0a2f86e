"""Settings read from the environment: each reader gives the value of one variable, or its default.

A value that cannot be used raises ImproperlyConfigured with the name of its variable and what is allowed.

Libraries for settings (environs, pydantic-settings, django-environ) were compared. They replace the five plainest
readers here, some thirty lines, and add two or three packages; stores, hosts, keys and directories, and the sentences
about them, stay ours. So there is none.
"""

import json
import os
import re
import secrets
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import dj_database_url
import platformdirs
from django.core.exceptions import ImproperlyConfigured

from viewer.settings.private_files import keep_private
from viewer.settings.server_url import is_server_url


def value(name: str, default: str = "") -> str:
    """An empty variable counts as one that is not set, as `make run PORT=` means it."""
    return os.environ.get(name, "").strip() or default


def number(name: str, default: int, low: int, high: int) -> int:
    """A whole number between two."""
    text = value(name, str(default))
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise ImproperlyConfigured(f"{name} must be a whole number from {low} to {high}, not {text!r}.")
    return int(text)


def flag(name: str, default: str = "0") -> bool:
    """1 or 0, or one of their usual words."""
    text = value(name, default).lower()
    if text not in {"0", "1", "no", "yes", "false", "true", "off", "on"}:
        raise ImproperlyConfigured(f"{name} must be 1 or 0, not {text!r}.")
    return text in {"1", "yes", "true", "on"}


def host(name: str, default: str) -> str:
    """One address or host name."""
    text = value(name, default)
    if not re.fullmatch(r"[A-Za-z0-9._:-]+", text):
        raise ImproperlyConfigured(f"{name} must be one address or host name such as 127.0.0.1, not {text!r}.")
    return text


def base_path(name: str) -> str:
    """Such as "/palimpsest", "" for none."""
    text = value(name).rstrip("/")
    segments = text.split("/")
    if text and (segments[0] or not all(re.fullmatch(r"(?!\.+$)[A-Za-z0-9._-]+", each) for each in segments[1:])):
        raise ImproperlyConfigured(f"{name} must be a path such as /palimpsest, not {text!r}.")
    return text


def hosts(name: str) -> list[str]:
    """Host names with commas between them."""
    hosts = [host.strip() for host in value(name).split(",") if host.strip()]
    for host in hosts:
        if not re.fullmatch(r"\*|\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\]", host):
            raise ImproperlyConfigured(
                f"{name} must be host names without scheme or port, with commas between them, not {host!r}."
            )
    return hosts


def networks(name: str) -> list[IPv4Network | IPv6Network]:
    """Addresses or networks with commas between them."""
    try:
        return [ip_network(each.strip()) for each in value(name).split(",") if each.strip()]
    except ValueError:
        raise ImproperlyConfigured(
            f"{name} must be addresses or networks such as 127.0.0.1,10.0.0.0/8, not {value(name)!r}."
        ) from None


def url(name: str, default: str) -> str:
    """The address of a server, "" for none."""
    text = value(name, default)
    if text and not is_server_url(text):
        raise ImproperlyConfigured(f"{name} must be http://host/path or https://host/path.")
    return text


def model(provider: str) -> dict[str, Any]:
    """The model that is set for a provider; all values are empty where none is. `window` is in tokens, 0 where not set.

    The key for all programs (OPENAI_API_KEY) goes only to the URL for all programs.
    """
    own_url = value(f"PALIMPSEST_{provider}_URL")
    return {
        "model": value(f"PALIMPSEST_{provider}_MODEL"),
        "base_url": url(f"PALIMPSEST_{provider}_URL", value(f"{provider}_BASE_URL")),
        "api_key": value(f"PALIMPSEST_{provider}_KEY", "" if own_url else value(f"{provider}_API_KEY")),
        "window": number(f"PALIMPSEST_{provider}_WINDOW", 0, 0, 100_000_000),
    }


def directory(name: str, default: Path) -> Path:
    """An absolute path; "~" is the home directory."""
    return _absolute(name, value(name, str(default)))


def directories(name: str, default: Path) -> list[Path]:
    """Several, with ":" between them as in PATH."""
    return [_absolute(name, text.strip()) for text in value(name, str(default)).split(os.pathsep)]


def _absolute(name: str, text: str) -> Path:
    path = Path(os.path.expanduser(text))
    if not path.is_absolute():
        raise ImproperlyConfigured(f"{name} must be an absolute path, not {str(path)!r}.")
    return path


def data_directory(name: str) -> Path:
    """A directory that is made where it is missing, and can be written."""
    path = directory(name, platformdirs.user_data_path("palimpsest", appauthor=False))
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise ImproperlyConfigured(f"{name} must be a directory that can be written: {problem}.") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise ImproperlyConfigured(f"{name} must be a directory that can be written, and {path} cannot.")
    return path


def stores(name: str) -> dict[str, str]:
    """`name=url,name=url` -> {name: url}. A comma inside a URL is kept: a store begins with its name."""
    stores: dict[str, str] = {}
    for entry in re.split(r",(?=\s*[\w.-]+=)", value(name)):
        if not entry.strip():
            continue
        store, _, url = (part.strip() for part in entry.partition("="))
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", store) or store == "demo" or store in stores:
            raise ImproperlyConfigured(
                f"{name} must be name=sqlite:////absolute/path,... with a name of its own for each store "
                f"(letters, digits, . _ -, and not demo), not {_shown(entry)!r}."
            )
        # An address of another kind (`viewer/stores/registry.py`) is checked by the start, which knows the kinds.
        if not re.match(r"(sqlite:////|postgres://|postgresql://|(?!sqlite:)[a-z][a-z-]*:///).", url):
            raise ImproperlyConfigured(
                f"{name} must be name=url,... with sqlite:////absolute/path, postgres://... or where an agent has its "
                f"sessions, such as claude-code:///absolute/path, as url, not {_shown(url)!r}."
            )
        stores[store] = url
    return stores


def _shown(url: str) -> str:
    """Without user and password."""
    return re.sub(r"(?<=://).*@", "...@", url.strip())


def titles(name: str) -> list[str] | None:
    """A JSON list of headings, [] for none of them; None where it is not set."""
    text = value(name)
    if not text:
        return None
    try:
        titles = json.loads(text)
    except (ValueError, RecursionError):
        titles = None
    if not isinstance(titles, list) or not all(isinstance(each, str) and each.strip() for each in titles):
        raise ImproperlyConfigured(
            f'{name} must be a JSON list of headings such as ["Session Startup", "Red Lines"], or [], not {text!r}.'
        )
    return [each.strip() for each in titles]


def machine(name: str) -> str:
    """The name of a machine, "" for none."""
    text = value(name)
    if not re.fullmatch(r"[A-Za-z0-9-]*", text):
        raise ImproperlyConfigured(f"{name} must be letters, digits and -, such as box1, not {text!r}.")
    return text


def database(name: str, default: Path) -> dict[str, Any]:
    """A database as Django's settings have it."""
    try:
        database = dict(dj_database_url.parse(value(name, f"sqlite:///{default}")))
    except ValueError:
        database = {}
    engine = str(database.get("ENGINE", ""))
    if engine not in {"django.db.backends.sqlite3", "django.db.backends.postgresql"} or not database["NAME"]:
        raise ImproperlyConfigured(f"{name} must be sqlite:////absolute/path or postgres://user:password@host/name.")
    if engine.endswith("sqlite3"):
        # Pages and workers write at once: take the write lock at the start of a transaction and wait for it.
        database["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;",
        }
        if database["NAME"] != ":memory:":
            keep_private(Path(str(database["NAME"])), make=True)
        # A file, because the threads of a test server do not see each other's in-memory database.
        database["TEST"] = {"NAME": default.with_name("test.sqlite3")}
    return database


def secret_key(name: str, file: Path) -> str:
    """The given key, else the one generated into `file` (mode 0600) by the first start."""
    if key := value(name):
        if len(key) < 32:
            raise ImproperlyConfigured(f"{name} must have at least 32 characters.")
        return key
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        key = file.read_text().strip()
    else:
        key = secrets.token_urlsafe(48)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(key)
    if not key:
        raise ImproperlyConfigured(f"{file} is empty: delete it, or set {name}.")
    return key


def secret_keys(name: str) -> list[str]:
    """Keys with spaces between them."""
    keys = value(name).split()
    if any(len(key) < 32 for key in keys):
        raise ImproperlyConfigured(f"{name} must be keys of at least 32 characters with spaces between them.")
    return keys


def time_zone(name: str) -> str:
    """TZ, else the zone this machine's /etc/localtime points to, else UTC."""
    local = Path("/etc/localtime").resolve().as_posix().rpartition("/zoneinfo/")[2]
    zone = value(name).removeprefix(":") or local
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, KeyError):
        if value(name):
            raise ImproperlyConfigured(f"{name} must be a time zone such as Europe/Berlin, not {zone!r}.") from None
        return "UTC"
    return zone
