"""Failures at one session of many: a failure is reported for this session, and the others continue."""

from __future__ import annotations

import logging

from django.db import Error

from viewer.stores.database_errors import DATABASE_ERRORS
from viewer.stores.errors import StoreUnanswered, StoreUnavailable
from viewer.web.own_database import OwnDatabaseUnavailable

# No session's fault: they go on to whoever asks for several.
OF_ALL = (Error, OwnDatabaseUnavailable, StoreUnanswered)
# What passes by itself: a file may be readable again without having been written.
PASSING = (StoreUnavailable, OSError, *DATABASE_ERRORS)

logger = logging.getLogger(__name__)


def log(store: str, session_id: str, done: str, failure: Exception) -> None:
    """Log that a session of a store cannot be `done` ("indexed")."""
    trace = None if isinstance(failure, PASSING) else failure
    logger.error("Session %r of store %s cannot be %s: %s", session_id, store, done, failure, exc_info=trace)


def sentence(failure: Exception) -> str:
    """Why it cannot be read, as a sentence for people."""
    if isinstance(failure, StoreUnavailable):
        return failure.message
    why = failure.strerror if isinstance(failure, OSError) else ""
    return f"It cannot be read: {why}." if why else f"It cannot be read ({type(failure).__name__}): see the site's log."
