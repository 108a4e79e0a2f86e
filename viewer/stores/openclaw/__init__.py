"""OpenClaw's and pi's sessions: both are trees of entries, in a SQLite database for each agent or in files of lines.

`entries` is one entry as a record, `tree` the path that is active, `context` what of it a model is sent; `messages` and
`transcripts` make messages, boundaries and the index of that. `places` finds sessions, `database` and `rows` read them
out of SQLite, `sources` reads one entry wherever it is, and `codec` makes a message of it. `docs/openclaw.md` has the
format and how it is known.
"""
