"""The command palette: each entry leads to a page, or does what a form or button elsewhere does. It is a page, and the
list that its dialog requests while somebody types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, get_script_prefix, resolve, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from viewer.catalog.lines import SessionFilter, page_of_lines
from viewer.catalog.models import SessionIndex, name_of
from viewer.pages.http import is_fragment, page, shows_refusals
from viewer.pages.preferences import THEMES, listed_stores, theme, way_here
from viewer.pages.redaction import name, redacts
from viewer.pages.session.filters import FILTERS
from viewer.pages.session.header import resume_command
from viewer.pages.session.window import NEWEST, moment_of
from viewer.rendering import formats
from viewer.rendering.texts import line
from viewer.stores.base import Store
from viewer.stores.errors import NotFound
from viewer.stores.registry import get_store
from viewer.web.session_urls import SessionUrls
from viewer.web.unreadable import UnreadableLine, lines_of

LONGEST = 200  # characters that are looked for
SESSIONS = 6
PAGES = (
    ("Sessions", "pages:sessions", "", "g s"),
    ("Compactions", "pages:compactions", "", "g c"),
    ("Insights", "pages:insights", "", "g i"),
    ("Stores", "pages:stores", "", ""),
    ("Settings", "pages:settings", "", ""),
    ("Settings: API tokens", "pages:settings", "#tokens", ""),
    ("Settings: rules of the workspace", "pages:settings", "#rules", ""),
    ("Search every message", "pages:search", "", "/"),
    ("Help", "pages:about", "", ""),
    ("API docs", "reference", "", ""),
)
_THEME = {"": "Follow the system's theme", "light": "Switch to the light theme", "dark": "Switch to the dark theme"}


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """One page or action. `href` leads there, or takes the POST of `field` if `posts`. If one of the CSS selectors
    `press` matches on the page, the script presses or focuses that instead; `copies` is text to copy. `also` are other
    words by which it is found; `key` is the key that does the same.
    """

    label: str
    href: str = ""
    note: SafeString | str = ""
    press: str = ""
    copies: str = ""
    posts: bool = False
    field: tuple[str, str] = ("", "")
    also: str = ""
    key: str = ""


@require_safe
@shows_refusals
def palette(request: HttpRequest) -> HttpResponse:
    """The entries for the words `q`, in groups; `at` is the page on which they were typed."""
    at = way_here(request) if is_fragment(request) else request.GET.get("at", "")
    q, urls, redacting = line(request.GET.get("q", ""), LONGEST), session_at(at), redacts(request)
    groups = (
        ("This session", (*_goes(q, urls), *_matching(q, _of_session(urls, redacting=redacting))) if urls else ()),
        ("Sessions", _sessions(q, listed_stores(request), redacting=redacting)),
        ("Pages", _matching(q, _pages())),
        ("Actions", _matching(q, _actions(theme(request), redacting=redacting))),
        ("Search", tuple(_searches(q, urls) if q else ())),
    )
    data = {"q": q, "at": at, "groups": [group for group in groups if group[1]]}
    return page(request, "palette/_found.html" if is_fragment(request) else "palette/palette.html", data)


def session_at(address: str) -> SessionUrls | None:
    """The session whose page has this address, None for any other page."""
    try:
        named = resolve("/" + address.partition("?")[0].removeprefix(get_script_prefix())).kwargs
        return SessionUrls(get_store(named["store"]).name, named["session_id"])
    except (Resolver404, KeyError, NotFound):
        return None


def _matching(q: str, entries: Iterable[PaletteEntry]) -> tuple[PaletteEntry, ...]:
    """The entries with every word in their label, or in the other words by which they are found."""
    words = q.casefold().split()
    return tuple(each for each in entries if all(word in f"{each.label} {each.also}".casefold() for word in words))


def _goes(q: str, urls: SessionUrls) -> Iterator[PaletteEntry]:
    """Where *Go to* leads: a number, an id, a day, the first or the newest message."""
    label = "the first message" if q.lower() == "first" else "the newest message" if q.lower() in NEWEST else ""
    number = q.removeprefix("#").replace(",", "")
    if number.isascii() and number.isdigit():
        label = f"message {q}" if q.startswith("#") else f"message {int(number[:19]):,}"
    elif not label and moment_of(q) is not None:
        label = q
    if label:
        yield PaletteEntry(f"Go to {label}", urls.view(at=q))


def _of_session(urls: SessionUrls, *, redacting: bool) -> Iterator[PaletteEntry]:
    yield PaletteEntry("Compact…", f"{urls.href}#plan", press=".sheet-open a, #plan, #side", key="c")
    yield PaletteEntry("Go to message or day…", urls.view(), press="#at", also="first newest last number date", key=".")
    yield PaletteEntry("Find in this session", urls.view("find"), press="#find", key="f")
    yield PaletteEntry(
        "Files touched", urls.view("files"), press="#files-touched > summary", also="edits changed", key="t"
    )
    failed = "#commands-failed > summary"
    yield PaletteEntry("Commands that failed", urls.view("failures"), press=failed, also="failures errors", key="F")
    yield PaletteEntry("History", urls.view())
    yield PaletteEntry("What the model sees", urls.view("context"))
    yield PaletteEntry("Export…", urls.view("export"))
    if command := resume_command(get_store(urls.store), urls.session, redacting=redacting):
        yield PaletteEntry("Copy the resume command", note=command, copies=command)
    yield PaletteEntry("Rename, tags and note…", urls.view("rename"), press="#session-name ~ .rename")
    yield PaletteEntry("Branch this session…", urls.view("branch"))
    yield PaletteEntry("Raw rows", urls.view("rows"))
    for only, each in FILTERS.items():
        yield PaletteEntry(f"Show only {each.label.lower()}", urls.view(only=only), also="filter")


def _sessions(q: str, stores: Sequence[Store], *, redacting: bool) -> tuple[PaletteEntry, ...]:
    """Sessions by title, first words or id, newest first; without words the newest, except sub-agents'."""
    listed = page_of_lines(SessionFilter(q=q, delegated=None if q else False), stores, SESSIONS)
    names = {listing.state.pk: listing.store.name for listing in listed.listings if listing.state}

    def make(each: SessionIndex) -> PaletteEntry | UnreadableLine:
        store = names[each.state_id]
        label = line(name(name_of(each), redacting), 120)
        if each.problem:
            return UnreadableLine(label, store, each.problem)
        note = format_html("{} · {}", store, formats.ago(each.last_active))
        return PaletteEntry(label, SessionUrls(store, each.session_id).href, note)

    return lines_of(listed.lines, make, lambda each: (each.session_id, names[each.state_id]))[0]


def _pages() -> Iterator[PaletteEntry]:
    for label, view, fragment, key in PAGES:
        yield PaletteEntry(label, reverse(view) + fragment, key=key)


def _actions(used: str, *, redacting: bool) -> Iterator[PaletteEntry]:
    """Actions that are available everywhere; `used` is the theme in use."""
    for value in THEMES:
        if value != used:
            press = f"#theme [value='{value}']"
            yield PaletteEntry(_THEME[value], reverse("pages:theme"), press=press, posts=True, field=("theme", value))
    label = "Show what is redacted" if redacting else "Redact what looks like a secret"
    yield PaletteEntry(label, reverse("pages:redact"), posts=True, field=("redact", str(int(not redacting))))
    yield PaletteEntry("Keys", press="[data-keys]", key="?")
    yield PaletteEntry("Sign out", reverse("sign-out"), posts=True)


def _searches(q: str, urls: SessionUrls | None) -> Iterator[PaletteEntry]:
    yield PaletteEntry(f"Search every message for “{q}”", reverse("pages:search", query={"q": q}))
    if urls:
        yield PaletteEntry(f"Find “{q}” in this session", urls.view("find", q=q))
