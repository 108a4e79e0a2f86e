"""Every setting of the site, read from the environment once.

A value that cannot be used stops the start with the name of its variable and what is allowed
(`ImproperlyConfigured`, which `manage.py` prints as one line).
"""

import json
import os
import re
import secrets
import sys
import tomllib
from importlib import metadata
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import dj_database_url
import platformdirs
from django.core.exceptions import ImproperlyConfigured

from viewer.private_files import keep_private
from viewer.server_url import is_server_url

BASE_DIR = Path(__file__).resolve().parent.parent  # that of the packages
# `templates` and `static`: a wheel has them in this package, a checkout beside it.
_inside = Path(__file__).resolve().with_name("assets")
ASSETS = _inside if _inside.is_dir() else BASE_DIR
COMMAND = "palimpsest" if _inside.is_dir() else ".venv/bin/python manage.py"  # for sentences that name one of ours


# Reading the environment


def _version() -> str:
    """As pyproject.toml says; where there is none, as the package that is installed says."""
    project = BASE_DIR / "pyproject.toml"
    if not project.is_file():
        return metadata.version("palimpsest")
    return str(tomllib.loads(project.read_text())["project"]["version"])


def _value(name: str, default: str = "") -> str:
    """An empty variable counts as one that is not set, as `make run PORT=` means it."""
    return os.environ.get(name, "").strip() or default


def _number(name: str, default: int, low: int, high: int) -> int:
    text = _value(name, str(default))
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise ImproperlyConfigured(f"{name} must be a whole number from {low} to {high}, not {text!r}.")
    return int(text)


def _flag(name: str, default: str = "0") -> bool:
    text = _value(name, default).lower()
    if text not in {"0", "1", "no", "yes", "false", "true", "off", "on"}:
        raise ImproperlyConfigured(f"{name} must be 1 or 0, not {text!r}.")
    return text in {"1", "yes", "true", "on"}


def _host(name: str, default: str) -> str:
    text = _value(name, default)
    if not re.fullmatch(r"[A-Za-z0-9._:-]+", text):
        raise ImproperlyConfigured(f"{name} must be one address or host name such as 127.0.0.1, not {text!r}.")
    return text


def _base_path(name: str) -> str:
    """Such as "/palimpsest", "" for none."""
    text = _value(name).rstrip("/")
    segments = text.split("/")
    if text and (segments[0] or not all(re.fullmatch(r"(?!\.+$)[A-Za-z0-9._-]+", each) for each in segments[1:])):
        raise ImproperlyConfigured(f"{name} must be a path such as /palimpsest, not {text!r}.")
    return text


def _hosts(name: str) -> list[str]:
    hosts = [host.strip() for host in _value(name).split(",") if host.strip()]
    for host in hosts:
        if not re.fullmatch(r"\*|\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\]", host):
            raise ImproperlyConfigured(
                f"{name} must be host names without scheme or port, with commas between them, not {host!r}."
            )
    return hosts


def _networks(name: str) -> list[IPv4Network | IPv6Network]:
    try:
        return [ip_network(each.strip()) for each in _value(name).split(",") if each.strip()]
    except ValueError:
        raise ImproperlyConfigured(
            f"{name} must be addresses or networks such as 127.0.0.1,10.0.0.0/8, not {_value(name)!r}."
        ) from None


def _url(name: str, default: str) -> str:
    text = _value(name, default)
    if text and not is_server_url(text):
        raise ImproperlyConfigured(f"{name} must be http://host/path or https://host/path.")
    return text


def _directory(name: str, default: Path) -> Path:
    return _absolute(name, _value(name, str(default)))


def _directories(name: str, default: Path) -> list[Path]:
    """Several, with ":" between them as in PATH."""
    return [_absolute(name, text.strip()) for text in _value(name, str(default)).split(os.pathsep)]


def _absolute(name: str, text: str) -> Path:
    path = Path(os.path.expanduser(text))
    if not path.is_absolute():
        raise ImproperlyConfigured(f"{name} must be an absolute path, not {str(path)!r}.")
    return path


def _data_directory(name: str) -> Path:
    path = _directory(name, platformdirs.user_data_path("palimpsest", appauthor=False))
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise ImproperlyConfigured(f"{name} must be a directory that can be written: {problem}.") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise ImproperlyConfigured(f"{name} must be a directory that can be written, and {path} cannot.")
    return path


def _stores(name: str) -> dict[str, str]:
    """`name=url,name=url` -> {name: url}. A comma inside a URL is kept: a store begins with its name."""
    stores: dict[str, str] = {}
    for entry in re.split(r",(?=\s*[\w.-]+=)", _value(name)):
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
                f"{name} must be name=url,... with sqlite:////absolute/path or postgres://... as url, "
                f"not {_shown(url)!r}."
            )
        stores[store] = url
    return stores


def _shown(url: str) -> str:
    """Without user and password."""
    return re.sub(r"(?<=://).*@", "...@", url.strip())


def _titles(name: str) -> list[str] | None:
    """A JSON list of headings, [] for none of them; None where it is not set."""
    text = _value(name)
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


def _machine(name: str) -> str:
    text = _value(name)
    if not re.fullmatch(r"[A-Za-z0-9-]*", text):
        raise ImproperlyConfigured(f"{name} must be letters, digits and -, such as box1, not {text!r}.")
    return text


def _database(name: str, default: Path) -> dict[str, Any]:
    try:
        database = dict(dj_database_url.parse(_value(name, f"sqlite:///{default}")))
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


def _secret_key(name: str, file: Path) -> str:
    """The given key, else the one generated into `file` (mode 0600) by the first start."""
    if key := _value(name):
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


def _secret_keys(name: str) -> list[str]:
    keys = _value(name).split()
    if any(len(key) < 32 for key in keys):
        raise ImproperlyConfigured(f"{name} must be keys of at least 32 characters with spaces between them.")
    return keys


def _time_zone(name: str) -> str:
    """TZ, else the zone this machine's /etc/localtime points to, else UTC."""
    local = Path("/etc/localtime").resolve().as_posix().rpartition("/zoneinfo/")[2]
    zone = _value(name).removeprefix(":") or local
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, KeyError):
        if _value(name):
            raise ImproperlyConfigured(f"{name} must be a time zone such as Europe/Berlin, not {zone!r}.") from None
        return "UTC"
    return zone


# This site

VERSION = _version()
DEBUG = _flag("PALIMPSEST_DEBUG")
DATA_DIR = _data_directory("PALIMPSEST_DATA_DIR")
HOST = _host("HOST", "127.0.0.1")
PORT = _number("PORT", 8000, 1, 65535)
# As a browser on this machine reaches it; a wildcard HOST is no address to open.
_opened = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(HOST, HOST)
BASE_PATH = _base_path("PALIMPSEST_BASE_PATH")  # what stands before each path, where a proxy serves other sites, too
SITE_ADDRESS = f"http://{f'[{_opened}]' if ':' in _opened else _opened}:{PORT}"

# Web servers, each of which computes on one core. They are forked, which macOS' libraries are not made for.
_cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
WEB_PROCESSES = _number("PALIMPSEST_WEB_PROCESSES", min(2, _cores), 1, 64)

# Whether a start prints a link to sign in with, into what may be a journal; `manage.py signin` makes one at any time.
START_LINK = _flag("PALIMPSEST_START_LINK", "1")
# Cookies are marked Secure but for this machine itself, or where one of these proxies says that it ended TLS.
SECURE_COOKIES = _flag("PALIMPSEST_SECURE_COOKIES")
TRUSTED_PROXIES = _networks("PALIMPSEST_TRUSTED_PROXIES")

# The shared databases: the ones named here, else those found in the agents' own directories, and always the demo store.
STORES = _stores("PALIMPSEST_STORES")
HERMES_HOME = _directory("HERMES_HOME", Path.home() / ".hermes")
CLAUDE_HOME = _directory("CLAUDE_CONFIG_DIR", Path.home() / ".claude")
DEMO_STORE = DATA_DIR / "demo.db"
for _file in (DEMO_STORE, DATA_DIR / "secret-key"):
    keep_private(_file)
# Where several machines share the site's database, the name of this one: found stores and the demo store carry it.
MACHINE = _machine("PALIMPSEST_MACHINE")
# How long a finished summary waits for the agent's turn to end before the run goes back to "ready".
WAIT_SECONDS = _number("PALIMPSEST_WAIT", 600, 1, 24 * 60 * 60)
# Without a heartbeat for so long, the worker of a run counts as lost; twelve beats, and looks for such runs, fit in.
LOST_AFTER = _number("PALIMPSEST_LOST_AFTER", 60, 2, 60 * 60)

# Rules that a compaction carries: only files inside these directories are read, and only these sections of them, which
# outrank those typed in Settings (None: those count).
WORKSPACES = _directories("PALIMPSEST_WORKSPACES", Path.home())
RULE_SECTIONS = _titles("PALIMPSEST_RULE_SECTIONS")

# Models that write summaries, by kind of interface; a kind without a model is not set up here.
MODELS: dict[str, dict[str, Any]] = {
    kind.lower(): {
        "model": _value(f"PALIMPSEST_{kind}_MODEL"),
        "base_url": _url(f"PALIMPSEST_{kind}_URL", _value(f"{kind}_BASE_URL")),
        # Only the URL that is meant for it gets the common key.
        "api_key": _value(
            f"PALIMPSEST_{kind}_KEY", "" if _value(f"PALIMPSEST_{kind}_URL") else _value(f"{kind}_API_KEY")
        ),
        "window": _number(f"PALIMPSEST_{kind}_WINDOW", 0, 0, 100_000_000),  # tokens; 0: as the price list knows it
    }
    for kind in ("OPENAI", "ANTHROPIC")
}
# Seconds for one answer of a model with all that is waited for, and for the longest silence in it.
MODEL_TIMEOUT = _number("PALIMPSEST_MODEL_TIMEOUT", 900, 1, 24 * 60 * 60)
MODEL_SILENCE = _number("PALIMPSEST_MODEL_SILENCE", 120, 1, 24 * 60 * 60)


# Django

SECRET_KEY = _secret_key("PALIMPSEST_SECRET_KEY", DATA_DIR / "secret-key")
# Keys before the present one: what was signed or encrypted with them can still be read.
SECRET_KEY_FALLBACKS = _secret_keys("PALIMPSEST_SECRET_KEY_FALLBACKS")
_named_hosts = _hosts("PALIMPSEST_ALLOWED_HOSTS")
ALLOWED_HOSTS = [*_named_hosts, "127.0.0.1", "localhost", "[::1]", f"[{HOST}]" if ":" in HOST else HOST]
# A named host is usually a proxy that ends TLS, so the browser's Origin says https where the server sees http.
CSRF_TRUSTED_ORIGINS = [f"https://{'*' if host.startswith('.') else ''}{host}" for host in _named_hosts if host != "*"]

INSTALLED_APPS = [
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_htmx",
    "django_tasks",
    "django_tasks_db",
    "ninja",
    "viewer",
    "viewer.history",
    "viewer.workspaces",
    "viewer.runs",
    "viewer.enforcement",
    "viewer.catalog",
    "viewer.labels",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "viewer.csp.ContentSecurityPolicy",
    "viewer.tls.BehindTls",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # Behind WhiteNoise, whose files are compressed when they are collected. BREACH: a page's only secret of ours is its
    # CSRF token, masked anew in every answer; the session cookie is not sent with another site's requests; and this
    # middleware adds up to 100 random bytes to each answer.
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "viewer.access.SignedIn",
    "viewer.unwritable.OwnDatabase",
]
FORCE_SCRIPT_NAME = BASE_PATH or None
ROOT_URLCONF = "viewer.urls"
WSGI_APPLICATION = "viewer.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ASSETS / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "viewer.csp.nonce",
                "viewer.pages.theme.site",
            ],
            "builtins": ["viewer.rendering.parts", "viewer.rendering.terms"],
        },
    }
]

DATABASES = {"default": _database("PALIMPSEST_DATABASE_URL", DATA_DIR / "palimpsest.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend", "QUEUES": []}}  # one a store, by any name

# One owner, signed in by a one-time link; the session cookie says so.
SESSION_COOKIE_NAME = "palimpsest"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = BASE_PATH or "/"
SESSION_COOKIE_AGE = 30 * 24 * 60 * 60
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = "palimpsest_csrf"
CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"

USE_TZ = True
TIME_ZONE = _time_zone("TZ")
USE_I18N = False
LANGUAGE_CODE = "en"

STATIC_URL = f"{BASE_PATH}/static/"
STATIC_ROOT = DATA_DIR / "static"
STATIC_ROOT.mkdir(mode=0o700, exist_ok=True)  # WhiteNoise warns about a missing one
FILE_UPLOAD_PERMISSIONS = 0o600  # of collected files
STATICFILES_DIRS = [ASSETS / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "viewer.static_storage.StaticFiles"
    },
}
WHITENOISE_USE_FINDERS = DEBUG
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
# Source maps of the API page's viewer are large and seldom fetched: compressing them would take most of a first start.
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = ["map", "png", "svgz", "jpg", "webp", "woff", "woff2", "gz", "br"]

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{", "datefmt": "%H:%M:%S"}},
    "filters": {"own_name": {"()": "viewer.bad_requests.OwnName"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "django": {"handlers": [], "level": "WARNING", "propagate": True},
        # A page that does not exist is the visitor's business; a 500 is ours and is an error.
        "django.request": {"level": "ERROR"},
        "django.security.DisallowedHost": {"filters": ["own_name"]},
        "viewer": {"level": "DEBUG" if DEBUG else "INFO"},
        "waitress.queue": {"level": "ERROR"},  # requests that wait for a thread are no news
        # Whatever the level of the others: these write requests and headers, which hold sessions and may hold keys.
        **{name: {"level": "WARNING"} for name in ("openai", "anthropic", "httpx2", "httpcore2")},
    },
}
