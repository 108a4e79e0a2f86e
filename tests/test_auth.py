"""Sign-in links, the wall around pages, API tokens and their command."""

import hashlib
import io
from datetime import timedelta

import pytest
from django.conf import settings
from django.core.management import call_command
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import include, path
from django.utils import timezone
from ninja import NinjaAPI

from viewer import urls
from viewer.models import ApiToken, SignInLink
from viewer.web import auth

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]

api = NinjaAPI(urls_namespace="test-access", docs_url=None)


@api.get("/read", auth=auth.require("read"))
def read_something(request: HttpRequest) -> str:
    return str(getattr(request, "auth", ""))


def private(request: HttpRequest) -> HttpResponse:
    return HttpResponse("private")


pages = include(([path("", private, name="sessions"), path("private", private)], "pages"))
urlpatterns = [*urls.urlpatterns[:3], path("api/test/", api.urls), path("", pages)]
urlpatterns += [path(f"{prefix}-private", private) for prefix in ("static", "sign-in", "api")]


# Pages


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_stranger_is_led_to_the_page_that_explains(client: Client, method: str) -> None:
    answer = getattr(client, method)("/private")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/sign-in/")
    page = client.get("/sign-in/").content.decode()
    assert "A session before and after a compaction" in page, "what this site is"
    assert "manage.py signin" in page
    assert "Each start" in page


def test_a_stranger_s_partial_update_moves_the_whole_page(client: Client) -> None:
    answer = client.get("/private", headers={"HX-Request": "true"})
    assert answer.headers["HX-Redirect"] == "/sign-in/"
    assert b"private" not in answer.content


def test_a_forged_cookie_is_a_stranger(client: Client) -> None:
    client.cookies[settings.SESSION_COOKIE_NAME] = "x" * 32
    assert client.get("/private").status_code == 302


def test_signed_in(signed_in: Client) -> None:
    assert signed_in.get("/private").content == b"private"
    assert signed_in.get("/sign-in/").headers["Location"] == "/"


@pytest.mark.parametrize("prefix", ["static", "sign-in", "api"])
def test_a_page_whose_name_begins_like_an_open_one_is_behind_the_wall(client: Client, prefix: str) -> None:
    assert client.get(f"/{prefix}-private").status_code == 302


# Links


def test_looking_at_a_link_does_not_use_it_up(client: Client) -> None:
    link = auth.new_link()
    for _ in range(3):
        page = client.get(link)
        assert page.status_code == 200
        assert "Continue" in page.content.decode()
        assert "no-store" in page.headers["Cache-Control"]
    client.head(link)
    assert client.get("/private").status_code == 302
    assert client.post(link).headers["Location"] == "/"
    assert client.get("/private").content == b"private"


OPENED = {
    "Host": "127.0.0.1:8000",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Site": "none",
}


def test_a_browser_on_this_machine_is_signed_in_by_opening_the_link(client: Client) -> None:
    link = auth.new_link()
    assert client.get(link, headers=OPENED).headers["Location"] == "/"
    assert client.get("/private").content == b"private"
    assert client.get(link, headers=OPENED).headers["Location"] == "/", "a restored tab is led on"
    assert Client().get(link, headers=OPENED).status_code == 410


@pytest.mark.parametrize(
    "different",
    [
        {"Sec-Fetch-Mode": "cors"},
        {"Sec-Fetch-Dest": "iframe"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Purpose": "prefetch;prerender"},
        {"Purpose": "prefetch"},
        {"X-Forwarded-For": "192.0.2.1"},
        {"X-Forwarded-Proto": "https"},
        {"Via": "1.1 proxy"},
        {"Host": "agents.example"},
        {"REMOTE_ADDR": "172.17.0.1"},
        {"REMOTE_ADDR": ""},
    ],
    ids=str,
)
@override_settings(ALLOWED_HOSTS=["127.0.0.1", "testserver", "agents.example"])
def test_what_may_be_a_preview_is_asked_first(client: Client, different: dict[str, str]) -> None:
    link, peer = auth.new_link(), different.get("REMOTE_ADDR", "127.0.0.1")
    headers = OPENED | {name: value for name, value in different.items() if name != "REMOTE_ADDR"}
    assert "Continue" in client.get(link, headers=headers, REMOTE_ADDR=peer).content.decode()
    client.head(link, headers=OPENED)
    assert client.get("/private").status_code == 302
    assert client.post(link).status_code == 302, "it is not used up"


def test_the_cookie_is_the_owner_s_for_thirty_days(client: Client) -> None:
    client.post(auth.new_link())
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    assert cookie["max-age"] == 30 * 24 * 60 * 60
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_signing_in_changes_the_session_key(client: Client) -> None:
    session = client.session
    session.save()
    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key or ""
    client.post(auth.new_link())
    assert client.cookies[settings.SESSION_COOKIE_NAME].value != session.session_key


def test_a_link_works_once(client: Client) -> None:
    link = auth.new_link()
    assert Client().post(link).status_code == 302
    answer = client.post(link)
    assert answer.status_code == 410
    assert "has been used" in answer.content.decode()
    assert "has been used" in client.get(link).content.decode()
    assert client.get("/private").status_code == 302


def test_two_clicks_on_one_link_sign_in_once() -> None:
    link = auth.new_link()
    found = SignInLink.objects.get()
    assert [auth._use(found), auth._use(found)] == [True, False]
    assert Client().post(link).status_code == 410


def test_the_used_link_leads_its_own_browser_on(client: Client) -> None:
    link = auth.new_link()
    client.post(link)
    assert client.get(link).headers["Location"] == "/"


def test_a_link_expires_after_a_day(client: Client) -> None:
    link = auth.new_link()
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    for answer in (client.get(link), client.post(link)):
        assert answer.status_code == 410
        assert "has expired" in answer.content.decode()
    assert client.get("/private").status_code == 302
    lifetime = SignInLink(token_hash="x").expires_at - timezone.now()
    assert timedelta(hours=23, minutes=59) < lifetime <= timedelta(hours=24)


def test_an_unknown_link(client: Client) -> None:
    for answer in (client.get("/sign-in/nonsense"), client.post("/sign-in/nonsense")):
        assert answer.status_code == 410
        assert "not known" in answer.content.decode()


def test_signing_in_needs_the_csrf_token() -> None:
    strict = Client(enforce_csrf_checks=True)
    link = auth.new_link()
    assert strict.post(link).status_code == 403
    token = strict.get(link).context["csrf_token"]
    assert strict.post(link, {"csrfmiddlewaretoken": str(token)}).status_code == 302


def test_only_hashes_are_stored() -> None:
    token = auth.new_link().rpartition("/")[2]
    assert SignInLink.objects.get().token_hash == hashlib.sha256(token.encode()).hexdigest()
    bearer = auth.new_token("ci", ["read"])
    assert ApiToken.objects.get().token_hash == hashlib.sha256(bearer.encode()).hexdigest()


def test_sign_out(signed_in: Client) -> None:
    assert signed_in.post("/sign-out/").headers["Location"] == "/sign-in/"
    assert signed_in.get("/private").status_code == 302


def test_signin_command_prints_a_link_that_works(client: Client) -> None:
    out = io.StringIO()
    call_command("signin", stdout=out)
    address, _, link = out.getvalue().strip().partition("/sign-in/")
    assert address == "http://127.0.0.1:8000"
    assert client.post(f"/sign-in/{link}").status_code == 302


# Tokens


def call(token: str) -> int:
    return Client().get("/api/test/read", headers={"Authorization": f"Bearer {token}"}).status_code


def test_a_token_opens_what_its_scopes_say() -> None:
    assert call(auth.new_token("reader", ["read"])) == 200
    assert call(auth.new_token("writer", ["write", "compact"])) == 403
    assert call("palimpsest_unknown") == 401
    assert Client().get("/api/test/read").status_code == 401


def test_a_browser_s_cookie_does_not_open_the_api(signed_in: Client) -> None:
    assert signed_in.get("/api/test/read").status_code == 401


def test_a_token_does_not_open_pages() -> None:
    token = auth.new_token("all", auth.SCOPES)
    assert Client().get("/private", headers={"Authorization": f"Bearer {token}"}).status_code == 302


def test_last_used_is_noted_once_a_minute() -> None:
    token = auth.new_token("ci", ["read"])
    call(token)
    first = ApiToken.objects.get().last_used_at
    assert first is not None
    call(token)
    assert ApiToken.objects.get().last_used_at == first
    ApiToken.objects.update(last_used_at=timezone.now() - timedelta(minutes=2))
    call(token)
    assert (ApiToken.objects.get().last_used_at or first) > first


@pytest.mark.parametrize("scopes", [[], ["admin"], ["read", "admin"]])
def test_scopes_are_checked(scopes: list[str]) -> None:
    with pytest.raises(ValueError, match="read, write, compact"):
        auth.new_token("ci", scopes)


def test_require_knows_its_scopes() -> None:
    with pytest.raises(ValueError, match="admin"):
        auth.require("admin")


def test_token_command() -> None:
    def token(*words: str) -> str:
        out = io.StringIO()
        call_command("token", *words, stdout=out, stderr=io.StringIO())
        return out.getvalue().strip()

    made = token("create", "ci", "--scopes", "compact, read")
    assert call(made) == 200
    with pytest.raises(SystemExit, match="token named ci already"):
        token("create", "ci")
    with pytest.raises(SystemExit, match="read, write, compact"):
        token("create", "other", "--scopes", "all")
    listed = token("list")
    assert listed.startswith("ci  read,compact  made ")
    assert made not in listed
    assert token("revoke", "ci") == "Revoked ci."
    assert call(made) == 401
    with pytest.raises(SystemExit, match="no token named ci"):
        token("revoke", "ci")
