"""*Practise on a copy*: copy a session into the demo store and go there."""

from __future__ import annotations

import time

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from viewer.pages.http import shows_refusals
from viewer.places import Place
from viewer.stores.registry import all_stores, get_store, open_store


@require_POST
@shows_refusals
def practise(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    with open_store(get_store(store)) as reader:
        reader.session(session_id)
        copy_id = reader.practise(session_id, now=time.time())
    return redirect(Place(all_stores()[-1].name, copy_id).href)
