"""What the command palette offers: each entry leads somewhere, or does what a form or a button elsewhere does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.urls import Resolver404, get_script_prefix, resolve, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from viewer.catalog.lines import SessionFilter, page_of_lines
from viewer.catalog.models import SessionIndex, name_of
from viewer.pages.preferences import THEMES
from viewer.pages.redaction import name as redacted
from viewer.pages.session.header import resume_command
from viewer.rendering import formats
from viewer.rendering.texts import line
from viewer.stores.base import Store
from viewer.stores.errors import NotFound
from viewer.stores.registry import get_store
from viewer.web.session_urls import SessionUrls
from viewer.web.unreadable import UnreadableLine, lines_of

SESSIONS = 6
PAGES = (
    ("Sessions", "pages:sessions", ""),
    ("Compactions", "pages:compactions", ""),
    ("Insights", "pages:insights", ""),
    ("Stores", "pages:stores", ""),
    ("Settings", "pages:settings", ""),
    ("Settings: API tokens", "pages:settings", "#tokens"),
    ("Settings: rules of the workspace", "pages:settings", "#rules"),
    ("Search every message", "pages:search", ""),
    ("Help", "pages:about", ""),
    ("API docs", "reference", ""),
)
_THEME = {"": "Follow the system's theme", "light": "Switch to the light theme", "dark": "Switch to the dark theme"}


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """One thing to go to or to do. `href` leads there, or takes the POST of `field` where `posts`. On a page where one
    of the CSS selectors `press` finds something, the script presses or focuses that instead; `copies` is what is
    copied.
    """

    label: str
    href: str = ""
    note: SafeString | str = ""
    press: str = ""
    copies: str = ""
    posts: bool = False
    field: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class PaletteGroup:
    """Entries under a title."""

    title: str
    entries: tuple[PaletteEntry, ...]


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks for what: the words, the session on whose page that is, the stores in lists, and the browser's own
    settings.
    """

    q: str
    place: SessionUrls | None
    stores: Sequence[Store]
    theme: str
    redacting: bool


def groups(asker: Asker) -> tuple[PaletteGroup, ...]:
    """What there is for these words, in groups, none of them empty."""
    found = (
        PaletteGroup("This session", _matching(asker.q, _of_session(asker))),
        PaletteGroup("Sessions", _sessions(asker)),
        PaletteGroup("Pages", _matching(asker.q, _pages())),
        PaletteGroup("Actions", _matching(asker.q, _actions(asker))),
        PaletteGroup("Search", tuple(_searches(asker))),
    )
    return tuple(group for group in found if group.entries)


def session_at(address: str) -> SessionUrls | None:
    """The session whose page has this address, None for any other page."""
    try:
        named = resolve("/" + address.partition("?")[0].removeprefix(get_script_prefix())).kwargs
        return SessionUrls(get_store(named["store"]).name, named["session_id"])
    except (Resolver404, KeyError, NotFound):
        return None


def _matching(q: str, entries: Iterable[PaletteEntry]) -> tuple[PaletteEntry, ...]:
    """Those that have every word in their label."""
    words = q.casefold().split()
    return tuple(each for each in entries if all(word in each.label.casefold() for word in words))


def _of_session(asker: Asker) -> Iterator[PaletteEntry]:
    if not (place := asker.place):
        return
    yield PaletteEntry("Compact…", f"{place.href}#plan", press=".sheet-open a, #plan, #side")
    yield PaletteEntry("Find in this session", place.view("find"), press="#find")
    yield PaletteEntry("History", place.view())
    yield PaletteEntry("What the model sees", place.view("context"))
    yield PaletteEntry("Export…", place.view("export"))
    if command := resume_command(get_store(place.store), place.session, redacting=asker.redacting):
        yield PaletteEntry("Copy the resume command", note=command, copies=command)
    yield PaletteEntry("Rename, tags and note…", place.view("rename"), press="#session-name ~ .rename")
    yield PaletteEntry("Branch this session…", place.view("branch"))
    yield PaletteEntry("Raw rows", place.view("rows"))


def _sessions(asker: Asker) -> tuple[PaletteEntry, ...]:
    """Sessions by title, first words or id, newest first; without words the newest, but for sub-agents'."""
    wanted = SessionFilter(q=asker.q, delegated=None if asker.q else False)
    listed = page_of_lines(wanted, asker.stores, SESSIONS)
    stores = {listing.state.pk: listing.store.name for listing in listed.listings if listing.state}

    def make(each: SessionIndex) -> PaletteEntry | UnreadableLine:
        store = stores[each.state_id]
        named = line(redacted(name_of(each), asker.redacting), 120)
        if each.problem:
            return UnreadableLine(named, store, each.problem)
        note = format_html("{} · {}", store, formats.ago(each.last_active))
        return PaletteEntry(named, SessionUrls(store, each.session_id).href, note)

    return lines_of(listed.lines, make, lambda each: (each.session_id, stores[each.state_id]))[0]


def _pages() -> Iterator[PaletteEntry]:
    for label, view, place in PAGES:
        yield PaletteEntry(label, reverse(view) + place)


def _actions(asker: Asker) -> Iterator[PaletteEntry]:
    for theme in THEMES:
        if theme != asker.theme:
            press = f"#theme [value='{theme}']"
            yield PaletteEntry(_THEME[theme], reverse("pages:theme"), press=press, posts=True, field=("theme", theme))
    label = "Show what is redacted" if asker.redacting else "Redact what looks like a secret"
    yield PaletteEntry(label, reverse("pages:redact"), posts=True, field=("redact", str(int(not asker.redacting))))
    yield PaletteEntry("Keys", press="[data-keys]")
    yield PaletteEntry("Sign out", reverse("sign-out"), posts=True)


def _searches(asker: Asker) -> Iterator[PaletteEntry]:
    if not asker.q:
        return
    yield PaletteEntry(f"Search every message for “{asker.q}”", reverse("pages:search", query={"q": asker.q}))
    if asker.place:
        yield PaletteEntry(f"Find “{asker.q}” in this session", asker.place.view("find", q=asker.q))
