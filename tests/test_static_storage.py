"""How static files are compressed."""

from __future__ import annotations

import brotli  # type: ignore[import-untyped]
from django.core.files.storage import storages
from django.test import override_settings

from viewer.static_storage import LARGE, QUICKLY, QuickCompressor, StaticFiles

LINE = b"one line of a script that repeats itself;\n"


def test_small_files_are_compressed_as_well_as_can_be_and_large_ones_quickly() -> None:
    small, large = LINE * 100, LINE * (LARGE // len(LINE) + 1)
    assert QuickCompressor.compress_brotli(small) == brotli.compress(small)
    assert QuickCompressor.compress_brotli(large) == brotli.compress(large, quality=QUICKLY)


@override_settings(STORAGES={"staticfiles": {"BACKEND": "viewer.static_storage.StaticFiles"}})
def test_the_storage_compresses_with_it() -> None:
    storage = storages["staticfiles"]
    assert isinstance(storage, StaticFiles)
    assert isinstance(storage.create_compressor(quiet=True), QuickCompressor)
