"""The names of static files: each has the hash of its content in it, so that browsers may keep it."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]


class StaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Names with hashes, also where our own scripts import each other.

    Django's `support_js_module_import_aggregation` does that for all scripts: it fails at imports that the comments of
    packages mention.
    """

    patterns = (
        *CompressedManifestStaticFilesStorage.patterns,
        ("js/*.js", ((r'(?P<matched>"(?P<url>\./[^"]+\.js)")', '"%(url)s"'),)),
    )
    # A script's hash is final in the pass after those of all that it imports, and one more pass sees no change.
    max_post_process_passes = 12
