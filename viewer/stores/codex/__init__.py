"""Codex' sessions as a kind of store: JSONL files ("rollouts") that the client appends to, one or several a session.

A line is a record. What a resume sends is replayed from the records: the items of the newest compaction, and those
that followed. A fork, and a session that somebody took back to an earlier turn, is a file which goes on from a byte of
another one, so the records of a session may stand in several files. A message is the items of one response of a model,
or one other item; its id is the number of its file, shifted, plus the offset of its first line, and for an item that
stands nowhere but in a compaction's line some bytes behind that. `docs/codex.md` has the format and how it is known.

`places` finds files, `database` asks the client's for names, `records` and `items` read lines, `lineage` puts files
together, `replay` has the rule, `codec` makes messages of items, `index` the index. What is written: `locks` keeps
clients out, `context` and `changed` make the items of a new context, `told` and `lines` the lines around it, `commits`
writes them, `undoing` takes them back and `redoing` applies them again, by the letters that `switching` finds;
`branching` copies lines. `client_settings` has the client's own limit. May not know: our own database, pages, runs.
"""
