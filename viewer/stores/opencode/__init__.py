"""OpenCode's database (`~/.local/share/opencode/opencode.db`) as a kind of store: docs/opencode.md.

A session consists of messages, each a row, and a message of parts, each a row as well: text, reasoning, a file, a call
with its result. A message here is a row with its parts; the result of a call is a message of its own.
"""
