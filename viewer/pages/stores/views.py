"""The stores page: the open stores, what each can do or why not, and directories that cannot be read yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST, require_safe

from viewer.catalog import lines, sync
from viewer.catalog.search import indexing
from viewer.catalog.search.indexing import TextProgress
from viewer.pages.http import page, shows_refusals
from viewer.pages.sessions.views import why_open
from viewer.rendering import formats
from viewer.runs import workers
from viewer.stores.base import Capabilities, Store
from viewer.stores.errors import StoreError
from viewer.stores.refused import Refusal, reason_of
from viewer.stores.registry import all_stores, get_store, open_store, remarks
from viewer.web.unreadable import lines_of

_HOMES = (  # where sessions of agents are looked for, and the variable that names another place
    ("Hermes", settings.HERMES_HOME, "HERMES_HOME"),
    ("Claude Code", settings.CLAUDE_HOME, "CLAUDE_CONFIG_DIR"),
    ("Codex", settings.CODEX_HOME, "CODEX_HOME"),
    ("OpenClaw", settings.OPENCLAW_HOME, "OPENCLAW_STATE_DIR"),
    ("pi", settings.PI_HOME, "PI_CODING_AGENT_DIR"),
    ("Gemini CLI", settings.GEMINI_HOME, "GEMINI_HOME"),
    ("Qwen Code", settings.QWEN_HOME, "QWEN_HOME"),
    ("OpenCode", settings.OPENCODE_HOME, "OPENCODE_DATA_DIR"),
)

# What of a store's sessions its list does not show at first: one, several.
BEYOND = {"parts": ("earlier part",), "archived": ("archived", "archived"), "sub_agents": ("sub-agent",)}


@require_safe
def stores(request: HttpRequest) -> HttpResponse:
    """All stores, and those that cannot be shown."""
    shown, broken = lines_of(all_stores(), _shown, lambda store: (store.name, store.name))
    data = {
        "workers": workers.alive(),
        "stores": shown,
        "broken": broken,
        "looked": _HOMES if all(store.is_managed for store in all_stores()) else (),
        "command": settings.COMMAND,
    }
    return page(request, "stores/stores.html", data)


@require_safe
@shows_refusals
def listed(request: HttpRequest, store: str) -> HttpResponse:
    """The list of a store's sessions, for an address that was shortened."""
    return redirect(f"{reverse('pages:sessions')}?{urlencode({'store': get_store(store).name}, errors='replace')}")


def _shown(store: Store) -> dict[str, Any]:
    """A store with its abilities, or the `problem` why it cannot be opened. Its `sessions` are those of the list; the
    others are `beyond` it. `index` is how far this site indexed its text, None for a store with its own index.
    """
    try:
        with open_store(store, listed=True) as reader:
            capabilities, refusal = reader.capabilities(), reader.refusal(None)
            state = sync.state_at(store)
            index = indexing.progress(state) if reader.offers_text else None
            beyond = lines.beyond_list(state)
    except StoreError as problem:
        return {"store": store, "problem": problem.message, "details": list(_details(store))}
    return {
        "store": store,
        "problem": "",
        "details": list(_details(store, capabilities)),
        "sessions": max(capabilities.sessions - sum(beyond.values()), 0),
        "beyond": ", ".join(formats.counted(beyond[name], *words) for name, words in BEYOND.items() if beyond[name]),
        "abilities": _abilities(capabilities, refusal, index),
        "remarks": remarks(store),
        "index": index,
    }


@require_POST
@shows_refusals
def index(request: HttpRequest, store: str) -> HttpResponse:
    """Exclude a store from the index of text, or include it again."""
    indexing.leave_out(get_store(store).name, "leave_out" in request.POST)
    return redirect("pages:stores")


def _abilities(
    capabilities: Capabilities, refusal: Refusal | None, index: TextProgress | None
) -> list[tuple[str, str]]:
    """What one can do with a store, and why not, "" if one can."""
    return [
        ("Read sessions, History and what the model sees", ""),
        ("Compact and undo", reason_of(refusal)),
        _search(capabilities, index),
    ]


def _details(store: Store, capabilities: Capabilities | None = None) -> Iterator[tuple[str, str | SafeString]]:
    """What is known of a store, by name; without capabilities, where it cannot be opened."""
    why = why_open(store)
    if store.place not in why:
        yield "Place", format_html("<code>{}</code>", store.place)
    yield "Why it is open", why
    if capabilities is None:
        return
    if capabilities.schema is not None:
        yield "Schema", str(capabilities.schema)
    yield "Size", formats.size(capabilities.size)
    marked = "marked by the agent" if capabilities.summary_flag else "recognised by their first words"
    yield "Summaries", marked
    seen = "seen" if capabilities.turn_leases else "not seen: compact while the agent rests"
    yield "Running turns", seen


def _search(capabilities: Capabilities, index: TextProgress | None) -> tuple[str, str]:
    if index is None:
        return "Search", "" if capabilities.search else "This store has no full-text index of its messages."
    left_out = "This store is left out of the index that this site keeps of stores without one."
    return "Search, by an index that this site keeps", left_out if index.left_out else ""
