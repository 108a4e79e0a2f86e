"""Keys of models in our own database: encrypted with the secret key, or a name in the environment."""

from __future__ import annotations

import pytest
from django.conf import settings as site
from django.test import Client
from pytest_django import Settings

from viewer.runs.errors import ModelFailed
from viewer.runs.models import Connection
from viewer.runs.providers import connections, failures

KEY = "sk-1234567890"
OTHER = "another secret key of this site, long enough"
FORM = {"model": "m", "address": "https://models.example/v1"}


def test_a_key_is_read_back_and_does_not_stand_there() -> None:
    stored = connections.encrypt_key(KEY)
    assert KEY not in stored and connections.read_key(stored) == connections.Key(KEY)
    assert connections.encrypt_key("") == "" and connections.read_key("") == connections.Key()
    assert KEY not in repr(connections.read_key(stored))


def test_a_secret_key_can_be_replaced(settings: Settings) -> None:
    stored = connections.encrypt_key(KEY)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = OTHER, [site.SECRET_KEY]
    assert connections.read_key(stored).value == KEY
    renewed = connections.reencrypt_key(stored)
    assert renewed != stored and connections.reencrypt_key(renewed) == renewed
    settings.SECRET_KEY_FALLBACKS = []
    assert connections.read_key(renewed).value == KEY
    assert (
        connections.read_key(stored) == connections.Key(problem=connections.UNREADABLE_KEY)
        and connections.reencrypt_key(stored) == stored
    )


@pytest.mark.parametrize("damaged", ["fernet:", "fernet:x", "fernet:\u00e4", "env:", "env:HOME"])
def test_whatever_stands_there_is_no_fault_of_ours(damaged: str) -> None:
    found = connections.read_key(damaged)
    assert found.value == "" and found.problem


def test_with_another_secret_key_the_key_is_asked_for_again(signed_in: Client, settings: Settings) -> None:
    signed_in.post("/settings/openai", {**FORM, "key": KEY})
    before = Connection.objects.get().api_key
    settings.SECRET_KEY = OTHER
    session = signed_in.session  # what was signed with the old one is no more
    session["signed_in"] = True
    session.save()
    page = signed_in.get("/settings").content.decode()
    assert "present secret key: enter the key again." in page and KEY not in page
    tried = signed_in.post("/settings/openai", {**FORM, "do": "test"}).content.decode()
    assert "enter the key again" in tried
    used = connections.connection("openai")
    assert used is not None
    with pytest.raises(ModelFailed) as failed:
        failures.require_sendable(used)
    assert failed.value.code == "model_key_unreadable"
    signed_in.post("/settings/openai", {**FORM, "model": "another"})
    assert Connection.objects.get().api_key == before  # the old secret key may come back
    signed_in.post("/settings/openai", {**FORM, "key": KEY})
    assert "enter the key again" not in signed_in.get("/settings").content.decode()


def test_a_key_may_stay_in_the_environment(signed_in: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    signed_in.post("/settings/openai", {**FORM, "key": "env:MODELS_API_KEY"})
    assert Connection.objects.get().api_key == "env:MODELS_API_KEY"
    assert "The environment variable MODELS_API_KEY, which is to hold the key, is not set." in (
        signed_in.get("/settings").content.decode()
    )
    monkeypatch.setenv("MODELS_API_KEY", KEY)
    used = connections.connection("openai")
    assert used is not None and used.api_key == KEY and not used.key_problem
    page = " ".join(signed_in.get("/settings").content.decode().split())
    assert "taken from the environment variable <code>MODELS_API_KEY</code>" in page and KEY not in page
    signed_in.post("/settings/openai", {**FORM, "address": "https://elsewhere.example/v1"})
    assert Connection.objects.get().api_key == ""  # as of any key, it goes to its own server alone


@pytest.mark.parametrize("name", ["", "HOME", "PALIMPSEST_SECRET_KEY", "AWS_SECRET_ACCESS_KEY", "api_key"])
def test_no_other_secret_of_the_process_can_be_sent(signed_in: Client, name: str) -> None:
    said = signed_in.post("/settings/openai", {**FORM, "key": f"env:{name}"})
    assert said.status_code == 200 and not Connection.objects.exists()


@pytest.mark.django_db
def test_a_start_encrypts_with_the_present_secret_key(settings: Settings) -> None:
    Connection.objects.create(kind="openai", model="m", api_key=KEY)
    Connection.objects.create(kind="anthropic", model="m", api_key=connections.encrypt_key(KEY))
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = OTHER, [site.SECRET_KEY]
    connections.reencrypt_keys()
    settings.SECRET_KEY_FALLBACKS = []
    assert [found.api_key for found in connections.all_connections()] == [KEY, KEY]
    assert KEY not in "".join(Connection.objects.values_list("api_key", flat=True))
