"""Static files as they are served: named by their content, and compressed when a first start collects them."""

from __future__ import annotations

from typing import Any

import brotli  # type: ignore[import-untyped]  # it brings no types
from whitenoise.compress import Compressor  # type: ignore[import-untyped]
from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]

LARGE = 300_000  # bytes; the viewer of the API's page is five times that
QUICKLY = 9  # of 11 levels: a tenth larger, in a twentieth of the time


class QuickCompressor(Compressor):  # type: ignore[misc]
    """Brotli at its best level, but for large files, which would take most of the time of a first start."""

    @staticmethod
    def compress_brotli(data: bytes) -> bytes:
        return bytes(brotli.compress(data, quality=QUICKLY) if len(data) > LARGE else brotli.compress(data))


class StaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """WhiteNoise's storage with that compressor."""

    def create_compressor(self, **options: Any) -> Compressor:
        return QuickCompressor(**options)
