"""Agents' sessions, whoever keeps them: one interface, and a folder for each kind of store.

`kind` says what a kind offers, `reader` and `writer` what it is asked, `base`, `message`, `listing`, `searching`,
`recorded` and `transcript` are the plain values in between. `registry` opens a store, and alone knows the kinds. What
is above knows neither files nor SQL of an agent's; a kind knows neither Django's models nor pages.

`hermes` is Hermes Agent's database, on SQLite or PostgreSQL, and the demo store in the same form; `claude_code` the
session files of Claude Code and `codex` those of Codex, on `jsonl`, which kinds of such files share; `openclaw` the
trees of entries that OpenClaw keeps in databases or files, and pi in files.
"""
