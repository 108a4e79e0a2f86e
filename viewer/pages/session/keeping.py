"""*Keep…* at a message: it is pinned for further compactions, or put back into the context; and the list of pins."""

from __future__ import annotations

import time
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from viewer.history import index_cache
from viewer.pages.http import page, shows_refusals, whole_number
from viewer.pages.redaction import session_for, text_for
from viewer.rendering.texts import clean, line, role_label
from viewer.runs import pins, putting_back
from viewer.stores.base import Session
from viewer.stores.message import is_put_back
from viewer.stores.registry import Reader, get_store, open_store
from viewer.stores.transcript import HistoryEntry
from viewer.usage import counting
from viewer.web.session_urls import SessionUrls

CUT = 1_200  # characters of the message that are shown
FIRST_WORDS = 160  # characters of a pinned message in the list


@require_http_methods(["GET", "HEAD", "POST"])
@shows_refusals
def keep(request: HttpRequest, store: str, session_id: str, row_id: int) -> HttpResponse:
    """What can be done with one message; a POST does it, and leads back here."""
    urls = SessionUrls(store, session_id)
    with open_store(get_store(store)) as reader:
        session = reader.session(session_id)
        index = index_cache.index_of(reader, session)
        entry = index.entry(index.shown_place(row_id))
        if request.method != "POST":
            return page(request, "session/keep.html", _page(request, reader, session, entry))
        mine = set(entry.rows) & set(pins.pinned_ids(reader, session))
    done, gone = request.POST.get("do", ""), False
    if done == "pin":
        pins.pin(get_store(store), session_id, entry.id)
    elif done == "unpin":
        for each in mine:
            pins.unpin(get_store(store), session_id, each)
    elif done == "put-back":
        putting_back.put_back(get_store(store), session_id, [entry.id], now=time.time())
    elif done == "undo":
        message_id = whole_number(request.POST.get("message", "")) or 0
        putting_back.undo(get_store(store), session_id, message_id)
        gone = message_id == entry.id
    return redirect(urls.view() if gone else f"{urls.keep(row_id)}?done={done}")


def _page(request: HttpRequest, reader: Reader, session: Session, entry: HistoryEntry) -> dict[str, Any]:
    row = reader.messages(session.id, [entry.full_id])[entry.full_id]
    words = pins.words_of(row)
    pinned, room, count = pins.pinned(reader, session), pins.room(session), counting.counter_for(session.model)
    is_pinned = any(each.id in entry.rows for each in pinned)
    used = sum(each.tokens for each in pinned)
    tokens = 0 if words is None else count(f"{words[0]}: {words[1]}")
    outlook = None if words is None else putting_back.outlook(reader, session, [entry.id])
    quoting = [] if words is None else putting_back.quoting(reader, session.id, entry)
    is_quotation = is_put_back(row) and entry.state == "live"  # else it was taken back again
    return {
        "place": SessionUrls(reader.store.name, session.id),
        "session": session_for(request, session),
        "entry": entry,
        "row": row,
        "who": role_label(row.role),
        "text": clean(text_for(request, "" if words is None else words[1])[:CUT]),
        "left": 0 if words is None else max(0, len(words[1]) - CUT),
        "has_words": words is not None,
        "is_pinned": is_pinned,
        "tokens": tokens,
        "used": used,
        "room": room,
        "fits": is_pinned or used + tokens <= room,
        "pins": len(pinned),
        "outlook": outlook,
        "quoting": quoting[-1].id if quoting else entry.id if is_quotation else None,
        "is_quotation": is_quotation,
        "done": request.GET.get("done", ""),
    }


@require_http_methods(["GET", "HEAD", "POST"])
@shows_refusals
def pinned(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    """The pinned messages of a session; a POST unpins one."""
    urls = SessionUrls(store, session_id)
    if request.method == "POST":
        message_id = whole_number(request.POST.get("message", "")) or 0
        pins.unpin(get_store(store), session_id, message_id)
        return redirect(urls.view("pins", unpinned=message_id))
    with open_store(get_store(store)) as reader:
        session = reader.session(session_id)
        listed, room = pins.pinned(reader, session), pins.room(session)
    data = {
        "place": urls,
        "session": session_for(request, session),
        "pins": [(each, *_line(request, each)) for each in listed],
        "used": sum(each.tokens for each in listed),
        "room": room,
        "unpinned": whole_number(request.GET.get("unpinned", "")),
    }
    return page(request, "session/pins.html", data)


def _line(request: HttpRequest, pin: pins.PinnedMessage) -> tuple[str, str]:
    """Who, and the first words; both are empty if the message is not there any more."""
    words = None if pin.row is None else pins.words_of(pin.row)
    if pin.row is None or words is None:
        return "", ""
    return role_label(pin.row.role), line(text_for(request, words[1][: 10 * FIRST_WORDS]), FIRST_WORDS)
