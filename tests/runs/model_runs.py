"""Runs that ask a model's server, by each provider, and where a key must not be found afterwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.conf import settings

from tests.factories.stores import HermesStore
from tests.model_services import KEY
from viewer.runs import service
from viewer.runs.models import Run
from viewer.runs.planning import Options

UseModel = Callable[..., None]

PROVIDERS = tuple(settings.MODEL_PROVIDERS)


def started(hermes_store: HermesStore, provider: str) -> Run:
    return service.start(hermes_store.store, hermes_store.session_id, Options(summarizer=provider), apply=True)


def require_no_key(run: Run, hermes_store: HermesStore, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the key nor a good part of it stands in the row, the store or any log."""
    row = str(Run.objects.filter(pk=run.pk).values().get())
    stored = b"".join(path.read_bytes() for path in hermes_store.path.parent.glob(f"{hermes_store.path.name}*"))
    part = KEY[8:24]
    assert part not in row and part not in caplog.text and part.encode() not in stored
