"""Why a session of Hermes Agent cannot be compacted or branched, as the exception to raise."""

from __future__ import annotations

from viewer.stores.errors import SessionEnded, StoreReadOnly

from . import branching, opening
from .opening import OpenStore
from .sessions import CONTINUED, get_session, tip


def to_compact(reader: OpenStore, session_id: str, mode: str) -> StoreReadOnly | SessionEnded | None:
    """Why this session can never be compacted here, None when it can. Raises NotFound."""
    session = get_session(reader, session_id)
    if reason := opening.split_reason(reader) if mode == "split" else opening.compact_reason(reader):
        return StoreReadOnly(reason)
    if session.end_reason == CONTINUED:
        newest = tip(reader, session_id)
        return SessionEnded(
            f"An older compaction ended this session and the conversation went on in {newest}: compact that one."
            if newest != session_id
            else "An older compaction ended this session; the agent does not go on with it. Branch it to go on."
        )
    if mode == "split" and (reason := branching.ended_reason(reader, session_id)):
        return SessionEnded(reason)
    return None


def to_branch(reader: OpenStore, session_id: str) -> StoreReadOnly | SessionEnded | None:
    """Why no branch of this session's context can be made, None when one can. Raises NotFound."""
    session = get_session(reader, session_id)
    if reason := opening.branch_reason(reader):
        return StoreReadOnly(reason)
    if session.end_reason == CONTINUED and (newest := tip(reader, session_id)) != session_id:
        # An agent of schema 16 takes any session that begins after such an end for the continuation.
        return SessionEnded(f"This conversation went on in {newest}: branch from there, at any of its compactions.")
    return None
