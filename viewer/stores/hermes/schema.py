"""An empty store of our own, in the newest known layout of Hermes Agent (`docs/hermes.md` section 1).

Everything that reads a Hermes `state.db` reads such a file in the same way, so the demo store needs no special code.
The schema version is 31 because all columns of `sessions` and `messages` of that version are here, with the trigger
that makes `message_uid` and full-text layout 3. The tables of Hermes' gateway and its triggers for `display_order` and
`display_identity` are left out: both columns may be NULL, and readers then use `id`.
"""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from .columns import quoted

Row = dict[str, Any]

SCHEMA_VERSION = 31
FTS_LAYOUT = 3
TOOL_CHARACTERS_INDEXED = 8192
"""Full-text layout 3 indexes only so much of a tool result."""

SESSIONS = """
CREATE TABLE schema_version (version INTEGER NOT NULL);
CREATE TABLE state_meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE system_prompts (hash TEXT PRIMARY KEY, prompt TEXT NOT NULL);

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    source TEXT NOT NULL, created_source TEXT,
    user_id TEXT, session_key TEXT, chat_id TEXT, chat_type TEXT, thread_id TEXT, display_name TEXT, origin_json TEXT,
    expiry_finalized INTEGER DEFAULT 0,
    model TEXT, model_config TEXT,
    system_prompt TEXT, system_prompt_hash TEXT REFERENCES system_prompts(hash),
    parent_session_id TEXT REFERENCES sessions(id),
    started_at REAL NOT NULL, ended_at REAL, end_reason TEXT,
    message_count INTEGER DEFAULT 0, tool_call_count INTEGER DEFAULT 0,
    input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
    cache_read_tokens INTEGER DEFAULT 0, cache_write_tokens INTEGER DEFAULT 0, reasoning_tokens INTEGER DEFAULT 0,
    cwd TEXT, git_branch TEXT, git_repo_root TEXT, git_metadata_generation INTEGER NOT NULL DEFAULT 0,
    billing_provider TEXT, billing_base_url TEXT, billing_mode TEXT,
    estimated_cost_usd REAL, actual_cost_usd REAL, cost_status TEXT, cost_source TEXT, pricing_version TEXT,
    title TEXT, title_source TEXT,
    last_activity_at REAL, last_activity_description TEXT, last_activity_provenance TEXT,
    api_call_count INTEGER DEFAULT 0,
    handoff_state TEXT, handoff_platform TEXT, handoff_error TEXT,
    compression_failure_cooldown_until REAL, compression_failure_error TEXT,
    compression_fallback_streak INTEGER NOT NULL DEFAULT 0,
    compression_ineffective_count INTEGER NOT NULL DEFAULT 0,
    compression_recovery_deadline REAL,
    compression_overload_streak INTEGER NOT NULL DEFAULT 0,
    profile_name TEXT, transport_profile TEXT,
    rewind_count INTEGER NOT NULL DEFAULT 0,
    archived INTEGER NOT NULL DEFAULT 0, auto_archived INTEGER NOT NULL DEFAULT 0,
    pinned INTEGER NOT NULL DEFAULT 0, hidden INTEGER NOT NULL DEFAULT 0,
    last_read_at REAL,
    tool_names TEXT
);
CREATE UNIQUE INDEX idx_sessions_title_unique ON sessions(title) WHERE title IS NOT NULL;
CREATE INDEX idx_sessions_source_id ON sessions(source, id);
CREATE INDEX idx_sessions_parent ON sessions(parent_session_id);
CREATE INDEX idx_sessions_started ON sessions(started_at DESC);
CREATE INDEX idx_sessions_effective_activity
    ON sessions(COALESCE(last_activity_at, started_at) DESC, started_at DESC);
CREATE INDEX idx_sessions_system_prompt_hash ON sessions(system_prompt_hash);
"""

MESSAGES = """
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions(id),
    role TEXT NOT NULL,
    content TEXT,
    tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, effect_disposition TEXT,
    timestamp REAL NOT NULL,
    token_count INTEGER,
    finish_reason TEXT,
    reasoning TEXT, reasoning_content TEXT, reasoning_details TEXT,
    codex_reasoning_items TEXT, codex_message_items TEXT,
    platform_message_id TEXT,
    observed INTEGER DEFAULT 0,
    _compressed_summary INTEGER NOT NULL DEFAULT 0,
    active INTEGER NOT NULL DEFAULT 1,
    compacted INTEGER NOT NULL DEFAULT 0,
    api_content TEXT,
    display_kind TEXT, display_metadata TEXT, display_identity BLOB, display_order INTEGER,
    message_uid TEXT, absorbed_message_uids TEXT, tool_call_uids TEXT, tool_call_uid TEXT
);
CREATE INDEX idx_messages_session ON messages(session_id, timestamp);
CREATE INDEX idx_messages_session_id ON messages(session_id, id);
CREATE INDEX idx_messages_session_active ON messages(session_id, active, timestamp);
CREATE INDEX idx_messages_session_uid ON messages(session_id, message_uid) WHERE active = 1;
CREATE INDEX idx_messages_platform_msg_id ON messages(session_id, platform_message_id)
    WHERE platform_message_id IS NOT NULL;
CREATE TRIGGER messages_message_uid_insert AFTER INSERT ON messages WHEN new.message_uid IS NULL BEGIN
    UPDATE messages SET message_uid = lower(hex(randomblob(16))) WHERE id = new.id;
END;

CREATE TABLE compression_locks (
    session_id TEXT PRIMARY KEY, holder TEXT NOT NULL, acquired_at REAL NOT NULL, expires_at REAL NOT NULL
);
CREATE INDEX idx_compression_locks_expires ON compression_locks(expires_at);
CREATE TABLE session_turn_leases (
    conversation_id TEXT PRIMARY KEY, holder TEXT NOT NULL, acquired_at REAL NOT NULL, expires_at REAL NOT NULL
);
CREATE INDEX idx_session_turn_leases_expires ON session_turn_leases(expires_at);
"""


_VERSIONS = f"""
INSERT INTO schema_version VALUES ({SCHEMA_VERSION});
INSERT INTO state_meta VALUES ('fts_storage_version', '{FTS_LAYOUT}');
"""


def create(path: Path) -> None:
    """Make an empty store at `path`, in WAL mode and readable by its owner only.

    Raises FileExistsError when there is a file already (it stays unchanged), and RuntimeError when this Python's SQLite
    has no FTS5.
    """
    if path.exists():
        raise FileExistsError(f"{path} exists already: a store is only made where there is no file")
    with closing(sqlite3.connect(":memory:")) as memory:
        if not memory.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone():
            raise RuntimeError("this Python's SQLite has no FTS5, which a store needs for its search")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        path.chmod(0o600)
        connection.execute("PRAGMA journal_mode = WAL")
        layout = [SESSIONS, MESSAGES, _word_search(), _substring_search(), _VERSIONS]
        connection.executescript("\n".join(["BEGIN;", *layout, "COMMIT;"]))


def _word_search() -> str:
    def content(row: str) -> str:
        indexed = f"substr(COALESCE({row}.content, ''), 1, {TOOL_CHARACTERS_INDEXED})"
        return f"CASE WHEN {row}.role = 'tool' THEN {indexed} ELSE {row}.content END"

    def values(row: str) -> str:
        return f"{row}.id, {content(row)}, {row}.tool_name, {row}.tool_calls"

    return f"""
    CREATE VIEW messages_fts_src AS
        SELECT m.id, {content("m")} AS content, m.tool_name, m.tool_calls FROM messages AS m;
    CREATE VIRTUAL TABLE messages_fts USING fts5(
        content, tool_name, tool_calls, content='messages_fts_src', content_rowid='id'
    );
    CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
        INSERT INTO messages_fts(rowid, content, tool_name, tool_calls) VALUES ({values("new")});
    END;
    CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN
        INSERT INTO messages_fts(messages_fts, rowid, content, tool_name, tool_calls)
            VALUES ('delete', {values("old")});
    END;
    CREATE TRIGGER messages_fts_update AFTER UPDATE OF content, tool_name, tool_calls, role ON messages BEGIN
        INSERT INTO messages_fts(messages_fts, rowid, content, tool_name, tool_calls)
            VALUES ('delete', {values("old")});
        INSERT INTO messages_fts(rowid, content, tool_name, tool_calls) VALUES ({values("new")});
    END;
    """


def _substring_search() -> str:
    if sqlite3.sqlite_version_info < (3, 34):  # the first with the trigram tokenizer
        return ""
    return """
    CREATE VIEW messages_fts_trigram_src AS SELECT id, content, tool_name FROM messages WHERE role <> 'tool';
    CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(
        content, tool_name, content='messages_fts_trigram_src', content_rowid='id', tokenize='trigram'
    );
    CREATE TRIGGER messages_fts_trigram_insert AFTER INSERT ON messages WHEN new.role <> 'tool' BEGIN
        INSERT INTO messages_fts_trigram(rowid, content, tool_name) VALUES (new.id, new.content, new.tool_name);
    END;
    CREATE TRIGGER messages_fts_trigram_delete AFTER DELETE ON messages WHEN old.role <> 'tool' BEGIN
        INSERT INTO messages_fts_trigram(messages_fts_trigram, rowid, content, tool_name)
            VALUES ('delete', old.id, old.content, old.tool_name);
    END;
    CREATE TRIGGER messages_fts_trigram_update AFTER UPDATE OF content, tool_name, role ON messages BEGIN
        INSERT INTO messages_fts_trigram(messages_fts_trigram, rowid, content, tool_name)
            SELECT 'delete', old.id, old.content, old.tool_name WHERE old.role <> 'tool';
        INSERT INTO messages_fts_trigram(rowid, content, tool_name)
            SELECT new.id, new.content, new.tool_name WHERE new.role <> 'tool';
    END;
    """


def store_prompt(connection: sqlite3.Connection, prompt: str) -> str | None:
    """Put a system prompt into the table of prompts; returns its key, None for no prompt."""
    if not prompt:
        return None
    key = hashlib.sha256(prompt.encode()).hexdigest()
    connection.execute("INSERT OR IGNORE INTO system_prompts (hash, prompt) VALUES (?, ?)", (key, prompt))
    return key


def insert(connection: sqlite3.Connection, table: str, row: Row) -> int:
    """Insert one row by its column names, others keep their defaults; returns its rowid."""
    names = ", ".join(quoted(name) for name in row)
    marks = ", ".join("?" * len(row))
    cursor = connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))
    assert cursor.lastrowid is not None  # an INSERT without an error made a row
    return cursor.lastrowid
