"""Agents' databases in SQLite: their tables, read-only connections, short write transactions, errors as sentences."""
