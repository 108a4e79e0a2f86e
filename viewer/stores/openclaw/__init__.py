"""The sessions of OpenClaw and pi: both are trees of entries, in a SQLite database for each agent or in files of lines.

`entries` makes a record of one entry, `tree` finds the active path, `context` the part of it that a model is sent;
`messages` and `transcripts` make messages, boundaries and the index from that. `places` finds sessions, `database` and
`rows` read them from SQLite, `sources` reads one entry from either, and `codec` decodes it into a message.
`docs/openclaw.md` describes the format and where that knowledge comes from.
"""
