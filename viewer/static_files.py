"""Scripts and styles as they are served: without comments and spaces, named by their content and compressed."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from django.core.files.base import ContentFile
from rcssmin import cssmin  # type: ignore[import-untyped]
from rjsmin import jsmin  # type: ignore[import-untyped]
from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]

MINIFY = {".css": cssmin, ".js": jsmin}


class MinifiedStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """WhiteNoise's storage; files that come minified stay as they are."""

    def _save(self, name: str, content: Any) -> str:
        suffix = PurePosixPath(name).suffix
        if suffix in MINIFY and ".min." not in name:
            content.seek(0)
            content = ContentFile(MINIFY[suffix](content.read()))
        return str(super()._save(name, content))
