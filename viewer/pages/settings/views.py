"""The settings page: which models write summaries, their addresses, and whether they answer; how each store is
compacted; which rules a compaction carries; API tokens.

A key goes one way, from the form into our own database: no page, address, log line or error page repeats it.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.conf import settings as site
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.debug import SafeExceptionReporterFilter
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_POST, require_safe

from viewer.models import ApiToken
from viewer.pages.http import is_fragment, page, shows_refusals
from viewer.runs.providers import PROVIDERS, connections, limits
from viewer.runs.providers.summarizers import ConnectionTest, try_connection
from viewer.stores.registry import get_store
from viewer.workspaces.rules import kept_rules

from . import compacting, inside, providers, rules, tokens
from .compacting import CompactionForm
from .providers import ProviderForm
from .rules import RulesForm
from .tokens import TokenForm

NEWS = {  # the tone, and the sentence
    "saved": ("ok", "Saved."),
    "keyless": (
        "warn",
        "Saved. The key stored before was given for another server and was removed: type the key for this one, "
        "if it asks for one.",
    ),
    "removed": ("ok", "Removed."),
}


class _HidesKeys(SafeExceptionReporterFilter):
    """Keeps sensitive values out of error pages with DEBUG on as well."""

    def is_active(self, request: HttpRequest | None) -> bool:
        return True


@never_cache
@require_safe
def settings(request: HttpRequest) -> HttpResponse:
    shown = (providers.section(name, news=NEWS.get(request.GET.get(name, ""))) for name in PROVIDERS)
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
    """Save, test or remove a provider, by the button of its form."""
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
    form = ProviderForm(provider, request.POST)
    if not form.is_valid():
        return _page(request, providers.section(provider, form))
    before, draft = connections.stored(provider), form.draft()
    dropped = before and before.api_key and not draft.stored_key and not form.cleaned_data["remove_key"]
    connections.save(draft)
    return _back(provider, "keyless" if dropped else "saved")


def _back(provider: str, news: str) -> HttpResponse:
    return redirect(f"{reverse('pages:settings')}?{provider}={news}#{provider}")


@sensitive_variables()
def _test(request: HttpRequest, provider: str) -> HttpResponse:
    """Try the connection in the form, saved or not; htmx swaps the result in next to it."""
    used = connections.connection(provider)
    if used and used.source == "environment":
        form, draft = None, used
    else:
        form = ProviderForm(provider, request.POST)
        if not form.is_valid():
            wrong = ConnectionTest(False, " ".join(str(errors[0]) for errors in form.errors.values()))
            if is_fragment(request):
                return page(request, "settings/_tried.html", {"result": wrong, "saved": True})
            return _page(request, providers.section(provider, form))
        draft = form.draft()
    trial = {"result": try_connection(draft), "saved": draft == used}
    if is_fragment(request):
        return page(request, "settings/_tried.html", trial)
    return _page(request, providers.section(provider, form, trial=trial))


@require_POST
@shows_refusals
def change_compaction(request: HttpRequest, store: str) -> HttpResponse:
    """Store how a store's sessions are compacted, or show the error next to its field."""
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
    """Save one store's rules, or show what would be carried, by the button of the form."""
    target_store, only_shown = get_store(store), request.POST.get("do") == "look"
    form = RulesForm(target_store, kept_rules(target_store), request.POST, only_shown=only_shown)
    if only_shown or not form.is_valid():
        return _page(request, typed=form)
    form.save()
    return redirect(f"{reverse('pages:settings')}?{urlencode({'rules': store})}#rules")


@require_POST
@sensitive_variables()
def make_token(request: HttpRequest) -> HttpResponse:
    """Make an API token: only this page shows it. A token itself opens no page, so it cannot make another."""
    request.exception_reporter_filter = _HidesKeys()
    form = TokenForm(request.POST)
    if token := form.make():
        return _page(request, listed=tokens.section(made=token, made_name=form.cleaned_data["name"]))
    return _page(request, listed=tokens.section(form))


@require_POST
def revoke_token(request: HttpRequest, token_id: int) -> HttpResponse:
    """Revoke an API token; one that does not exist any more is not an error."""
    ApiToken.objects.filter(pk=token_id).delete()
    return redirect(f"{reverse('pages:settings')}?token=revoked#tokens")


def _page(
    request: HttpRequest,
    *shown: dict[str, Any],
    saved: str = "",
    typed: RulesForm | None = None,
    compaction: CompactionForm | None = None,
    compaction_saved: str = "",
    listed: dict[str, Any] | None = None,
) -> HttpResponse:
    given = {section["provider"].name: section for section in shown}
    data = {
        "sections": [given.get(name) or providers.section(name) for name in PROVIDERS],
        "compaction": compacting.forms_of_stores(compaction),
        "compaction_saved": compaction_saved,
        "rules": rules.rule_forms(saved, typed),
        "doors": inside.section(),
        "tokens": listed or tokens.section(),
        "unknown_window": limits.UNKNOWN_WINDOW,
        "data": _own_database(),
    }
    return page(request, "settings/settings.html", data)


def _own_database() -> str:
    database = site.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        return str(database["NAME"])
    return f"PostgreSQL database {database['NAME']} at {database.get('HOST') or 'localhost'}"
