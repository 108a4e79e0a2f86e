"""Who may open what: a signed-in browser every page, a bearer token the JSON API within its scopes.

There is one owner and no password. `make run` and `manage.py signin` print a link. On the machine of the site, a
browser in which a person opens the link is signed in at once. Elsewhere it shows a button, and only the button uses up
the link, so that a chat program's preview does not (docs/decisions/16-sign-in-links.md).
"""

import hashlib
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect
from ninja.errors import HttpError
from ninja.security import HttpBearer

from viewer.models import ApiToken, SignInLink
from viewer.web import own_database
from viewer.web.middleware import is_for_this_machine, is_loopback
from viewer.web.own_database import OwnDatabaseUnavailable

SCOPES = ("read", "write", "compact")
INSIDE = "inside"  # of the tokens of doors: the calls that an agent makes by what is installed in it
NAME_LIMIT = 100  # characters of a token's name
_SIGNED_IN = "signed_in"
_SEEN_EVERY = timedelta(minutes=1)


# Sign-in links


def new_link() -> str:
    """Create a sign-in link and return its path, such as `/sign-in/<token>`; expired links are removed."""
    SignInLink.objects.filter(expires_at__lt=timezone.now() - timedelta(days=30)).delete()
    token = secrets.token_urlsafe(24)
    SignInLink.objects.create(token_hash=_hash(token))
    return reverse("sign-in", args=[token])


def load_kept_pages_anew(response: HttpResponse) -> HttpResponse:
    """The response; its new cookie has the pages that this browser kept for going back load themselves again."""
    name = f"{settings.SESSION_COOKIE_NAME}_pages"
    response.set_cookie(name, secrets.token_hex(8), samesite="Lax", path=settings.SESSION_COOKIE_PATH)
    return response


def sign_in(request: HttpRequest) -> None:
    """Sign this browser in, under a new session key (session fixation)."""
    request.session.cycle_key()
    request.session[_SIGNED_IN] = True


def is_signed_in(request: HttpRequest) -> bool:
    """Whether this browser used a sign-in link within the last 30 days."""
    return request.session.get(_SIGNED_IN) is True


class SignedIn:
    """Middleware: every page needs a signed-in browser; static files, sign-in pages, the API and the MCP server do not.

    The last two are let through because they check bearer tokens themselves.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self._open = ("/static/", "/sign-in/", "/api/", "/mcp/")

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if f"{request.path_info}/".startswith(self._open) or is_signed_in(request):
            return self.get_response(request)
        if getattr(request, "htmx", False):
            return HttpResponseClientRedirect(reverse("sign-in-help"))
        return redirect("sign-in-help")


@never_cache
@require_safe
def sign_in_help(request: HttpRequest) -> HttpResponse:
    """The page that says how to get a sign-in link."""
    if is_signed_in(request):
        return redirect("pages:sessions")
    return render(request, "access/help.html", {"command": settings.COMMAND})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_page(request: HttpRequest, token: str) -> HttpResponse:
    """POST uses up the link and signs in, and so does a GET of a person on this machine; other GETs change nothing."""
    link = SignInLink.objects.filter(token_hash=_hash(token)).first()
    if (request.method == "POST" or _is_opened_here(request)) and link and _use(link):
        sign_in(request)
        return redirect("pages:sessions")
    problem = _problem(link)
    if problem and is_signed_in(request):
        return redirect("pages:sessions")
    context = {"problem": problem, "command": settings.COMMAND}
    return render(request, "access/sign_in.html", context, status=410 if problem else 200)


_THROUGH_OTHERS = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP")
_AHEAD = ("Sec-Purpose", "Purpose", "X-Purpose", "X-Moz")  # of pages that are loaded before somebody asks for them


def _is_opened_here(request: HttpRequest) -> bool:
    """Whether a browser on the machine of the site opens the address as a page, and no other page led to it."""
    opened = ("navigate", "document", "none")
    return (
        request.method == "GET"
        and is_for_this_machine(request)
        and is_loopback(request.META.get("REMOTE_ADDR", ""))
        and tuple(request.headers.get(f"Sec-Fetch-{name}") for name in ("Mode", "Dest", "Site")) == opened
        and not any(name in request.headers for name in (*_THROUGH_OTHERS, *_AHEAD))
    )


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End this browser's session, and have it forget the pages that it kept for going back."""
    request.session.flush()
    response = load_kept_pages_anew(redirect("sign-in-help"))
    response["Clear-Site-Data"] = '"cache"'
    return response


def _use(link: SignInLink) -> bool:
    """Use up the link in one UPDATE, so that of two simultaneous clicks only one signs in."""
    now = timezone.now()
    return SignInLink.objects.filter(pk=link.pk, used_at=None, expires_at__gt=now).update(used_at=now) == 1


def _problem(link: SignInLink | None) -> str:
    """Why a link does not work (unknown, used, expired), "" if it does."""
    if link is None:
        return "unknown"
    link.refresh_from_db()
    if link.used_at:
        return "used"
    return "expired" if link.expires_at <= timezone.now() else ""


# API tokens


@sensitive_variables("token")
def new_token(name: str, scopes: Iterable[str]) -> str:
    """Create an API token and return it; it cannot be shown again.

    Raises ValueError if the name is in use or invalid, or a scope is not one of SCOPES.
    """
    requested = set(scopes)
    if not requested or not (requested <= set(SCOPES) or requested == {INSIDE}):
        raise ValueError(f"Scopes are one or more of {', '.join(SCOPES)}.")
    if not name.strip() or len(name) > NAME_LIMIT or not name.isprintable():
        raise ValueError(f"A token's name is one line of at most {NAME_LIMIT} characters.")
    token = f"palimpsest_{secrets.token_urlsafe(32)}"
    ordered = [scope for scope in (*SCOPES, INSIDE) if scope in requested]
    try:
        with transaction.atomic():
            ApiToken.objects.create(name=name, token_hash=_hash(token), scopes=ordered)
    except IntegrityError:
        raise ValueError(f"There is a token named {name} already: revoke it first, or take another name.") from None
    return token


class Scope(HttpBearer):
    """django-ninja's `auth=`: a known token (else 401) that has the scope (else 403)."""

    def __init__(self, scope: str) -> None:
        super().__init__()
        self.scope = scope

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        api_token = _token_of(token)
        if api_token and self.scope not in api_token.scopes:
            raise HttpError(403, f"The token {api_token.name} does not have the scope {self.scope}.")
        return api_token


def token_of(request: HttpRequest) -> ApiToken | None:
    """The known token in a request's header `Authorization`."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return _token_of(token.strip()) if kind.lower() == "bearer" and token.strip() else None


def require(scope: str) -> Scope:
    """The `auth=` of an API call that needs this scope: read, write, compact or inside."""
    if scope not in (*SCOPES, INSIDE):
        raise ValueError(f"No such scope: {scope}")
    return Scope(scope)


def _token_of(token: str) -> ApiToken | None:
    api_token = ApiToken.objects.filter(token_hash=_hash(token)).first()
    if api_token:
        # Once a minute is enough for "last used", and spares a write on every call.
        now = timezone.now()
        stale = Q(last_used_at=None) | Q(last_used_at__lt=now - _SEEN_EVERY)
        if api_token.last_used_at is None or api_token.last_used_at < now - _SEEN_EVERY:
            with suppress(OwnDatabaseUnavailable), own_database.noting():
                ApiToken.objects.filter(stale, pk=api_token.pk).update(last_used_at=now)
    return api_token


def _hash(token: str) -> str:
    """sha256 is enough for tokens of 192 random bits and more, which cannot be guessed."""
    return hashlib.sha256(token.encode()).hexdigest()
