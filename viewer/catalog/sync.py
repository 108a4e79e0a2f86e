"""Keeping the catalog up to date with the stores: a little within a request, the rest by the workers.

A store with an unchanged signature was not written and is not opened. Otherwise the store says what changed since a
cursor; lines that are about to be shown are compared with the store by their keys; and a worker compares all others in
steps, which finds changes without new rows: take-backs, names, archiving, ends, deleted sessions.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models.functions import Now
from django.utils import timezone

from viewer.catalog import upsert
from viewer.catalog.models import SessionIndex, StoreState
from viewer.stores.base import Store
from viewer.stores.batches import chunks
from viewer.stores.errors import StoreError, StoreUnanswered, StoreUnavailable
from viewer.stores.listing import HIGHEST, Changes
from viewer.stores.registry import Reader, for_list, identity, open_store, version_of
from viewer.web import own_database
from viewer.web.own_database import OwnDatabaseUnavailable

NEWS, NEWEST = 500, 200  # messages, and sessions, that are read within a request
ATTEMPTS = 3  # to write before somebody else does
SEEN = timedelta(hours=1)  # how exactly it is noted that a store was seen


@dataclass(frozen=True, slots=True)
class StoreListing:
    """A store for lists: how far it was read, and why it cannot be read now."""

    store: Store
    state: StoreState | None
    problem: str = ""


def store_listings(stores: Sequence[Store]) -> list[StoreListing]:
    """The stores with their states, updated by a bounded number of rows each."""
    states = _stored_states(stores)
    return [_listing(store, states) for store in stores]


def _listing(store: Store, states: dict[tuple[str, str, str], StoreState]) -> StoreListing:
    """A store that cannot be read must not hide the others; for a locked store the known lines are listed."""
    state = None
    try:
        with for_list(store):
            state = state_of(store, states)
            return StoreListing(store, _freshened(store, state))
    except StoreUnanswered as problem:
        return StoreListing(store, state if state and state.generation else None, problem.message)
    except StoreError as problem:
        return StoreListing(store, None, problem.message)


def _stored_states(stores: Sequence[Store]) -> dict[tuple[str, str, str], StoreState]:
    store_states = StoreState.objects.filter(name__in=[store.name for store in stores], retired=False)
    return {(state.name, state.place, state.file): state for state in store_states}


def state_of(store: Store, states: dict[tuple[str, str, str], StoreState]) -> StoreState:
    """The state of the file to which the store's name refers now. Raises StoreUnavailable, OwnDatabaseUnavailable."""
    device, inode = identity(store)
    key = (store.name, store.place, f"{device} {inode}")
    if key in states:
        return states[key]
    with own_database.noting():
        return StoreState.objects.get_or_create(name=key[0], place=key[1], file=key[2], retired=False)[0]


def state_at(store: Store) -> StoreState:
    """The stored state of one store. Raises StoreUnavailable, OwnDatabaseUnavailable."""
    return state_of(store, _stored_states([store]))


def _freshened(store: Store, state: StoreState) -> StoreState:
    now = version_of(store)
    if state.signature == now and not (state.unlisted and _nobody_reads(state)):
        return state
    with open_store(store, listed=True) as reader:
        for _ in range(ATTEMPTS):
            state, found = news_of(reader, state, NEWS, NEWEST)
            with suppress(OwnDatabaseUnavailable):  # then the known lines are shown
                if not catch_up(reader, state, now, found, NEWEST):
                    state.refresh_from_db()
                    continue
            break
    return state


def _nobody_reads(state: StoreState) -> bool:
    return state.claimed_until <= timezone.now()


# -- new rows ----------------------------------------------------------------------------------------------------------


def news_of(reader: Reader, state: StoreState, messages: int, sessions: int) -> tuple[StoreState, Changes]:
    """What is new since the state, by at most so many messages and so many sessions; with a new state, where the file
    holds another database than the one that was read, with the same inode.
    """
    found = reader.listing.changed(state.cursor, messages, sessions)
    if found is None:
        state = _retired(reader.store, state)
        found = reader.listing.changed(state.cursor, messages, sessions)
    return state, found or Changes((), "")


def _retired(store: Store, state: StoreState) -> StoreState:
    """A new state for the same file; the old one's lines are no longer shown."""
    with own_database.noting():
        StoreState.objects.filter(pk=state.pk).update(retired=True)
        return StoreState.objects.get_or_create(name=state.name, place=state.place, file=state.file, retired=False)[0]


def catch_up(reader: Reader, state: StoreState, now: str, found: Changes, most: int) -> bool:
    """Read what was found, and so many sessions that are not listed; False if another process did so meanwhile.

    `now` is the store's signature before it was opened: it is stored when nothing new is left.
    """
    changes: dict[str, Any] = {"generation": state.generation + (state.signature != now), "cursor": found.cursor}
    changes["signature"] = "" if found.more else now
    ids = found.ids
    if not state.generation:  # the first look at a file: of all others, nothing is listed yet
        ids = ids[: most // 2]
        changes |= {"unread_below": HIGHEST, "unlisted": reader.capabilities().sessions, "check_of": now}
    chosen = dict.fromkeys(ids)
    room = most - len(chosen)
    if room > 0:
        chosen |= dict.fromkeys(_not_listed(reader, state, changes, room))
    prepared = upsert.prepared(reader, state, list(chosen))
    return upsert.commit(reader.store, state, prepared, changes)


def _not_listed(reader: Reader, state: StoreState, changes: dict[str, Any], limit: int) -> list[str]:
    """The next sessions that existed before the first look, newest first."""
    below, unlisted = changes.get("unread_below", state.unread_below), changes.get("unlisted", state.unlisted)
    if not below:
        return []
    rows = reader.listing.page(below, limit)
    done = len(rows) < limit
    changes["unread_below"] = 0 if done else rows[-1][0] - 1
    changes["unlisted"] = 0 if done else max(unlisted - len(rows), 1)
    if done:  # whatever was not written since the first look needs no comparison
        changes |= {"checked": changes.get("check_of", state.check_of), "check_of": ""}
    return [session_id for _, session_id in rows if session_id is not None]


# -- listed lines that may have changed --------------------------------------------------------------------------------


def verified(listing: StoreListing, lines: Sequence[SessionIndex]) -> bool:
    """Whether these lines are up to date with their store; if not, they have been updated, and the list changes."""
    state = listing.state
    stale = [line.session_id for line in lines if state and line.verified < state.generation]
    if state is None or not stale:
        return True
    try:
        with open_store(listing.store, listed=True) as reader:
            return _compared(reader, state, stale)
    except (StoreUnavailable, OwnDatabaseUnavailable):
        return True  # the next look will say so


def _compared(reader: Reader, state: StoreState, ids: Sequence[str]) -> bool:
    prepared = upsert.prepared(reader, state, ids)
    if prepared.lines or prepared.gone:
        if not upsert.commit(reader.store, state, prepared):
            state.refresh_from_db()
        return False
    note_verified(state, ids)
    return True


def note_verified(state: StoreState, ids: Sequence[str]) -> None:
    with own_database.noting():
        for chunk in chunks(ids):
            stale = SessionIndex.objects.filter(state=state, session_id__in=chunk, verified__lt=state.generation)
            stale.update(verified=state.generation)


def note_seen(state: StoreState) -> None:
    """Record that the store still exists: lines of one that stays away are deleted after a while."""
    if timezone.now() - state.seen_at > SEEN:
        StoreState.objects.filter(pk=state.pk).update(seen_at=Now())


def bring(store: Store, ids: Sequence[str]) -> None:
    """Apply this site's own change to these sessions at once; if that fails, the next look does it. Raises
    StoreUnavailable.
    """
    with suppress(OwnDatabaseUnavailable):
        state = state_at(store)
        with open_store(store) as reader:
            for _ in range(ATTEMPTS):
                if upsert.commit(store, state, upsert.prepared(reader, state, ids)):
                    return
                state.refresh_from_db()
