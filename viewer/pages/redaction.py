"""Redaction of probable secrets on pages, if a cookie of the browser says so: off by default."""

from __future__ import annotations

from django.http import HttpRequest

from compaction.redaction import redact_shown
from viewer.rendering.redaction import redacted, redacted_item, redacted_session, redacted_text
from viewer.stores.base import Session, redacted_name

__all__ = [
    "COOKIE", "name", "redacted", "redacted_item", "redacted_session", "redacted_text", "redacts", "session_for",
    "text_for",
]  # fmt: skip

COOKIE = "palimpsest_mask"  # its first name: another one would silently show what was hidden


def redacts(request: HttpRequest) -> bool:
    """Whether this browser asks for redacted text."""
    return request.COOKIES.get(COOKIE) == "1"


def text_for(request: HttpRequest, text: str) -> str:
    """The text, redacted if the browser asks for it."""
    return redact_shown(text) if redacts(request) else text


def session_for(request: HttpRequest, session: Session) -> Session:
    """The session, with its title and other names redacted if the browser asks for it."""
    return redacted_session(session) if redacts(request) else session


def name(text: str, redacting: bool) -> str:
    """A session's name, or the first words in its place, redacted or not."""
    return redacted_name(text) if redacting else text
