"""API tokens on the settings page: the list, and the form that makes one. A token itself stands in the one answer that
made it, and in no address.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.urls import reverse
from django.utils.safestring import SafeString

from viewer.models import ApiToken
from viewer.rendering import formats
from viewer.rendering.texts import clean
from viewer.web import auth

SCOPES = {  # in the order of `auth.SCOPES`
    "read": "sessions, messages, search, exports, plans",
    "write": "create, append, rename, archive, branch, mark notes as passed on",
    "compact": "compact, apply and discard, undo",
}


@dataclass(frozen=True, slots=True)
class TokenLine:
    """One token as the list shows it."""

    id: int
    href: str
    name: str
    scopes: str
    made: SafeString
    last_used: SafeString | None


@dataclass(frozen=True, slots=True)
class TokenSection:
    """All tokens, and the form: `scopes` are value, explanation and whether it is ticked; `made` a token that was made
    just now, `made_name` its name; `revoked` that one was revoked; `errors` by field.
    """

    lines: tuple[TokenLine, ...]
    scopes: tuple[tuple[str, str, bool], ...]
    limit: int = auth.NAME_LIMIT
    name: str = ""
    made: str = ""
    made_name: str = ""
    revoked: bool = False
    errors: dict[str, str] = field(default_factory=dict)


def section(*, revoked: bool = False, made: str = "", made_name: str = "") -> TokenSection:
    """The list with an empty form, and the news of it."""
    return TokenSection(_lines(), _scopes(("read",)), revoked=revoked, made=made, made_name=made_name)


def refused(name: str, scopes: Sequence[str], errors: dict[str, str]) -> TokenSection:
    """The list with the form as it was typed."""
    return TokenSection(_lines(), _scopes(scopes), name=clean(name[: auth.NAME_LIMIT]), errors=errors)


def _lines() -> tuple[TokenLine, ...]:
    return tuple(_line(token) for token in ApiToken.objects.order_by("name"))


def _line(token: ApiToken) -> TokenLine:
    return TokenLine(
        id=token.pk,
        href=reverse("pages:revoke", args=[token.pk]),
        name=clean(token.name),
        scopes=", ".join(token.scopes),
        made=formats.ago(token.created_at.timestamp()),
        last_used=formats.ago(token.last_used_at.timestamp()) if token.last_used_at else None,
    )


def _scopes(ticked: Sequence[str]) -> tuple[tuple[str, str, bool], ...]:
    return tuple((scope, explained, scope in ticked) for scope, explained in SCOPES.items())
