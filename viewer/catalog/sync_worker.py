"""The workers' part of the catalog: everything that a request leaves, in steps, one worker at a time per store."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from enum import IntEnum

from django.db import Error, connection
from django.db.models import Q
from django.db.models.functions import Now

from viewer.catalog import numbers, sync, upsert
from viewer.catalog.models import SessionIndex, StoreState
from viewer.catalog.search import indexing
from viewer.catalog.upsert import Prepared
from viewer.stores import lock_owners
from viewer.stores.base import Store
from viewer.stores.errors import StoreError
from viewer.stores.listing import HIGHEST
from viewer.stores.registry import Reader, all_stores, is_here, open_store, version_of

LOOK_SECONDS = 2.0  # between two looks, if nothing is left to do
BREATH_SECONDS = 0.01  # between two steps, for the runs of this worker
CLAIM = timedelta(seconds=30)  # how long a store is one worker's without a sign of it
NEWS, LISTED, COMPARED, FORGOTTEN = 2_000, 500, 500, 2_000  # rows of a step
STEP_SECONDS = 1.0  # of counting, and of indexing text, before something else has its turn
KEPT = timedelta(days=30)  # the lines of a store that was not seen since

logger = logging.getLogger(__name__)


class Backlog(IntEnum):
    """What is left after a look. Comparing all sessions again is done slowly: an agent that writes every second must
    not keep a processor busy.
    """

    NOTHING = 0
    LATER = 1
    NOW = 2


def watch(every: float = LOOK_SECONDS) -> threading.Event:
    """Keep the catalog up to date in a daemon thread of a worker, until the returned event is set."""
    ended = threading.Event()
    threading.Thread(target=_watch, args=(every, ended), name="the catalog", daemon=True).start()
    return ended


def _watch(every: float, ended: threading.Event) -> None:
    me = lock_owners.new_holder()
    while not ended.is_set():
        backlog = Backlog.NOTHING
        try:
            backlog = look(me)
        except Error as problem:
            logger.warning("The catalog: %s", problem)
        except Exception:
            logger.exception("The catalog")
        finally:
            connection.close()
        ended.wait(BREATH_SECONDS if backlog == Backlog.NOW else every)


def sync_all() -> None:
    """Update everything that is here and that no other worker has claimed."""
    me = lock_owners.new_holder()
    while look(me):
        pass


def look(me: str) -> Backlog:
    """One step for each store that is here; returns what is left to do. Writes nothing if there is nothing to do."""
    backlogs = [_looked(store, me) for store in all_stores() if is_here(store)]
    return max([*backlogs, Backlog.NOW if forget_some() else Backlog.NOTHING])


def _looked(store: Store, me: str) -> Backlog:
    """A store that cannot be read, for any reason, must not keep the others from being read."""
    try:
        state = sync.state_at(store)
        sync.note_seen(state)
        behind = _is_behind(state, version_of(store))
        if not (behind or state.claimed_by == me) or not _claimed(state, me):
            return Backlog.NOTHING
        backlog = step(store, state) if behind else Backlog.NOTHING
        if not backlog:
            _release(state, me)
        return backlog
    except StoreError as problem:
        logger.debug("The catalog of store %s: %s", store.name, problem.message)
    except Error:  # our own database: nothing else goes on without it either
        raise
    except Exception:
        logger.exception("The catalog of store %s", store.name)
    return Backlog.NOTHING


def _is_behind(state: StoreState, now: str) -> bool:
    """Whether there is anything to do for a store with this signature."""
    listed = state.signature == now and not state.unlisted and state.checked == now
    return not listed or numbers.is_any_due(state) or indexing.is_any_due(state.name)


def _claimed(state: StoreState, me: str) -> bool:
    free = StoreState.objects.filter(Q(claimed_by=me) | Q(claimed_until__lte=Now()), pk=state.pk)
    return bool(free.update(claimed_by=me, claimed_until=Now() + CLAIM))


def _release(state: StoreState, me: str) -> None:
    StoreState.objects.filter(pk=state.pk, claimed_by=me).update(claimed_by="", claimed_until=Now())


# -- steps -------------------------------------------------------------------------------------------------------------


def step(store: Store, state: StoreState) -> Backlog:
    """Process new rows, some unlisted sessions, some to be compared, some to be counted, and some whose text is to be
    indexed; returns what is left.
    """
    now = version_of(store)
    new = state.signature != now
    with open_store(store) as reader:
        if new or state.unlisted:
            state, found = sync.news_of(reader, state, NEWS, LISTED)
            sync.catch_up(reader, state, now, found, LISTED)
        if state.checked != now and not state.unlisted:  # even if an agent has written something new at each look
            compare_some(reader, state, now)
        to_count = numbers.count_some(reader, state, STEP_SECONDS)
        to_index = indexing.index_some(reader, STEP_SECONDS)
    if state.unlisted or state.signature != now or to_count or to_index:
        return Backlog.NOW
    return Backlog.LATER if state.checked != now else Backlog.NOTHING


def compare_some(reader: Reader, state: StoreState, now: str) -> bool:
    """Compare the next sessions, newest first, with their lines; False if another process wrote lines meanwhile.

    A complete comparison that began with the present signature, or a later one, is not repeated.
    """
    begins = not state.check_of
    top = HIGHEST if begins else state.check_at
    rows = reader.listing.page(top, COMPARED)
    done = len(rows) < COMPARED
    low = 0 if done else rows[-1][0]
    ids = dict.fromkeys(session_id for _, session_id in rows if session_id is not None)
    between = SessionIndex.objects.filter(state=state, row__gte=low, row__lte=top)
    ids |= dict.fromkeys(between.values_list("session_id", flat=True))
    changes = {"check_at": low - 1, "check_of": now if begins else state.check_of}
    if done:
        changes |= {"checked": changes["check_of"], "check_of": ""}
    prepared: Prepared = upsert.prepared(reader, state, list(ids))
    return upsert.commit(reader.store, state, prepared, changes)


def forget_some() -> bool:
    """Remove some lines of files that were replaced or stay away; returns whether there are more."""
    old = StoreState.objects.filter(Q(retired=True) | Q(seen_at__lt=Now() - KEPT)).first()
    if old is None:
        return False
    lines = SessionIndex.objects.filter(
        pk__in=list(SessionIndex.objects.filter(state=old).values_list("pk", flat=True)[:FORGOTTEN])
    )
    if not lines.delete()[0]:
        named = StoreState.objects.filter(name=old.name).exclude(pk=old.pk)
        if not named.exists() and indexing.forget_some(old.name, STEP_SECONDS):
            return True
        old.delete()
    return True
