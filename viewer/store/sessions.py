"""Sessions of a store: one, a page of many, and the chain of parts that an older agent splits one conversation into."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import compaction
from compaction import protocol

from .codec import decode_content, number
from .columns import selection
from .errors import NotFound
from .stores import Reader

Order = Literal["recent", "created", "messages"]
CHAIN_LIMIT = 1000  # the owner's own cap on resuming along a chain
# In a child's model_config, naming the parent: it continues nobody. A continuation inherits the whole model_config, so
# a mark that names another session tells nothing (hermes_state_common._non_continuation_child_sql).
BRANCHED = "_branched_from"
FORKS = (BRANCHED, "_delegate_from", "_reset_from")

PART_NUMBER = re.compile(r" #\d+$")  # the owner's way of naming the part it splits off

_WANTED = {
    "id": "NULL", "source": "''", "model": "NULL", "title": "NULL", "parent_session_id": "NULL", "started_at": "0",
    "ended_at": "NULL", "end_reason": "NULL", "archived": "0", "cwd": "NULL", "model_config": "NULL",
    "message_count": "0", "last_activity_at": "NULL",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Session:
    """One row of `sessions` with what its messages tell. Times in epoch seconds; `live` and `rows` count rows in
    context and all rows; `under` those summarised away; `parts` the sessions of its chain up to this one;
    `branched_from` is the id of the session whose context it began with, "" for none.
    """

    store: str
    id: str
    source: str
    model: str
    title: str
    first_words: str
    parent: str
    started_at: float
    last_active: float
    ended_at: float | None
    end_reason: str
    archived: bool
    cwd: str
    live: int
    under: int
    rows: int
    parts: int
    branched_from: str

    @property
    def name(self) -> str:
        """What people call it; of a conversation in parts, its name without the number of the newest part."""
        title = PART_NUMBER.sub("", self.title) if self.parts > 1 else self.title
        return title or self.first_words or self.id


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """What a list of sessions is narrowed to, where not empty. `q` is sought in titles, ids and first requests."""

    q: str = ""
    source: str = ""
    model: str = ""
    state: Literal["", "open", "ended", "archived"] = ""
    compacted: bool | None = None
    order: Order = "recent"


def get_session(reader: Reader, session_id: str) -> Session:
    """The session of this id. Raises NotFound."""
    found = _query(reader, "s.id = ?", [session_id], "s.id", 1)
    if not found:
        raise NotFound(f"Store {reader.store.name} has no session {session_id!r}.")
    return found[0]


def list_sessions(
    reader: Reader, wanted: SessionFilter, limit: int, after: tuple[float, str] | None = None
) -> list[Session]:
    """At most `limit` sessions in order, behind the key `after` of an earlier page. Of a chain, its tip alone."""
    where, values = _conditions(reader, wanted)
    key = _ORDER[wanted.order]
    if after is not None:
        where.append(f"({key}, s.id) < (?, ?)")
        values += [after[0], after[1]]
    return _query(reader, " AND ".join(where) or "1", values, f"{key} DESC, s.id DESC", limit)


def sort_key(session: Session, order: Order) -> tuple[float, str]:
    """The keyset key of a session: what `list_sessions` takes as `after`."""
    value = {"recent": session.last_active, "created": session.started_at, "messages": float(session.live)}[order]
    return value, session.id


def choices(reader: Reader) -> tuple[list[str], list[str]]:
    """The sources and the models that occur, for the filters."""
    con, present = reader.con, reader.columns.sessions
    sources = [row[0] for row in con.execute("SELECT DISTINCT source FROM sessions ORDER BY source") if row[0]]
    if "model" not in present:
        return sources, []
    return sources, [row[0] for row in con.execute("SELECT DISTINCT model FROM sessions ORDER BY model") if row[0]]


def system_prompt(reader: Reader, session_id: str) -> str:
    """The session's system prompt, kept beside the rows: inline, or by hash in a table of its own; "" for none."""
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


def chain(reader: Reader, session_id: str) -> list[str]:
    """Ids of the parts of one conversation up to this session, first part first."""
    ids = [session_id]
    while len(ids) < CHAIN_LIMIT:
        parent = _continued_parent(reader, ids[-1])
        if not parent or parent in ids:
            break
        ids.append(parent)
    return ids[::-1]


def tip(reader: Reader, session_id: str) -> str:
    """The newest part of the conversation this session belongs to: the only one an agent goes on with."""
    seen = [session_id]
    if "parent_session_id" not in reader.columns.sessions:
        return session_id
    while len(seen) < CHAIN_LIMIT:
        children = reader.con.execute(
            "SELECT id FROM sessions WHERE parent_session_id = ? ORDER BY started_at DESC", [seen[-1]]
        ).fetchall()
        child = next((row[0] for row in children if _continued_parent(reader, row[0]) == seen[-1]), None)
        if child is None or child in seen:
            break
        seen.append(child)
    return seen[-1]


def lease_key(reader: Reader, session_id: str) -> str:
    """The id under which turns are leased: the first part of the conversation (`docs/hermes.md` section 3)."""
    return chain(reader, session_id)[0]


def read_config(model_config: Any) -> dict[str, Any]:
    """A stored `model_config`; {} for one that cannot be read."""
    try:
        config = json.loads(model_config or "{}")
    except (ValueError, TypeError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


def _continued_parent(reader: Reader, session_id: str) -> str:
    wanted = {"parent_session_id": "NULL", "model_config": "''"}
    row = reader.con.execute(
        f"SELECT {selection(reader.columns.sessions, wanted)} FROM sessions WHERE id = ?", [session_id]
    ).fetchone()
    if row is None or not row[0] or row[0] in [read_config(row[1]).get(fork) for fork in FORKS]:
        return ""
    parent = reader.con.execute(
        f"SELECT {selection(reader.columns.sessions, {'id': 'NULL', 'end_reason': 'NULL'})} FROM sessions WHERE id = ?",
        [row[0]],
    ).fetchone()
    return str(parent[0]) if parent and parent[1] == "compression" else ""


# -- the query -------------------------------------------------------------------------------------------------------

# A handoff of ours is no activity of the agent's: it must not make a resting session look alive.
_LAST_ACTIVE = (
    "COALESCE((SELECT m.timestamp FROM messages m WHERE m.session_id = s.id AND "
    f"substr(COALESCE(m.content, ''), 1, {len(protocol.LEGACY_HEADER)}) <> '{protocol.LEGACY_HEADER}' "
    "ORDER BY m.timestamp DESC LIMIT 1), s.started_at)"
)
_LIVE = "(SELECT COUNT(*) FROM messages m WHERE m.session_id = s.id AND {active})"
# As `codec.number` reads it: a column holds any type, and a page must begin where the one before it ended.
_NUMBER = "CASE WHEN typeof({0}) IN ('integer', 'real') THEN {0} ELSE 0.0 END"
_ORDER = {
    "recent": _NUMBER.format("s.last_active"),
    "created": _NUMBER.format("s.started_at"),
    "messages": "s.live",
}


def _query(reader: Reader, where: str, values: Sequence[Any], order: str, limit: int) -> list[Session]:
    """Sessions `s` as the given SQL narrows and orders them; columns that are missing have their defaults."""
    present = reader.columns
    active = "m.active = 1" if "active" in present.messages else "1"
    under = "m.active = 0 AND m.compacted = 1" if "compacted" in present.messages else "0"
    inner = (
        f"SELECT {selection(present.sessions, _WANTED, 's.')}, {_LAST_ACTIVE} AS last_active, "
        f"{_LIVE.format(active=active)} AS live FROM sessions s"
    )
    counted = (
        f"SELECT s.*, (SELECT COUNT(*) FROM messages m WHERE m.session_id = s.id) AS rows, "
        f"{_LIVE.format(active=under)} AS under FROM ({inner}) s WHERE {where} ORDER BY {order} LIMIT ?"
    )
    cursor = reader.con.execute(counted, [*values, limit])
    names = [column[0] for column in cursor.description]
    return [_session(reader, dict(zip(names, row, strict=True))) for row in cursor.fetchall()]


def _session(reader: Reader, row: dict[str, Any]) -> Session:
    parts = chain(reader, row["id"]) if row["parent_session_id"] else [row["id"]]
    return Session(
        store=reader.store.name,
        id=str(row["id"]),
        source=str(row["source"] or ""),
        model=str(row["model"] or ""),
        title=str(row["title"] or ""),
        first_words="" if row["title"] else _first_words(reader.con, parts[0]),
        parent=str(row["parent_session_id"] or ""),
        started_at=number(row["started_at"]),
        last_active=number(row["last_active"]),
        ended_at=number(row["ended_at"]) if row["ended_at"] is not None else None,
        end_reason=str(row["end_reason"] or ""),
        archived=bool(row["archived"]),
        cwd=str(row["cwd"] or ""),
        live=row["live"],
        under=row["under"],
        rows=row["rows"],
        parts=len(parts),
        branched_from=str(read_config(row["model_config"]).get(BRANCHED) or ""),
    )


def _first_words(con: sqlite3.Connection, session_id: str) -> str:
    """How the conversation begins; a handoff is nobody's words."""
    rows = con.execute(
        "SELECT substr(content, 1, 300) FROM messages WHERE session_id = ? AND role = 'user' ORDER BY id LIMIT 2",
        [session_id],
    ).fetchall()
    texts = (decode_content(row[0]) for row in rows)
    text = next((text for text in texts if not compaction.is_handoff({"content": text})), None)
    return " ".join(text.split())[:80] if isinstance(text, str) else ""


def _conditions(reader: Reader, wanted: SessionFilter) -> tuple[list[str], list[Any]]:
    parts = list(_narrowing(reader, wanted))
    return [sql for sql, _ in parts], [value for _, values in parts for value in values]


def _narrowing(reader: Reader, wanted: SessionFilter) -> Iterator[tuple[str, list[Any]]]:
    if {"parent_session_id", "end_reason"} <= set(reader.columns.sessions):
        config = _child_config(reader)
        valid = f"CASE WHEN json_valid({config}) THEN {config} ELSE '{{}}' END"
        forked = " OR ".join(f"COALESCE(json_extract({valid}, '$.{fork}'), '') = s.id" for fork in FORKS)
        yield (
            "NOT (COALESCE(s.end_reason, '') = 'compression' AND EXISTS "
            f"(SELECT 1 FROM sessions c WHERE c.parent_session_id = s.id AND NOT ({forked})))",
            [],
        )
    if wanted.source:
        yield "s.source = ?", [wanted.source]
    if wanted.model:
        yield "s.model = ?", [wanted.model]
    yield ("s.archived" if wanted.state == "archived" else "NOT COALESCE(s.archived, 0)"), []
    if wanted.state in ("open", "ended"):
        yield f"s.ended_at IS {'NULL' if wanted.state == 'open' else 'NOT NULL'}", []
    if wanted.compacted is not None:
        yield ("" if wanted.compacted else "NOT ") + _compacted(reader), []
    for word in wanted.q.split():
        yield _MATCH, [f"%{_escaped(word)}%"] * 3


def _child_config(reader: Reader) -> str:
    return "c.model_config" if "model_config" in reader.columns.sessions else "''"


def _compacted(reader: Reader) -> str:
    """Was compacted: in place (rows lie under a boundary), or by being split (it continues an ended part)."""
    under = "EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id AND m.compacted = 1)"
    split = "EXISTS (SELECT 1 FROM sessions p WHERE p.id = s.parent_session_id AND p.end_reason = 'compression')"
    tests = [under] if "compacted" in reader.columns.messages else []
    tests += [split] if "end_reason" in reader.columns.sessions else []
    return f"({' OR '.join(tests) or '0'})"


_MATCH = (
    "(s.title LIKE ? ESCAPE '\\' OR s.id LIKE ? ESCAPE '\\' OR (SELECT m.content FROM messages m "
    "WHERE m.session_id = s.id AND m.role = 'user' ORDER BY m.id LIMIT 1) LIKE ? ESCAPE '\\')"
)


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
