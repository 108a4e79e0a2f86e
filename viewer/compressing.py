"""Answers are sent compressed: with Brotli where a browser takes it, which is a seventh less than gzip."""

from __future__ import annotations

import re

import brotli  # type: ignore[import-untyped]
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import patch_vary_headers

QUALITY = 5  # of 11: from 6 on a page takes longer to compress than to send
LEAST = 200  # bytes, below which nothing is won
_BROTLI = re.compile(r"(?:^|[ ,])br(?! *; *q=0(?:\.0*)?(?:[ ,]|$))(?=[ ,;]|$)")


class Compression(GZipMiddleware):
    """Django's own compression, before it Brotli. Streamed answers stay with gzip.

    BREACH: a page's only secret of ours is its CSRF token, masked anew in every answer; and the session cookie is not
    sent with another site's requests.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        content = getattr(response, "content", b"")
        takes = _BROTLI.search(request.headers.get("Accept-Encoding", ""))
        if not takes or response.has_header("Content-Encoding") or len(content) < LEAST:
            return super().process_response(request, response)
        patch_vary_headers(response, ("Accept-Encoding",))
        packed = brotli.compress(content, quality=QUALITY)
        if len(packed) < len(content):
            response.content = packed  # type: ignore[attr-defined]
            response.headers["Content-Length"] = str(len(packed))
            response.headers["Content-Encoding"] = "br"
            etag = response.get("ETag", "")
            if etag.startswith('"'):
                response.headers["ETag"] = f"W/{etag}"
        return response
