"""The settings page: which models write summaries, where they are reached, and whether they answer; how each store is
compacted; whose rules a compaction carries; API tokens.

A key goes one way, from the form into our own database: no page, address, log line or error page repeats it.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings as site
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.debug import SafeExceptionReporterFilter
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_POST, require_safe

from viewer.models import ApiToken
from viewer.pages.http import is_fragment, page, shows_refusals
from viewer.rendering.texts import clean
from viewer.runs.providers import PROVIDERS, connections, limits
from viewer.runs.providers.provider import ModelAccess, Provider
from viewer.runs.providers.summarizers import ConnectionTest, try_connection
from viewer.settings.server_url import is_server_url
from viewer.stores.registry import get_store
from viewer.workspaces.rules import kept_rules

from . import compacting, rules, tokens
from .compacting import CompactionForm
from .rules import RulesForm
from .tokens import TokenForm

MODEL_LIMIT, ADDRESS_LIMIT, KEY_LIMIT = 200, 500, 1_000  # characters, as wide as the columns
MOST_WINDOW = 100_000_000  # tokens
NEWS = {  # how it is shown, and what is said
    "saved": ("ok", "Saved."),
    "keyless": (
        "warn",
        "Saved. The key stored before was given for another server and was removed: type the key for this one, "
        "if it asks for one.",
    ),
    "removed": ("ok", "Removed."),
}


@dataclass(frozen=True, slots=True)
class Fixed:
    """A value that the environment sets, so that it cannot be changed here, and the variable it comes from."""

    name: str
    value: str
    origin: str


@dataclass(frozen=True, slots=True)
class Trial:
    """The test of a connection; `saved` when it is the one that runs use."""

    result: ConnectionTest
    saved: bool


@dataclass(frozen=True, slots=True)
class Section:
    """The form of one provider: what is saved, or what was typed and cannot be saved (`errors` by field).

    `fixed` is what the environment sets; `stored` says that a connection is stored, `has_key` that it has a key (the
    key itself is not here), `key_from` is the variable it is taken from, `key_problem` why it cannot be used, `retype`
    says that a key was typed and not saved. `window_now` is the context window in use.
    """

    provider: Provider
    href: str
    model: str = ""
    address: str = ""
    window: str = ""
    window_now: str = ""
    key_from: str = ""
    key_problem: str = ""
    fixed: tuple[Fixed, ...] = ()
    stored: bool = False
    has_key: bool = False
    retype: bool = False
    host: str = ""
    unsafe: bool = False
    tone: str = ""
    news: str = ""
    errors: dict[str, str] = field(default_factory=dict)
    trial: Trial | None = None


@dataclass(frozen=True, slots=True)
class SettingsPage:
    """`compaction_saved` is the store whose form was saved just now, "" for none; `unknown_window` is taken for a model
    that nobody knows; `data` is where the keys and runs are kept.
    """

    sections: tuple[Section, ...]
    compaction: tuple[CompactionForm, ...]
    compaction_saved: str
    rules: dict[str, Any]
    tokens: dict[str, Any]
    unknown_window: str
    data: str


class _HidesKeys(SafeExceptionReporterFilter):
    """Keeps what is sensitive out of error pages with DEBUG on as well."""

    def is_active(self, request: HttpRequest | None) -> bool:
        return True


@require_safe
def settings(request: HttpRequest) -> HttpResponse:
    news = {name: NEWS.get(request.GET.get(name, ""), ("", "")) for name in PROVIDERS}
    shown = (replace(_section(name), tone=tone, news=text) for name, (tone, text) in news.items())
    listed = tokens.section(revoked=request.GET.get("token") == "revoked")
    return _page(
        request,
        *shown,
        saved=request.GET.get("rules", ""),
        compaction_saved=request.GET.get("compaction", ""),
        listed=listed,
    )


@sensitive_post_parameters("key")
@require_POST
def change(request: HttpRequest, provider: str) -> HttpResponse:
    """What the form of one provider asks by its buttons: save, test or remove."""
    request.exception_reporter_filter = _HidesKeys()
    if provider not in PROVIDERS:
        raise Http404
    do = {"test": _test, "remove": _remove}.get(request.POST.get("do", ""), _save)
    return do(request, provider)


def _remove(request: HttpRequest, provider: str) -> HttpResponse:
    connections.remove(provider)
    return _back(provider, "removed")


@sensitive_variables()
def _save(request: HttpRequest, provider: str) -> HttpResponse:
    draft, errors = _read(provider, request.POST)
    if draft is None:
        return _page(request, _typed(provider, request.POST, errors))
    before = connections.stored(provider)
    dropped = before and before.api_key and not draft.stored_key and "remove_key" not in request.POST
    connections.save(draft)
    return _back(provider, "keyless" if dropped else "saved")


def _back(provider: str, news: str) -> HttpResponse:
    return redirect(f"{reverse('pages:settings')}?{provider}={news}#{provider}")


@sensitive_variables()
def _test(request: HttpRequest, provider: str) -> HttpResponse:
    """Try the connection in the form, saved or not; htmx swaps the result in next to it."""
    used = connections.connection(provider)
    fixed = used is not None and used.source == "environment"
    draft, errors = (used, {}) if fixed else _read(provider, request.POST)
    if draft is None:
        if is_fragment(request):
            return page(request, "settings/_tried.html", Trial(ConnectionTest(False, " ".join(errors.values())), True))
        return _page(request, _typed(provider, request.POST, errors))
    trial = Trial(try_connection(draft), saved=draft == used)
    if is_fragment(request):
        return page(request, "settings/_tried.html", trial)
    if fixed:
        return _page(request, replace(_section(provider), trial=trial))
    return _page(request, _typed(provider, request.POST, {}, trial))


@require_POST
@shows_refusals
def change_compaction(request: HttpRequest, store: str) -> HttpResponse:
    """Keep how a store's sessions are compacted, or show what is wrong next to its field."""
    form = CompactionForm(get_store(store), request.POST)
    if not form.is_valid():
        for name in form.errors:
            form.fields[name].widget.attrs["autofocus"] = True
        return _page(request, compaction=form)
    form.save()
    return redirect(f"{reverse('pages:settings')}?{urlencode({'compaction': store})}#compaction")


@require_POST
@shows_refusals
def change_rules(request: HttpRequest, store: str) -> HttpResponse:
    """What the form of one store's rules asks by its buttons: save, or show what would be carried."""
    found, only_shown = get_store(store), request.POST.get("do") == "look"
    form = RulesForm(found, kept_rules(found), request.POST, only_shown=only_shown)
    if only_shown or not form.is_valid():
        return _page(request, typed=form)
    form.save()
    return redirect(f"{reverse('pages:settings')}?{urlencode({'rules': store})}#rules")


@require_POST
@sensitive_variables()
def make_token(request: HttpRequest) -> HttpResponse:
    """Make an API token: the one page that shows it. A token itself opens no page, so it cannot make another."""
    request.exception_reporter_filter = _HidesKeys()
    form = TokenForm(request.POST)
    if made := form.make():
        return _page(request, listed=tokens.section(made=made, made_name=form.cleaned_data["name"]))
    return _page(request, listed=tokens.section(form))


@require_POST
def revoke_token(request: HttpRequest, token_id: int) -> HttpResponse:
    """Revoke an API token; one that is not there any more is revoked all the same."""
    ApiToken.objects.filter(pk=token_id).delete()
    return redirect(f"{reverse('pages:settings')}?token=revoked#tokens")


def _page(
    request: HttpRequest,
    *shown: Section,
    saved: str = "",
    typed: RulesForm | None = None,
    compaction: CompactionForm | None = None,
    compaction_saved: str = "",
    listed: dict[str, Any] | None = None,
) -> HttpResponse:
    given = {section.provider.name: section for section in shown}
    data = SettingsPage(
        sections=tuple(given.get(name) or _section(name) for name in PROVIDERS),
        compaction=compacting.forms_of_stores(compaction),
        compaction_saved=compaction_saved,
        rules=rules.rule_forms(saved, typed),
        tokens=listed or tokens.section(),
        unknown_window=f"{limits.UNKNOWN_WINDOW:,}",
        data=_own_database(),
    )
    return page(request, "settings/settings.html", data)


def _own_database() -> str:
    database = site.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        return str(database["NAME"])
    return f"PostgreSQL database {database['NAME']} at {database.get('HOST') or 'localhost'}"


# -- one provider ----------------------------------------------------------------------------------------------------


def _section(name: str) -> Section:
    """What is set up for this provider now."""
    row, used = connections.stored(name), connections.connection(name)
    key = connections.read_key(row.api_key if row else "")
    return Section(
        provider=PROVIDERS[name],
        href=reverse("pages:change", args=[name]),
        model=row.model if row else "",
        address=row.base_url if row else "",
        window=str(row.window or "") if row else "",
        window_now=f"{limits.window_of(used):,}" if used else "",
        fixed=_fixed(used) if used and used.source == "environment" else (),
        stored=row is not None,
        has_key=bool(row and row.api_key),
        key_from=key.variable,
        key_problem=key.problem,
        host=used.host if used else "",
        unsafe=bool(used and _is_open(used.base_url)),
    )


def _fixed(used: ModelAccess) -> tuple[Fixed, ...]:
    provider = used.provider
    given, variable, common = site.MODELS[provider.name], provider.variable, provider.name.upper()
    window = f"{limits.window_of(used):,} tokens"
    rows = (
        ("model", "Model", used.model, variable("MODEL")),
        ("base_url", "URL", used.base_url, f"{variable('URL')} or {common}_BASE_URL"),
        ("api_key", "Key", "given" if used.api_key else "none", f"{variable('KEY')} or {common}_API_KEY"),
        ("window", "Context window", window, variable("WINDOW")),
    )
    return tuple(Fixed(label, value, f"set by {by}" if given[name] else "") for name, label, value, by in rows)


def _typed(provider: str, form: QueryDict, errors: dict[str, str], trial: Trial | None = None) -> Section:
    """The form as it was typed, but for the key."""
    model, address, window = (clean(form.get(name, ""))[:ADDRESS_LIMIT] for name in ("model", "address", "window"))
    section = replace(_section(provider), model=model, address=address, window=window)
    return replace(section, errors=errors, retype=bool(form.get("key")), trial=trial)


def _read(provider: str, form: QueryDict) -> tuple[ModelAccess | None, dict[str, str]]:
    """The connection in the form, or what is wrong with it by field."""
    model, address, key = (form.get(name, "").strip() for name in ("model", "address", "key"))
    window = re.sub(r"[\s,_]", "", form.get("window", ""))
    sentences = {
        "model": _wrong_model(model),
        "address": _wrong_address(provider, address),
        "key": _wrong_key(key),
        "window": "" if _is_window(window) else "Type the context window as a number of tokens, such as 32768.",
    }
    errors = {name: sentence for name, sentence in sentences.items() if sentence}
    if errors:
        return None, errors
    new_key = "" if "remove_key" in form and not key else key or None
    return connections.draft(provider, model, address.rstrip("/"), int(window or 0) or None, new_key), {}


def _wrong_model(model: str) -> str:
    if not model:
        return "Type the model's name, as its server calls it."
    if len(model) > MODEL_LIMIT or not model.isprintable():
        return f"A model's name is one line of at most {MODEL_LIMIT} characters."
    return ""


def _wrong_address(provider: str, address: str) -> str:
    if not address:
        return ""
    if len(address) > ADDRESS_LIMIT or not is_server_url(address):
        return "Type the URL as https://host/path: no name or password, no question mark in it."
    added = next((path for path in PROVIDERS[provider].sdk_paths if address.rstrip("/").endswith(path)), "")
    return f"Leave {added} out at the end of the URL: it is added by itself." if added else ""


def _wrong_key(key: str) -> str:
    if _is_refused_variable(key):
        return "Of the environment a key is taken from names such as env:OPENROUTER_API_KEY or env:PALIMPSEST_MY_KEY."
    if len(key) > KEY_LIMIT or not re.fullmatch(r"[!-~]*", key):
        return f"A key is one word of at most {KEY_LIMIT:,} letters, digits and signs. This one was not stored."
    return ""


def _is_refused_variable(key: str) -> bool:
    name = key.removeprefix(connections.IN_ENVIRONMENT)
    return name != key and not connections.KEY_VARIABLES.fullmatch(name)


def _is_window(window: str) -> bool:
    return not window or (window.isascii() and window.isdigit() and 0 < int(window[:12]) <= MOST_WINDOW)


def _is_open(address: str) -> bool:
    """Whether what is sent there can be read on the way: not encrypted, and it leaves this machine."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost" or host.endswith(".localhost")
    return parts.scheme == "http" and not local
