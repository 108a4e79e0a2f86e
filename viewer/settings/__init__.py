"""Every setting of the site, read from the environment once.

A value that cannot be used stops the start with the name of its variable and what is allowed
(`ImproperlyConfigured`, which `manage.py` prints as one line).
"""

import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

from viewer.settings import environment as env
from viewer.settings.private_files import keep_private

BASE_DIR = Path(__file__).resolve().parents[2]  # that of the packages
# `templates` and `static`: a wheel has them in this package, a checkout beside it.
_inside = Path(__file__).resolve().parents[1] / "assets"
ASSETS = _inside if _inside.is_dir() else BASE_DIR
COMMAND = "palimpsest" if _inside.is_dir() else ".venv/bin/python manage.py"  # for sentences that name one of ours


def _version() -> str:
    """The version in pyproject.toml, or that of the installed package if there is no such file."""
    project = BASE_DIR / "pyproject.toml"
    if not project.is_file():
        return metadata.version("palimpsest-agents")
    return str(tomllib.loads(project.read_text())["project"]["version"])


# This site

VERSION = _version()
DEBUG = env.flag("PALIMPSEST_DEBUG")
DATA_DIR = env.data_directory("PALIMPSEST_DATA_DIR")
HOST = env.host("HOST", "127.0.0.1")
PORT = env.number("PORT", 8000, 1, 65535)
# As a browser on this machine reaches it; a wildcard HOST is no address to open.
_opened = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(HOST, HOST)
BASE_PATH = env.base_path("PALIMPSEST_BASE_PATH")  # what stands before each path, where a proxy serves other sites, too
SITE_ADDRESS = f"http://{f'[{_opened}]' if ':' in _opened else _opened}:{PORT}"

# Whether a start prints a link to sign in with, into what may be a journal; `manage.py signin` makes one at any time.
START_LINK = env.flag("PALIMPSEST_START_LINK", "1")
# Cookies are marked Secure but for this machine itself, or where one of these proxies says that it ended TLS.
SECURE_COOKIES = env.flag("PALIMPSEST_SECURE_COOKIES")
TRUSTED_PROXIES = env.networks("PALIMPSEST_TRUSTED_PROXIES")

# The shared databases: the ones named here, else those found in the agents' own directories, and always the demo store.
STORES = env.stores("PALIMPSEST_STORES")
HERMES_HOME = env.directory("HERMES_HOME", Path.home() / ".hermes")
CLAUDE_HOME = env.directory("CLAUDE_CONFIG_DIR", Path.home() / ".claude")
CODEX_HOME = env.directory("CODEX_HOME", Path.home() / ".codex")
OPENCLAW_HOME = env.directory("OPENCLAW_STATE_DIR", Path.home() / ".openclaw")
PI_HOME = env.directory("PI_CODING_AGENT_DIR", Path.home() / ".pi" / "agent")
_DATA = env.directory("XDG_DATA_HOME", Path.home() / ".local" / "share")
OPENCODE_HOME = env.directory("OPENCODE_DATA_DIR", _DATA / "opencode")
GEMINI_HOME = env.directory("GEMINI_HOME", Path.home() / ".gemini")
QWEN_HOME = env.directory("QWEN_HOME", Path.home() / ".qwen")
DEMO_STORE = DATA_DIR / "demo.db"
for _file in (DEMO_STORE, DATA_DIR / "secret-key"):
    keep_private(_file)
# Where several machines share the site's database, the name of this one: found stores and the demo store carry it.
MACHINE = env.machine("PALIMPSEST_MACHINE")
# How long a finished summary waits for the agent's turn to end before the run goes back to "ready".
WAIT_SECONDS = env.number("PALIMPSEST_WAIT", 600, 1, 24 * 60 * 60)
# Without a heartbeat for so long, the worker of a run counts as lost; twelve beats, and looks for such runs, fit in.
LOST_AFTER = env.number("PALIMPSEST_LOST_AFTER", 60, 2, 60 * 60)

# Rules that a compaction carries: only files inside these directories are read, and only these sections of them, which
# outrank those typed in Settings (None: those count).
WORKSPACES = env.directories("PALIMPSEST_WORKSPACES", Path.home())
RULE_SECTIONS = env.titles("PALIMPSEST_RULE_SECTIONS")

# Interfaces by which models are reached. Each is a file of this name in viewer/runs/providers.
MODEL_PROVIDERS = ("openai", "anthropic")
# Models that write summaries, by provider; one without a model is not set up here.
MODELS: dict[str, dict[str, Any]] = {name: env.model(name.upper()) for name in MODEL_PROVIDERS}
# Seconds for one answer of a model with all that is waited for, and for the longest silence in it.
MODEL_TIMEOUT = env.number("PALIMPSEST_MODEL_TIMEOUT", 900, 1, 24 * 60 * 60)
MODEL_SILENCE = env.number("PALIMPSEST_MODEL_SILENCE", 120, 1, 24 * 60 * 60)


# Django

SECRET_KEY = env.secret_key("PALIMPSEST_SECRET_KEY", DATA_DIR / "secret-key")
# Keys before the present one: what was signed or encrypted with them can still be read.
SECRET_KEY_FALLBACKS = env.secret_keys("PALIMPSEST_SECRET_KEY_FALLBACKS")
_named_hosts = env.hosts("PALIMPSEST_ALLOWED_HOSTS")
ALLOWED_HOSTS = [*_named_hosts, "127.0.0.1", "localhost", "[::1]", f"[{HOST}]" if ":" in HOST else HOST]
# A named host is usually a proxy that ends TLS, so the browser's Origin says https where the server sees http.
CSRF_TRUSTED_ORIGINS = [f"https://{'*' if host.startswith('.') else ''}{host}" for host in _named_hosts if host != "*"]

INSTALLED_APPS = [
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_htmx",
    "viewer",
    "viewer.history",
    "viewer.workspaces",
    "viewer.inside",
    "viewer.runs",
    "viewer.enforcement",
    "viewer.catalog",
    "viewer.labels",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "viewer.web.middleware.ContentSecurityPolicy",
    "viewer.web.middleware.BehindTls",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # Behind WhiteNoise, whose files are compressed when they are collected. BREACH: it adds random bytes to an answer,
    # CSRF tokens are masked anew in each, and the session cookie is not sent with another site's requests.
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "viewer.web.auth.SignedIn",
    "viewer.error_pages.OnlyForms",
    "viewer.error_pages.OwnDatabase",
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
                "viewer.web.middleware.nonce",
                "viewer.pages.preferences.site",
            ],
            "builtins": ["viewer.rendering.templatetags.palimpsest"],
        },
    }
]

DATABASES = {"default": env.database("PALIMPSEST_DATABASE_URL", DATA_DIR / "palimpsest.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# One owner, signed in by a one-time link; the session cookie says so. Browsers send cookies to every port of a host:
# the names have the port, so that two sites on one machine do not sign each other out.
SESSION_COOKIE_NAME = f"palimpsest_{PORT}"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = BASE_PATH or "/"
SESSION_COOKIE_AGE = 30 * 24 * 60 * 60
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = f"palimpsest_csrf_{PORT}"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "viewer.error_pages.csrf_failed"
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"

USE_TZ = True
TIME_ZONE = env.time_zone("TZ")
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
        else "viewer.web.static_files.StaticFiles"
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
    "filters": {"own_name": {"()": "viewer.settings.logs.OwnName"}},
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
        **{name: {"level": "WARNING"} for name in (*MODEL_PROVIDERS, "httpx2", "httpcore2")},
    },
}
