"""The forms of the settings page for the models that write summaries and their addresses.

A key goes one way, from the form into our own database: no template shows the value of its field.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.views.decorators.debug import sensitive_variables

from viewer.runs.providers import PROVIDERS, connections, limits
from viewer.runs.providers.provider import ModelAccess
from viewer.settings.server_url import is_server_url

MODEL_LIMIT, ADDRESS_LIMIT, KEY_LIMIT = 200, 500, 1_000  # characters, as wide as the columns
MOST_WINDOW = 100_000_000  # tokens


class ProviderForm(forms.Form):
    """The values typed for one provider. `cleaned_data` has the window as a number, None for the default."""

    model = forms.CharField(error_messages={"required": "Type the model's name, as its server calls it."})
    address = forms.CharField(required=False)
    key = forms.CharField(required=False)
    remove_key = forms.BooleanField(required=False)
    window = forms.CharField(required=False)

    def __init__(self, name: str, data: QueryDict | None = None) -> None:
        row = connections.stored(name)
        initial = {"model": row.model, "address": row.base_url, "window": str(row.window or "")} if row else {}
        super().__init__(data, initial=initial)
        self.provider = PROVIDERS[name]

    def clean_model(self) -> str:
        model: str = self.cleaned_data["model"]
        if len(model) > MODEL_LIMIT or not model.isprintable():
            raise ValidationError(f"A model's name is one line of at most {MODEL_LIMIT} characters.")
        return model

    def clean_address(self) -> str:
        address: str = self.cleaned_data["address"].rstrip("/")
        if address and (len(address) > ADDRESS_LIMIT or not is_server_url(address)):
            raise ValidationError("Type the URL as https://host/path: no name or password, no question mark in it.")
        if added := next((path for path in self.provider.sdk_paths if address.endswith(path)), ""):
            raise ValidationError(f"Leave {added} out at the end of the URL: it is added by itself.")
        return address

    @sensitive_variables()
    def clean_key(self) -> str:
        key: str = self.cleaned_data["key"]
        variable = key.removeprefix(connections.IN_ENVIRONMENT)
        if variable != key and not connections.KEY_VARIABLES.fullmatch(variable):
            raise ValidationError(
                "Of the environment a key is taken from names such as env:OPENROUTER_API_KEY or env:PALIMPSEST_MY_KEY."
            )
        if len(key) > KEY_LIMIT or not re.fullmatch(r"[!-~]*", key):
            raise ValidationError(
                f"A key is one word of at most {KEY_LIMIT:,} letters, digits and signs. This one was not stored."
            )
        return key

    def clean_window(self) -> int | None:
        window = re.sub(r"[\s,_]", "", self.cleaned_data["window"])
        if not window:
            return None
        if not (window.isascii() and window.isdigit() and 0 < int(window[:12]) <= MOST_WINDOW):
            raise ValidationError("Type the context window as a number of tokens, such as 32768.")
        return int(window)

    @sensitive_variables()
    def draft(self) -> ModelAccess:
        """The connection of a valid form; without a key, with the stored one, unless that is to be removed."""
        typed = self.cleaned_data
        key = typed["key"] or ("" if typed["remove_key"] else None)
        return connections.draft(self.provider.name, typed["model"], typed["address"], typed["window"], key)


def section(name: str, form: ProviderForm | None = None, **more: object) -> dict[str, Any]:
    """One provider: its form, and its current setup; `more` is a message about it, or the trial of a connection.

    `fixed` are settings from the environment; `stored`: a connection is stored, `has_key`: it has a key (the key itself
    is not here), `key_from` is the variable with the key, `key_problem` why it cannot be used. `retype`: a key was
    typed and not saved. `window` is the context window in use.
    """
    row, used = connections.stored(name), connections.connection(name)
    key = connections.read_key(row.api_key if row else "")
    return {
        "provider": PROVIDERS[name],
        "form": form or ProviderForm(name),
        "fixed": _fixed(used) if used and used.source == "environment" else (),
        "stored": row is not None,
        "has_key": bool(row and row.api_key),
        "key_from": key.variable,
        "key_problem": key.problem,
        "retype": bool(form and form["key"].value()),
        "window": limits.window_of(used) if used else None,
        "host": used.host if used else "",
        "unsafe": bool(used and _is_open(used.base_url)),
        **more,
    }


def _fixed(used: ModelAccess) -> list[tuple[str, str, str]]:
    """Label and value of each setting that cannot be changed here, and the variable that sets it."""
    provider = used.provider
    given, variable, common = settings.MODELS[provider.name], provider.variable, provider.name.upper()
    window = f"{limits.window_of(used):,} tokens"
    rows = (
        ("model", "Model", used.model, variable("MODEL")),
        ("base_url", "URL", used.base_url, f"{variable('URL')} or {common}_BASE_URL"),
        ("api_key", "Key", "given" if used.api_key else "none", f"{variable('KEY')} or {common}_API_KEY"),
        ("window", "Context window", window, variable("WINDOW")),
    )
    return [(label, value, f"set by {by}" if given[name] else "") for name, label, value, by in rows]


def _is_open(address: str) -> bool:
    """Whether others can read what is sent there: it is not encrypted, and it leaves this machine."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost" or host.endswith(".localhost")
    return parts.scheme == "http" and not local
