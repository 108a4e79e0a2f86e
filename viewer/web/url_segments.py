"""Names of stores and ids of sessions as one URL segment: any text, which no server or browser changes on the way.

An agent may give its sessions any id. "%2F" is decoded by servers and proxies, "." and ".." are removed by browsers, an
empty segment is lost; only letters, digits and "-._~" are always unchanged (RFC 3986 section 2.3). So all other
characters are written as their UTF-8 bytes, each "~" and two hexadecimal digits: "telegram/123" is "telegram~2F123".
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote

from django.urls import register_converter

EMPTY = "~"
EXPLAINED = (
    "Ids of letters, digits and `-_.:` are in a path as they are; anything else as its UTF-8 bytes, each `~` and "
    "two hexadecimal digits: `telegram/123` is `telegram~2F123`. So is a `~` (`~7E`), and so are the whole ids `.` "
    "(`~2E`) and `..` (`~2E~2E`); the empty id is `~`. Queries, bodies and answers hold the ids themselves."
)
_ESCAPED = re.compile(rb"~([0-9A-Fa-f]{2})")


@lru_cache(4_096)
def segment(name: str) -> str:
    """The name as a segment; `name_in` is the inverse."""
    if name in (".", ".."):
        return name.replace(".", "~2E")
    # Lone surrogates, which no store contains, make a URL that matches nothing.
    escaped = quote(name, safe=":", errors="surrogatepass").replace("~", "~7E").replace("%", "~")
    return escaped or EMPTY


def name_in(text: str) -> str:
    """The name in a segment. Raises ValueError for what no store can contain: invalid UTF-8, or NUL.

    Characters that `segment` would have escaped may also be unescaped, as in URLs of older versions.
    """
    if text == EMPTY:
        return ""
    name = _ESCAPED.sub(lambda match: bytes.fromhex(match[1].decode()), text.encode()).decode()
    if "\0" in name:
        raise ValueError("No store can hold NUL in a name.")
    return name


def session_address(store: str, session_id: str) -> str:
    """The path of a session's page; below /api/v1, that of its calls."""
    return f"/stores/{segment(store)}/sessions/{segment(session_id)}"


class NameConverter:
    """Django's path converter `<name:…>`: views get the name itself, and `reverse` accepts it."""

    regex = "[^/]+"

    def to_python(self, value: str) -> str:
        return name_in(value)

    def to_url(self, value: str) -> str:
        return segment(value)


register_converter(NameConverter, "name")
