"""API tokens under Settings: made, shown once, used, revoked; and signing out."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect

from tests.browser import Visit, require_accessible
from tests.factories.stores import EmptyStore
from tests.html import Element, read
from viewer.models import ApiToken
from viewer.web import auth

KEEP = "async ([item]) => { window.copied = await item.getType('text/plain') }"  # instead of the clipboard


def section(client: Client, query: str = "") -> Element:
    return read(client.get(f"/settings{query}")).one("section", id="tokens")


def make(client: Client, name: str = "ci", *scopes: str) -> str:
    answer = client.post("/settings/tokens", {"name": name, "scopes": scopes or ("read",)})
    return read(answer).one("code", id="made").text


def status(token: str, path: str = "/api/v1/stores", method: str = "GET") -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return Client().generic(method, path, "{}", "application/json", headers=headers).status_code


def test_a_token_is_made_used_and_revoked(signed_in: Client, empty_store: EmptyStore) -> None:
    assert "There is no token yet." in section(signed_in).text
    token = make(signed_in, "nightly report", "compact", "read")
    assert ApiToken.objects.get().scopes == ["read", "compact"]
    line = section(signed_in).one("li")
    assert line.one("span", cls="meta").text == "read, compact made just now never used"
    assert status(token) == 200
    assert "last used just now" in section(signed_in).one("li").text
    href = line.one("form").attributes["action"]
    assert "Programs that use nightly report are refused from then on." in line.one("form").text
    answer = signed_in.post(href)
    assert answer.headers["Location"] == "/settings?token=revoked#tokens"
    assert status(token) == 401 and not ApiToken.objects.exists()
    assert section(signed_in, "?token=revoked").one("p", role="status").text.startswith("The token is revoked")
    assert signed_in.post(href).status_code == 302, "pressed twice"


def test_a_token_is_shown_in_one_answer_alone(signed_in: Client) -> None:
    answer = signed_in.post("/settings/tokens", {"name": "ci", "scopes": ["read"]})
    made = read(answer).one("section", id="tokens")
    token = made.one("code", id="made").text
    assert made.one("button", **{"data-copy-text": token}).text == "Copy"
    assert answer.headers["Cache-Control"] == "no-store"
    assert token not in signed_in.get("/settings").content.decode()
    assert token not in str(ApiToken.objects.values())


def test_scopes_that_were_not_given_are_refused(signed_in: Client, empty_store: EmptyStore) -> None:
    sessions = "/api/v1/stores/own/sessions"
    reader, writer = make(signed_in, "reader", "read"), make(signed_in, "writer", "write")
    assert (status(reader), status(reader, sessions, "POST")) == (200, 403)
    assert (status(writer), status(writer, sessions, "POST")) == (403, 201)


@pytest.mark.parametrize(
    ("said", "field", "sentence"),
    [
        ({"name": "", "scopes": ["read"]}, "name", "A token's name is one line of at most 100 characters."),
        ({"name": "x" * 101, "scopes": ["read"]}, "name", "A token's name is one line of at most 100 characters."),
        ({"name": "a\nb", "scopes": ["read"]}, "name", "A token's name is one line of at most 100 characters."),
        ({"name": "taken", "scopes": ["write"]}, "name", "There is a token named taken already"),
        ({"name": "new", "scopes": []}, "scopes", "Choose at least one scope."),
        ({"name": "new", "scopes": ["admin"]}, "scopes", "Choose at least one scope."),
    ],
)
def test_what_cannot_be_a_token(signed_in: Client, said: dict[str, object], field: str, sentence: str) -> None:
    auth.new_token("taken", ["read"])
    made = read(signed_in.post("/settings/tokens", said)).one("section", id="tokens")
    assert sentence in made.one("p", id=f"token-{field}-error").text
    assert not made.all("code", id="made") and ApiToken.objects.count() == 1
    ticked = [box.attributes["value"] for box in made.all("input", name="scopes") if "checked" in box.attributes]
    assert ticked == [scope for scope in auth.SCOPES if scope in str(said["scopes"])], "what was typed stays"


def test_a_script_with_a_token_makes_and_revokes_none(signed_in: Client) -> None:
    token = make(signed_in, "all", *auth.SCOPES)
    headers = {"Authorization": f"Bearer {token}"}
    for path, said in (
        ("/settings/tokens", {"name": "another", "scopes": ["read"]}),
        (f"/settings/tokens/{ApiToken.objects.get().pk}/revoke", {}),
    ):
        assert Client().post(path, said, headers=headers).headers["Location"] == "/sign-in/"
        strict = Client(enforce_csrf_checks=True)
        strict.cookies = signed_in.cookies
        assert strict.post(path, said, headers=headers).status_code == 403
        assert signed_in.get(path).status_code == 405
    assert [each.name for each in ApiToken.objects.all()] == ["all"]


def test_last_used_is_written_once_a_minute(signed_in: Client, empty_store: EmptyStore) -> None:
    token = make(signed_in)
    ApiToken.objects.update(last_used_at=timezone.now() - timedelta(seconds=30))
    noted = ApiToken.objects.get().last_used_at
    assert status(token) == 200 and ApiToken.objects.get().last_used_at == noted
    ApiToken.objects.update(last_used_at=timezone.now() - timedelta(days=3))
    assert "last used 3 d ago" in section(signed_in).one("li").text
    assert status(token) == 200
    assert "last used just now" in section(signed_in).one("li").text


def test_signing_out_is_a_setting(signed_in: Client) -> None:
    assert not read(signed_in.get("/stores")).all("form", action="/sign-out/")
    form = read(signed_in.get("/settings")).one("form", action="/sign-out/")
    assert form.one("button").text == "Sign out"


def test_a_token_with_the_keyboard(screen: Page, empty_store: EmptyStore) -> None:
    screen.goto("/settings")
    screen.locator("#token-name").focus()
    screen.keyboard.type("nightly-report")
    screen.keyboard.press("Tab")
    screen.keyboard.press("Tab")
    screen.keyboard.press("Space")
    screen.keyboard.press("Enter")
    made = screen.locator("#made")
    expect(made).to_be_in_viewport()
    assert ApiToken.objects.get().scopes == ["read", "write"]
    screen.evaluate(f"() => {{ navigator.clipboard.write = {KEEP} }}")
    screen.locator("#tokens").get_by_role("button", name="Copy").click()
    screen.get_by_text("Copied.").wait_for()
    assert screen.evaluate("copied.text()") == made.inner_text()
    screen.locator("summary", has_text="Revoke…").focus()
    screen.keyboard.press("Enter")
    require_accessible(screen, "a token to be revoked")
    screen.keyboard.press("Tab")
    screen.keyboard.press("Enter")
    screen.get_by_text("There is no token yet.").wait_for()


def test_a_token_without_javascript(visit: Visit) -> None:
    screen = visit(java_script_enabled=False)
    screen.goto("/settings")
    screen.locator("#token-name").fill("ci")
    screen.get_by_role("button", name="Make a token").click()
    expect(screen.locator("#made")).to_contain_text("palimpsest_")
    expect(screen.locator("#tokens").get_by_role("button", name="Copy")).to_be_hidden()
    screen.locator("summary", has_text="Revoke…").click()
    screen.get_by_role("button", name="Revoke ci").click()
    expect(screen.locator("#tokens")).to_contain_text("The token is revoked")
