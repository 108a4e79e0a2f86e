"""One session of a store, the parts that an older agent splits one conversation into, and what came from it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from viewer import times
from viewer.stores.base import CHAIN_LIMIT, ChildSession, ReportedUsage, Session, Store
from viewer.stores.errors import NotFound
from viewer.usage import pricing
from viewer.usage.pricing import Cost

from . import agent_config
from .codec import number
from .columns import marks, selection
from .database import OpenStore
from .previews import first_words, last_active

# Keys of a child's model_config that name the parent: such a child continues nobody. A continuation inherits the whole
# model_config, so a mark that names another session does not count (hermes_state_common._non_continuation_child_sql).
BRANCHED, DELEGATED = "_branched_from", "_delegate_from"


FORKS = (BRANCHED, DELEGATED, "_reset_from")


_COSTS = ("actual_cost_usd", "estimated_cost_usd")


_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


WANTED = {
    "id": "NULL", "source": "''", "model": "NULL", "title": "NULL", "parent_session_id": "NULL", "started_at": "0",
    "ended_at": "NULL", "end_reason": "NULL", "archived": "0", "cwd": "NULL", "model_config": "NULL",
    "git_branch": "NULL", "pinned": "0",
}  # fmt: skip


_NUMBERED = re.compile(r"(.+) #(\d{1,3})", re.DOTALL)  # a longer number is part of a name


CONTINUED = "compression"  # the end reason of a session whose conversation continues in another one


def split_title(title: str) -> tuple[str, int]:
    """The title without the number that the agent gives to a part it splits off, and the number; 1 without one."""
    numbered = _NUMBERED.fullmatch(title)
    return (numbered[1], int(numbered[2])) if numbered and int(numbered[2]) else (title, 1)


def get_session(reader: OpenStore, session_id: str) -> Session:
    """The session of this id. Raises NotFound."""
    cursor = reader.con.execute(
        f"SELECT {selection(reader.columns.sessions, WANTED)} FROM sessions WHERE id = ?", [session_id]
    )
    names, values = [column[0] for column in cursor.description], cursor.fetchone()
    if values is None:
        raise NotFound(f"Store {reader.store.name} has no session {session_id!r}.")
    row = dict(zip(names, values, strict=True))
    return _session(reader, row, last_active(reader, row["id"]) or times.known(row["started_at"]))


def usage(reader: OpenStore, session_id: str) -> ReportedUsage:
    """What the agent recorded about a session: the billed cost, or else its estimate, and the tokens of all requests.
    Raises NotFound.
    """
    columns = selection(reader.columns.sessions, dict.fromkeys((*_COSTS, *_TOKENS), "NULL"))
    values = reader.con.execute(f"SELECT {columns} FROM sessions WHERE id = ?", [session_id]).fetchone()
    if values is None:
        raise NotFound(f"Store {reader.store.name} has no session {session_id!r}.")
    costs, tokens = values[: len(_COSTS)], values[len(_COSTS) :]
    total = sum(number(count) for count in tokens)
    total = total if 0 < total < 1e15 else 0
    dollars = next(
        (amount for cost in costs if cost and (amount := pricing.reported_cost(cost, total)) is not None), None
    )
    return ReportedUsage(cost=None if dollars is None else Cost(dollars), total=int(total) or None)


def reply_times(reader: OpenStore, session_id: str) -> list[float]:
    """The times of the model's messages, each once, in epoch seconds: the agent notes no cost of single requests."""
    query = "SELECT DISTINCT timestamp FROM messages WHERE session_id = ? AND role = 'assistant'"
    rows = reader.con.execute(query, [session_id]).fetchall()
    return [at for row in rows if (at := times.known(row[0]))]


def _session(reader: OpenStore, row: dict[str, Any], active: float) -> Session:
    parts = chain(reader, row["id"]) if row["parent_session_id"] else [row["id"]]
    begun = "" if row["title"] else first_words(reader, parts[0])
    return replace(session_of(reader.store, row), first_words=begun, last_active=active, parts=len(parts))


def session_of(store: Store, row: dict[str, Any]) -> Session:
    """What its row, with the columns WANTED, says about a session."""
    config, title, parent = read_config(row["model_config"]), str(row["title"] or ""), row["parent_session_id"]
    base_title, part_number = split_title(title)
    return Session(
        store=store.name,
        id=str(row["id"]),
        source=str(row["source"] or ""),
        model=str(row["model"] or ""),
        title=title,
        base_title=base_title,
        part_number=part_number,
        parent=str(parent or ""),
        started_at=times.known(row["started_at"]),
        ended_at=times.known(row["ended_at"]) if row["ended_at"] is not None else None,
        end_reason=str(row["end_reason"] or ""),
        continued=row["end_reason"] == CONTINUED,
        archived=bool(row["archived"]),
        cwd=str(row["cwd"] or ""),
        git_branch=str(row["git_branch"] or ""),
        branched_from=str(config.get(BRANCHED) or ""),
        delegated_from=str(config.get(DELEGATED) or ""),
        delegated=bool(config.get(DELEGATED)),
        forked=str(parent or "") in (str(config[fork]) for fork in FORKS if config.get(fork)),
        pinned=bool(row["pinned"]),
        window=agent_config.window(store, str(row["model"] or "")),
    )


def system_prompt(reader: OpenStore, session_id: str) -> str:
    """The session's system prompt, stored separately from the rows: inline, or by hash in another table;
    "" for none.
    """
    columns = selection(reader.columns.sessions, {"system_prompt": "NULL", "system_prompt_hash": "NULL"})
    row = reader.con.execute(f"SELECT {columns} FROM sessions WHERE id = ?", [session_id]).fetchone()
    if row is None:
        return ""
    if row[1] and "system_prompts" in reader.columns.tables:
        by_hash = reader.con.execute("SELECT prompt FROM system_prompts WHERE hash = ?", [row[1]]).fetchone()
        if by_hash:
            return str(by_hash[0])
    return str(row[0] or "")


# -- chains ----------------------------------------------------------------------------------------------------------


def chain(reader: OpenStore, session_id: str) -> list[str]:
    """Ids of the parts of one conversation up to this session, first part first. Sessions that are each other's parents
    do not continue each other.
    """
    ids, parent = _upwards(reader, session_id)
    return ids[: ids.index(parent) + 1 if parent else None][::-1]


def circle(reader: OpenStore, session_id: str) -> list[str]:
    """The sessions in this one's circle of parents; none where it is in no circle."""
    ids, parent = _upwards(reader, session_id)
    return ids if parent == session_id else []


def _upwards(reader: OpenStore, session_id: str) -> tuple[list[str], str]:
    """The ids of a session and of those that it continues, newest first; and the one of them that the last of them
    names as its parent, "" where there is no such circle.
    """
    ids = [session_id]
    while len(ids) < CHAIN_LIMIT:
        parent = _continued_parent(reader, ids[-1])
        if not parent:
            break
        if parent in ids:
            return ids, parent
        ids.append(parent)
    return ids, ""


def tip(reader: OpenStore, session_id: str) -> str:
    """The newest part of the conversation this session belongs to: the only one that an agent continues."""
    path = [session_id]
    if "parent_session_id" not in reader.columns.sessions:
        return session_id
    in_circle = circle(reader, session_id)
    while len(path) < CHAIN_LIMIT:
        children = reader.con.execute(
            "SELECT id FROM sessions WHERE parent_session_id = ? ORDER BY started_at DESC", [path[-1]]
        ).fetchall()
        ids = (row[0] for row in children if row[0] not in in_circle and row[0] not in path)
        child = next((each for each in ids if _continued_parent(reader, each) == path[-1]), None)
        if child is None:
            break
        path.append(child)
    return path[-1]


def lease_key(reader: OpenStore, session_id: str) -> str:
    """The id under which turns are leased: the first part of the conversation (`docs/hermes.md` section 3)."""
    return chain(reader, session_id)[0]


def read_config(model_config: Any) -> dict[str, Any]:
    """A stored `model_config`; {} for one that cannot be read."""
    try:
        config = json.loads(model_config or "{}")
    except (ValueError, TypeError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


def _continued_parent(reader: OpenStore, session_id: str) -> str:
    selected = {"parent_session_id": "NULL", "model_config": "''"}
    row = reader.con.execute(
        f"SELECT {selection(reader.columns.sessions, selected)} FROM sessions WHERE id = ?", [session_id]
    ).fetchone()
    if row is None or not row[0] or row[0] in [read_config(row[1]).get(fork) for fork in FORKS]:
        return ""
    parent = reader.con.execute(
        f"SELECT {selection(reader.columns.sessions, {'id': 'NULL', 'end_reason': 'NULL'})} FROM sessions WHERE id = ?",
        [row[0]],
    ).fetchone()
    return str(parent[0]) if parent and parent[1] == CONTINUED else ""


def ended_reason(reader: OpenStore, session_id: str) -> str:
    """Why a session that has ended cannot be split, as one sentence; "" when it can.

    A split sets its end reason to compression: whatever follows it in its chat, or as an unmarked child, would then
    count as its continuation.
    """
    selected = {"ended_at": "NULL", "end_reason": "NULL", "session_key": "NULL"}
    row = reader.con.execute(
        f"SELECT {selection(reader.columns.sessions, selected)} FROM sessions WHERE id = ?", [session_id]
    ).fetchone()
    if row is None or row[0] is None or not (row[2] or _has_successor(reader, session_id)):
        return ""
    ended = f"This session was ended ({row[1] or 'closed'})"
    return f"{ended}: splitting it would join it to what came after. It can be compacted in place."


def _has_successor(reader: OpenStore, session_id: str) -> bool:
    children = reader.con.execute(
        "SELECT model_config FROM sessions WHERE parent_session_id = ?", [session_id]
    ).fetchall()
    return any(session_id not in map(read_config(config).get, FORKS) for (config,) in children)


CHILDREN = 1_000  # read at most; no known session has so many


def children(reader: OpenStore, parts: Sequence[str]) -> list[ChildSession]:
    """The children of a conversation's parts, oldest first. Read with the agent's index over parents."""
    if "parent_session_id" not in reader.columns.sessions:
        return []
    selected = {"id": "NULL", "title": "NULL", "model_config": "NULL", "parent_session_id": "NULL"}
    rows = reader.con.execute(
        f"SELECT {selection(reader.columns.sessions, selected)} FROM sessions "
        f"WHERE parent_session_id IN ({marks(parts)}) ORDER BY started_at, id LIMIT ?",
        [*parts, CHILDREN],
    ).fetchall()
    return [ChildSession(str(row[0]), str(row[1] or ""), _kind(row[2], row[3])) for row in rows]


def _kind(model_config: object, parent: object) -> Literal["branch", "delegate", ""]:
    """A continuation inherits the whole configuration: only a mark that names the parent itself counts."""
    config = read_config(model_config)
    if config.get(BRANCHED) == parent:
        return "branch"
    return "delegate" if config.get(DELEGATED) == parent else ""
