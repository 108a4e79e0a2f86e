"""Sessions of agents, whichever agent wrote them: one interface, and a folder for each kind of store.

`kind` says what a kind offers, `reader` and `writer` what it can be asked. `base`, `message`, `listing`, `search`,
`recorded` and `transcript` are the plain values that go in and out. `registry` opens a store; it alone knows all kinds.
The code above this package knows neither the files nor the SQL of an agent; a kind knows neither Django's models nor
pages.

`hermes` reads the database of Hermes Agent, on SQLite or PostgreSQL, and the demo store, which has the same form.
`claude_code` reads the session files of Claude Code and `codex` those of Codex; both use `jsonl`. `openclaw` reads the
trees of entries that OpenClaw keeps in databases or files, and pi in files. `gemini` and `qwen` read files that are
parsed whole (`parsed`).
"""
