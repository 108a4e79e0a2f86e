"""The sessions of OpenClaw: trees of entries (`stores/trees`), in a SQLite database for each agent or in files of
lines.

`paths` finds sessions, `database` and `records` read them from SQLite. `docs/openclaw.md` describes the format.
"""
