"""OpenClaw's and pi's sessions: both are trees of entries, in a SQLite database for each agent or in files of lines.

`entries` is one entry as a record, `tree` the path that is active, `context` what of it a model is sent.
"""
