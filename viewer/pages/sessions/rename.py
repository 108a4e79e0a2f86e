"""A session's title, and the tags, note and pin that are stored here: edited on the list and at the top
of its pages.
"""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from viewer.catalog import sync
from viewer.labels import sessions as labels
from viewer.pages.http import is_fragment, page, refused, shows_refusals
from viewer.pages.redaction import session_for
from viewer.rendering.texts import line
from viewer.stores.base import Session
from viewer.stores.errors import StoreError
from viewer.stores.registry import get_store, open_store, writer_of
from viewer.stores.writer import LONGEST_TITLE
from viewer.web.session_urls import SessionUrls

_MARK = re.compile(r"l\d{1,19}")


@require_http_methods(["GET", "HEAD", "POST"])
@shows_refusals
def rename(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    urls = SessionUrls(store, session_id)
    typed_mark = (request.POST if request.method == "POST" else request.GET).get("for", "")
    mark = typed_mark if _MARK.fullmatch(typed_mark) else ""
    session = _session(urls)
    if request.method != "POST":
        data = _data(request, urls, session, mark, _title(request, session))
        return _answer(request, "sessions/_renaming.html", data)
    typed = request.POST.get("title", "")
    try:
        if typed not in (session.title, _title(request, session)):
            writer_of(get_store(store)).rename(session_id, typed)
            sync.bring(get_store(store), [session_id])
        _set_label(request, urls)
    except StoreError as problem:
        if not is_fragment(request):
            return refused(request, problem, typed)
        data = _data(request, urls, session, mark, typed, problem.message)
        return page(request, "sessions/_renaming.html", data, status=problem.status)
    if not is_fragment(request):
        return redirect(urls.href)
    return _answer(request, "sessions/_renamed.html", _data(request, urls, _session(urls), mark, "", renamed=True))


def _set_label(request: HttpRequest, urls: SessionUrls) -> None:
    """Set the labels in the form; a form without these fields leaves them unchanged."""
    if "tags" in request.POST:
        labels.set_label(
            (urls.store, urls.session),
            pinned="pinned" in request.POST,
            tags=labels.tags_in(request.POST["tags"]),
            note=labels.note_in(request.POST.get("note", "")),
        )


def _title(request: HttpRequest, session: Session) -> str:
    """What the field of the title begins with: the title, unredacted, because it is edited; else the first words."""
    return session.title or line(session_for(request, session).name, LONGEST_TITLE)


def _session(urls: SessionUrls) -> Session:
    with open_store(get_store(urls.store)) as reader:
        return reader.session(urls.session)


def _data(
    request: HttpRequest,
    urls: SessionUrls,
    session: Session,
    mark: str,
    typed: str,
    problem: str = "",
    *,
    renamed: bool = False,
) -> dict[str, Any]:
    """The form, and after it the name.

    `mark` is the id of its line in the list, "" at the top of a session's own pages; `problem` says why a title was
    refused. `tags` have commas between them.
    """
    label = labels.all_labels().of((urls.store, urls.session))
    tags, note = ", ".join(label.tags), label.note
    if request.method == "POST" and not renamed:  # refused: what was typed stays
        tags, note = line(request.POST.get("tags", tags), 400), line(request.POST.get("note", note), 500)
    return {
        "place": urls,
        "href": urls.view("rename"),
        "name": line(session_for(request, session).name, 200),
        "typed": line(typed, 400),
        "limit": LONGEST_TITLE,
        "mark": mark,
        "tags": tags,
        "tag_list": labels.tags_in(tags),
        "note": note,
        "pinned": label.pinned,
        "problem": problem,
    }


def _answer(request: HttpRequest, template: str, data: dict[str, Any]) -> HttpResponse:
    return page(request, template if is_fragment(request) else "sessions/rename.html", data)
