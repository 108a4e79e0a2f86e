"""Models that write summaries. A provider is an interface by which models are reached, and each has one file here.

`settings.MODEL_PROVIDERS` names these files and `PROVIDERS` has what they define. `provider` is what they are made of,
`connections` the models that are set up and their keys, `limits` their context windows and prices; `summarizers` ask a
model through an `exchange`, and `failures` words what went wrong.
"""

from __future__ import annotations

from importlib import import_module

from django.conf import settings

from .provider import Provider

PROVIDERS: dict[str, Provider] = {
    name: import_module(f"{__name__}.{name}").PROVIDER for name in settings.MODEL_PROVIDERS
}
assert all(provider.name == name for name, provider in PROVIDERS.items())
