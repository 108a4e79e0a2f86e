"""API tokens on the settings page: the list, and the form that makes one. A token itself is only in the response that
made it, and in no address.
"""

from __future__ import annotations

from typing import Any

from django import forms

from viewer.models import ApiToken
from viewer.web import auth

SCOPES = {  # in the order of `auth.SCOPES`
    "read": "sessions, messages, search, exports, plans",
    "write": "create, append, rename, archive, branch, mark notes as passed on",
    "compact": "compact, apply and discard, undo",
}
_NO_SCOPE = "Choose at least one scope."


class TokenForm(forms.Form):
    """The values typed for a new token; `auth.new_token` checks its name."""

    name = forms.CharField(required=False, initial="")
    scopes = forms.MultipleChoiceField(
        choices=list(SCOPES.items()),
        initial=["read"],
        error_messages={"required": _NO_SCOPE, "invalid_choice": _NO_SCOPE},
    )

    def make(self) -> str:
        """Make the token and return it; "" if the values are refused, for which see `errors`."""
        if self.is_valid():
            try:
                return auth.new_token(self.cleaned_data["name"], self.cleaned_data["scopes"])
            except ValueError as problem:
                self.add_error("name", str(problem))
        return ""


def section(
    form: TokenForm | None = None, *, made: str = "", made_name: str = "", revoked: bool = False
) -> dict[str, Any]:
    """All tokens, and the form. `made` is a token that was just made, `revoked`: one was revoked."""
    return {
        "tokens": ApiToken.objects.order_by("name"),
        "form": form or TokenForm(),
        "limit": auth.NAME_LIMIT,
        "made": made,
        "made_name": made_name,
        "revoked": revoked,
    }
