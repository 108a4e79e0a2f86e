"""Sessions from the catalog in the API's shapes; nothing is read from the store for a single one."""

from __future__ import annotations

from viewer.catalog import lines
from viewer.catalog.lines import Order, SessionFilter, SessionList
from viewer.catalog.models import SessionIndex, name_of
from viewer.stores.base import NAME, Store
from viewer.stores.errors import StoreUnavailable
from viewer.stores.refused import reason_of
from viewer.stores.registry import open_store
from viewer.web import cursors
from viewer.web.unreadable import UnreadableLine, lines_of
from viewer.web.url_segments import session_address

from . import shapes
from .schemas import SessionOut, SessionsOut, moment

ENDED = "An older compaction ended this session; the agent does not go on with it. Branch it to go on."


def page(store: Store, session_filter: SessionFilter, limit: int, cursor: str) -> SessionsOut:
    """One page of the sessions of a store. Raises StoreUnavailable, BadCursor."""
    kind = f"sessions by {session_filter.order}"
    after = cursors.read(cursor, kind, str if session_filter.order == "title" else float, str, int) if cursor else None
    listed = lines.page_of_lines(session_filter, [store], limit, (after[0], after[1], after[2]) if after else None)
    if problem := listed.listings[0].problem:
        raise StoreUnavailable(problem)
    with open_store(store, listed=True) as reader:
        refusal = reader.refusal(None)
    active = listed.active()
    items, broken = lines_of(
        listed.lines,
        lambda line: session_out(line, store.name, reason_of(refusal), active=line.pk in active),
        lambda line: (line.session_id, store.name),
    )
    return SessionsOut(items=list(items), next=_next(kind, listed, session_filter.order), broken=shapes.broken(broken))


def _next(kind: str, listed: SessionList, order: Order) -> str | None:
    return cursors.written(kind, *lines.sort_key(listed.lines[-1], order)) if listed.more else None


def session_out(line: SessionIndex, store: str, reason: str, *, active: bool) -> SessionOut | UnreadableLine:
    """A listed session, or why it cannot be shown; `reason` is why its store cannot be compacted."""
    if line.problem:
        return UnreadableLine(line.title, store, line.problem)
    reason = reason or (ENDED if line.continued else "") or line.refusal or ""
    return SessionOut(
        id=line.session_id,
        address=session_address(store, line.session_id),
        store=store,
        title=line.title,
        name=name_of(line, NAME),
        source=line.source,
        model=line.model,
        started_at=moment(line.started_at),
        last_active=moment(line.last_active),
        active=active,
        archived=line.archived,
        messages_live=line.live,
        messages_total=line.messages,
        tokens_live=None if line.due else line.tokens,
        context_window=line.window,
        compactions=line.compactions,
        parent=line.parent or None,
        cwd=line.cwd,
        git_branch=line.git_branch,
        cost=line.cost,
        cost_is_least=line.cost_is_least,
        parts=line.parts,
        can_compact=not reason,
        compact_reason=reason,
    )
