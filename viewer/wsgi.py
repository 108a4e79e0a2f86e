"""What the server serves: `viewer.wsgi:application`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "viewer.settings")

_site = get_wsgi_application()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
    """The site, which sees paths without PALIMPSEST_BASE_PATH, whether or not a proxy has taken it off."""
    base, path = settings.BASE_PATH, environ["PATH_INFO"]
    if base and f"{path}/".startswith(f"{base}/"):
        environ["PATH_INFO"] = path.removeprefix(base) or "/"
    return _site(environ, start_response)
