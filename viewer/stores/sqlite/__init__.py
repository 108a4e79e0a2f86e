"""Agents' databases in SQLite: read-only connections, short write transactions, errors as sentences."""
