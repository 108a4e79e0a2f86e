"""Codex' sessions as a kind of store: JSONL files ("rollouts") that the client appends to, one or several for each
session.

A line is a record. What a resume sends is replayed from the records: the items of the newest compaction, and those that
followed. A fork, and a session that somebody took back to an earlier turn, is a file that continues from a byte of
another one, so the records of a session may be in several files. A message is the items of one response of a model, or
one other item; its id is the number of its file, shifted, plus the offset of its first line, and for an item that only
exists in a compaction's line a few bytes more. `docs/codex.md` describes the format and where that knowledge comes
from.

`places` finds files, `database` reads names from the client's database, `records` and `items` read lines, `lineage`
joins files, `replay` has the rule, `codec` decodes items into messages, `index` makes the index. For writing:
`presence` keeps clients out, `context` and `changed` make the items of a new context, `told` and `lines` the lines
around it, `commits` writes them, `undo` takes them back and `redoing` applies them again, using the letters that
`switching` finds; `branching` copies lines. `client_settings` reads the client's own limit. Must not import: our own
database, pages, runs.
"""
