"""Agents' sessions, whoever keeps them: a folder for each kind of store, and the plain values that all of them return.

`hermes` is Hermes Agent's database, on SQLite or PostgreSQL; `demo` makes the demo store in the same form.
"""
