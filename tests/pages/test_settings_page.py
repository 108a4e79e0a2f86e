"""The settings page: what is kept, what a test says, and that the key is told to nobody but its own server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from tests.factories.stores import HermesStore
from tests.html import Element, read
from tests.model_services import KEY, PATIENCE, ModelService, answers, refuses, stalls
from tests.slow import slow
from viewer.runs.models import Connection, Run
from viewer.runs.providers import connections, summarizers
from viewer.runs.providers.connections import read_key
from viewer.web import auth

FRAGMENT = {"HX-Request": "true"}
PART = KEY[8:24]  # of the key: not even this may be seen


def section(client: Client, kind: str = "openai") -> Element:
    return read(client.get("/settings")).one("section", id=kind)


def save(client: Client, kind: str = "openai", **said: str) -> str:
    """Fill the form and press *Save*; the page's news."""
    answer = client.post(f"/settings/{kind}", {"model": "some-model", **said}, follow=True)
    assert answer.redirect_chain, answer.content
    return read(answer).one("section", id=kind).one("p", role="status").text


def test_an_empty_page_asks_for_a_model_and_says_what_is_sent(signed_in: Client, settings: Settings) -> None:
    page = read(signed_in.get("/settings"))
    assert [each.text for each in page.all("h2")][:3] == ["Models", "OpenAI or compatible", "Anthropic"]
    assert page.one("a", **{"aria-current": "page"}).text == "Settings"
    assert "credentials are blacked out" in page.one("main").text
    assert page.one("main").all("code")[-1].text == str(settings.DATABASES["default"]["NAME"])
    form = page.one("section", id="openai")
    for field in form.all("input"):
        named = [label.attributes["for"] for label in form.all("label") if "for" in label.attributes]
        assert field.attributes["type"] == "hidden" or field.attributes["id"] in named
    assert not form.all("button", value="remove")


def test_the_fields_of_a_model_are_folded_until_it_is_set_up(signed_in: Client) -> None:
    assert "Not set up" in section(signed_in).text and "open" not in section(signed_in).one("details").attributes
    wrong = read(signed_in.post("/settings/openai", {"model": ""})).one("section", id="openai")
    assert "open" in wrong.one("details").attributes, "the error can be seen"
    save(signed_in)
    assert "Not set up" not in section(signed_in).text and "open" in section(signed_in).one("details").attributes
    assert "open" not in section(signed_in, "anthropic").one("details").attributes


def test_the_place_of_our_own_data_is_named_without_its_password(
    signed_in: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = {"ENGINE": "django.db.backends.postgresql", "NAME": "runs", "HOST": "db.example", "PASSWORD": "hunter2"}
    monkeypatch.setitem(settings.DATABASES, "default", settings.DATABASES["default"] | shared)
    page = signed_in.get("/settings").content.decode()
    assert "PostgreSQL database runs at db.example" in page and "hunter2" not in page


def test_what_is_typed_is_kept_and_the_key_is_not_shown(signed_in: Client) -> None:
    assert save(signed_in, address="https://models.example/v1/", key=f" {KEY}\n", window="32,768") == "Saved."
    row = Connection.objects.get()
    assert (row.kind, row.model, row.base_url) == ("openai", "some-model", "https://models.example/v1")
    assert (read_key(row.api_key).value, row.window) == (KEY, 32_768) and KEY not in row.api_key
    shown = section(signed_in)
    values = [shown.one("input", name=name).attributes.get("value") for name in ("model", "address", "window")]
    assert values == ["some-model", "https://models.example/v1", "32768"]
    key = shown.one("input", name="key").attributes
    assert key["type"] == "password" and "value" not in key
    assert "A key is stored, encrypted." in shown.text and "models.example" in shown.text

    save(signed_in, address="https://models.example/v1", model="another")
    row = Connection.objects.get()
    assert (row.model, read_key(row.api_key).value) == ("another", KEY)
    assert save(signed_in, address="https://models.example/v1", remove_key="1") == "Saved."
    assert Connection.objects.get().api_key == ""
    assert "No key is stored." in section(signed_in).text
    signed_in.post("/settings/openai", {"do": "remove"})
    assert not Connection.objects.exists()


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("https://models.example/other/path", True),
        ("https://models.example:443/v1", True),
        ("https://MODELS.example/v1", True),
        ("https://models.example:8443/v1", False),
        ("http://models.example/v1", False),
        ("http://models.example:443/v1", False),
        ("https://models.example.net/v1", False),
        ("http://127.0.0.1:9/v1", False),
        ("", False),
    ],
)
def test_a_key_stays_with_the_server_it_was_given_for(signed_in: Client, address: str, kept: bool) -> None:
    save(signed_in, address="https://models.example/v1", key=KEY)
    news = save(signed_in, address=address)
    assert (read_key(Connection.objects.get().api_key).value == KEY) is kept
    assert ("type the key for this one" in news) is not kept
    save(signed_in, address=address, key="sk-new")
    assert read_key(Connection.objects.get().api_key).value == "sk-new"


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("model", " ", "Type the model's name"),
        ("model", "m" * 201, "at most 200 characters"),
        ("address", "models.example/v1", "Type the URL as https://host/path"),
        ("address", "ftp://models.example", "Type the URL as https://host/path"),
        ("address", "https://me:secret@models.example/v1", "no name or password"),
        ("address", "https://models.example/v1?key=abc", "no question mark"),
        ("address", "https://models.example:99999/v1", "Type the URL as https://host/path"),
        ("address", "https://[models/v1", "Type the URL as https://host/path"),
        ("address", "https://models.example/v1/chat/completions", "Leave /chat/completions out"),
        ("key", "two words", "A key is one word"),
        ("key", "sk-schlüssel", "A key is one word"),
        ("window", "many", "a number of tokens"),
        ("window", "0", "a number of tokens"),
        ("window", "9" * 400, "a number of tokens"),
        ("window", "١٢٨", "a number of tokens"),
    ],
)
def test_what_cannot_be_used_is_said_beside_its_field(signed_in: Client, field: str, value: str, sentence: str) -> None:
    typed = {"model": "some-model", "address": "https://typed.example/v1", "key": KEY, "window": "4096", field: value}
    page = signed_in.post("/settings/openai", typed)
    form = read(page).one("section", id="openai")
    wrong = form.one("input", **{"aria-invalid": "true"}).attributes
    assert wrong["name"] == field
    assert sentence in form.one("p", id=wrong["aria-describedby"]).text
    for name in {"model", "address", "window"} - {field}:
        assert form.one("input", name=name).attributes["value"] == typed[name]
    assert PART not in page.content.decode() and "two words" not in page.content.decode()
    assert not Connection.objects.exists()
    tried = read(signed_in.post("/settings/openai", typed | {"do": "test"}, headers=FRAGMENT))
    assert sentence in tried.text and not tried.all("html")


def test_anthropic_adds_its_own_version_to_the_address(signed_in: Client) -> None:
    page = signed_in.post("/settings/anthropic", {"model": "m", "address": "https://models.example/v1/"})
    assert "Leave /v1 out" in read(page).one("section", id="anthropic").text


def test_the_environment_is_shown_and_outranks_the_page(signed_in: Client, settings: Settings) -> None:
    save(signed_in, key="sk-typed-before")
    given = {"model": "from-outside", "base_url": "https://env.example/v1", "api_key": KEY, "window": 0}
    settings.MODELS = settings.MODELS | {"openai": given}
    shown = section(signed_in)
    for words in ("from-outside", "set by PALIMPSEST_OPENAI_MODEL", "set by PALIMPSEST_OPENAI_URL", "given"):
        assert words in shown.text
    assert "set by PALIMPSEST_OPENAI_WINDOW" not in shown.text
    assert [field.attributes["type"] for field in shown.all("input")] == ["hidden"]
    assert [button.text for button in shown.all("button")] == ["Test", "Remove"]
    assert PART not in signed_in.get("/settings").content.decode()
    signed_in.post("/settings/openai", {"do": "remove"})
    assert not Connection.objects.exists()


@pytest.mark.parametrize(
    ("address", "warned"),
    [
        ("http://models.example/v1", True),
        ("http://192.168.1.7:8080/v1", True),
        ("https://models.example/v1", False),
        ("http://localhost:11434/v1", False),
        ("http://127.0.0.2:8080/v1", False),
        ("http://[::1]:8080/v1", False),
    ],
)
def test_an_open_line_to_another_machine_is_warned_of(signed_in: Client, address: str, warned: bool) -> None:
    save(signed_in, address=address)
    assert bool(section(signed_in).all("p", "warn")) is warned


# --- Test ------------------------------------------------------------------------------------------------------------


def tried(client: Client, model_service: ModelService, kind: str = "openai", **said: str) -> Element:
    """Press *Test* with htmx."""
    address = f"{model_service.url}/v1" if kind == "openai" else model_service.url
    form = {"do": "test", "model": "some-model", "address": address, **said}
    return read(client.post(f"/settings/{kind}", form, headers=FRAGMENT))


@pytest.mark.parametrize("kind", ["openai", *slow("anthropic")])
def test_a_model_that_answers_works(signed_in: Client, model_service: ModelService, kind: str) -> None:
    said = tried(signed_in, model_service, kind, key=KEY)
    host = model_service.url.removeprefix("http://")
    assert said.one("p", "ok").text.startswith(f"Works: some-model at {host} wrote a summary in ")
    assert "12,000 tokens in, 80 out" in said.text and "not saved yet" in said.text
    assert len(model_service.requests) == 1 and len(model_service.prompts()[0]) < 6_000
    assert any(KEY in value for value in model_service.headers[0].values())
    assert not Connection.objects.exists()


def test_a_test_uses_the_stored_key_at_its_own_server_only(signed_in: Client, model_service: ModelService) -> None:
    save(signed_in, address=f"{model_service.url}/v1", key=KEY)
    assert "not saved yet" not in tried(signed_in, model_service).text
    assert any(KEY in value for value in model_service.headers[0].values())
    for said in ({"remove_key": "1"}, {"address": f"{model_service.url.replace('127.0.0.1', 'localhost')}/v1"}):
        tried(signed_in, model_service, **said)
        assert not any(PART in value for value in model_service.headers[-1].values()), said
    assert len(model_service.requests) == 3


def test_what_the_environment_sets_can_be_tried(
    signed_in: Client, model_service: ModelService, use_model: Callable[..., None]
) -> None:
    use_model("anthropic", model="from-outside")
    said = read(signed_in.post("/settings/anthropic", {"do": "test"}, headers=FRAGMENT))
    assert "Works: from-outside at " in said.text and "not saved yet" not in said.text
    page = read(signed_in.post("/settings/anthropic", {"do": "test"})).one("section", id="anthropic")
    assert "Works: from-outside at " in page.one("div", role="status").text


def test_without_htmx_the_page_keeps_what_was_typed_but_for_the_key(
    signed_in: Client, model_service: ModelService
) -> None:
    form = {"do": "test", "model": "some-model", "address": f"{model_service.url}/v1", "key": KEY, "window": "4096"}
    answer = signed_in.post("/settings/openai", form)
    shown = read(answer).one("section", id="openai")
    assert "Works" in shown.one("div", role="status").text
    assert "type it again before you save" in shown.text
    assert shown.one("input", name="window").attributes["value"] == "4096"
    assert PART not in answer.content.decode()


def test_what_goes_wrong_is_said_and_the_key_is_not(signed_in: Client, model_service: ModelService) -> None:
    model_service.behaviours = [refuses(400, f"Malformed request with key {KEY}"), refuses(401, f"Bad key {KEY}")]
    for words in ("did not accept the request", "does not accept the API key"):
        said = tried(signed_in, model_service, key=KEY)
        assert words in said.one("p", "bad").text and PART not in said.text


def test_a_text_that_is_no_summary_is_told_from_no_answer(signed_in: Client, model_service: ModelService) -> None:
    model_service.behaviours = [answers("I like trains.")]
    said = tried(signed_in, model_service).one("p", "bad").text
    assert "answered in" in said and "cannot be used as a summary" in said


def test_a_test_ends_when_it_takes_too_long(
    signed_in: Client, model_service: ModelService, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_service.behaviours = [stalls("## Active task")]
    for patience in (0.3, 3.0, 30.0):  # a busy machine may need more of it before it has asked
        monkeypatch.setattr(summarizers, "TEST_SECONDS", patience)
        assert "did not finish two short messages" in tried(signed_in, model_service).text
        if model_service.requests:
            break
    assert model_service.left.wait(PATIENCE)


# --- who may, and what is told to nobody -----------------------------------------------------------------------------


def test_only_the_owner_in_a_browser_reaches_it(signed_in: Client, db: None) -> None:
    token = auth.new_token("everything", auth.SCOPES)
    for headers in ({}, {"Authorization": f"Bearer {token}"}):
        client = Client(headers=headers)
        for answer in (client.get("/settings"), client.post("/settings/openai", {"model": "some-model"})):
            assert (answer.status_code, answer["Location"]) == (302, "/sign-in/")
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in.cookies
    assert strict.get("/settings").status_code == 200
    assert strict.post("/settings/openai", {"model": "some-model"}).status_code == 403
    assert signed_in.get("/settings/openai").status_code == 405
    assert signed_in.post("/settings/nobody", {"model": "some-model"}).status_code == 404
    assert not Connection.objects.exists()


@pytest.mark.parametrize("do", ["save", "test"])
def test_an_error_page_does_not_show_the_key(
    signed_in: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, do: str
) -> None:
    def breaks(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("the reason")

    monkeypatch.setattr(connections, "draft", breaks)
    settings.DEBUG = True
    signed_in.raise_request_exception = False
    answer = signed_in.post("/settings/openai", {"model": "some-model", "key": KEY, "do": do})
    assert answer.status_code == 500 and b"the reason" in answer.content
    assert PART not in answer.content.decode()


@pytest.mark.usefixtures("at_once")
def test_the_key_is_told_to_nobody_but_its_server(
    signed_in: Client,
    open_hermes_store: Callable[..., HermesStore],
    model_service: ModelService,
    caplog: pytest.LogCaptureFixture,
) -> None:
    hermes_store = open_hermes_store(31)
    session = f"/stores/hermes/sessions/{hermes_store.session_id}"
    token = auth.new_token("reader", auth.SCOPES)
    save(signed_in, address=f"{model_service.url}/v1", key=KEY)
    model_service.behaviours = [refuses(500, f"oops {KEY}"), refuses(401, f"Bad key {KEY}"), answers()]
    told: list[str] = []
    for _ in range(2):
        answer = signed_in.post(f"{session}/compact", {"apply": "1", "summarizer": "openai"}, headers=FRAGMENT)
        told.append(answer.content.decode())
    assert [run.status for run in Run.objects.order_by("pk")] == ["failed", "applied"]
    runs = [f"/runs/{run.pk}" for run in Run.objects.all()]
    for page in ("/", "/stores", "/compactions", "/settings", session, f"{session}/plan?summarizer=openai", *runs):
        told.append(signed_in.get(page, follow=True).content.decode())
    bearer = Client(headers={"Authorization": f"Bearer {token}"})
    for call in ("/stores", "/runs", *runs, f"{session}", f"{session}/compactions", "/openapi.json"):
        answer = bearer.get(f"/api/v1{call}")
        assert answer.status_code == 200, call
        told.append(answer.content.decode())
    assert not [text[:200] for text in told if PART in text]
    assert PART not in caplog.text
    assert PART not in str(list(Run.objects.values()))
    stored = [path.read_bytes() for path in hermes_store.path.parent.glob(f"{hermes_store.path.name}*")]
    assert stored and not any(PART.encode() in octets for octets in stored)
    assert any(KEY in value for value in model_service.headers[-1].values())


def test_a_trial_does_not_send_to_the_page_it_is_shown_on(signed_in: Client) -> None:
    typed = {"model": "m", "address": "http://127.0.0.1:9", "do": "test"}
    told = read(signed_in.post("/settings/openai", typed, headers=FRAGMENT)).one("p", "bad").text
    assert "check the URL." in told
    assert "settings page" not in told
