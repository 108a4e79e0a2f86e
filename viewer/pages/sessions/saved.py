"""Views of the list that somebody saved under a name: links above it, a form that saves, a button that forgets."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from viewer.labels.models import SavedView
from viewer.pages.filters import Link
from viewer.rendering.texts import line

from .form import asked_for, query_of

NAME, MOST = 60, 30  # characters of a name; views that are kept


def saved_views(query: str) -> tuple[Link, ...]:
    """The saved views by name; the one that this list is, marked."""
    return tuple(Link(view.name, f"?{view.query}", view.query == query) for view in SavedView.objects.order_by("name"))


@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Save the list of this query under a name, or forget the name; then go to the list."""
    query = urlencode(query_of(asked_for(QueryDict(request.POST.get("query", "")))))
    name = line(request.POST.get("name", ""), NAME)
    if "forget" in request.POST:
        SavedView.objects.filter(name=name).delete()
    elif name and (SavedView.objects.count() < MOST or SavedView.objects.filter(name=name).exists()):
        SavedView.objects.update_or_create(name=name, defaults={"query": query})
    here = reverse("pages:sessions")
    return redirect(f"{here}?{query}" if query else here)
