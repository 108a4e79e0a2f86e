"""A new session with the context of a moment: its records as one chain, in a new file in the session's directory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import uuid4

from viewer.stores.errors import NotBranchable
from viewer.stores.jsonl.append import create
from viewer.stores.jsonl.long_lines import is_cut

from . import codec, encode
from .facts import facts_of
from .messages import SessionMessages, messages_of
from .paths import ENDING, SessionFile


def branch(file: SessionFile, ids: Sequence[int], *, now: float) -> str:
    """Write the branch; returns the id of the new session. Raises NotBranchable."""
    conversation, session_id = messages_of(file), str(uuid4())
    uuids = list(
        dict.fromkeys(uuid for each in ids if each in conversation.units for uuid in conversation.units[each].uuids)
    )
    with file.path.open("rb") as reading:
        values = [
            value for uuid in uuids if (value := codec.read_value(reading, conversation.tree.record(uuid))) is not None
        ]
    if any(map(is_cut, values)):
        raise NotBranchable("A message is too long to be read here, so that it cannot be copied to a branch.")
    if not values:
        raise NotBranchable("There are no messages to branch from.")
    written = list(_in_a_row(_with_boundary(values, conversation, ids), session_id))
    name = facts_of(file)
    title = f"{(name.title or name.first_words)[:90]} (branch)"
    create(file.path.with_name(f"{session_id}{ENDING}"), [encode.encoded([*written, encode.title(session_id, title)])])
    return session_id


def _with_boundary(
    values: list[dict[str, Any]], conversation: SessionMessages, ids: Iterable[int]
) -> list[dict[str, Any]]:
    """The records with a boundary in front if there is a summary among them: the client expects a
    boundary before it.
    """
    if not any(conversation.units[each].is_summary for each in ids if each in conversation.units):
        return values
    first = values[0]
    return [encode.boundary(str(uuid4()), first.get("timestamp", ""), {"preTokens": 0}, first), *values]


def _in_a_row(values: Iterable[dict[str, Any]], session_id: str) -> Iterable[dict[str, Any]]:
    parent: str | None = None
    for value in values:
        own = {name: each for name, each in value.items() if name != "logicalParentUuid"}
        yield {**own, "parentUuid": parent, "sessionId": session_id}
        parent = value["uuid"]
