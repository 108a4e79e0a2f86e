"""Codex' sessions as a kind of store: JSONL files ("rollouts") that the client appends to, one or several for each
session.

A line is a record. What a resume sends is replayed from the records: the items of the newest compaction, and those that
followed. A fork, and a session that somebody took back to an earlier turn, is a file that continues from a byte of
another one, so the records of a session may be in several files. A message is the items of one response of a model, or
one other item; its id is the number of its file, shifted, plus the offset of its first line, and for an item that only
exists in a compaction's line a few bytes more. `docs/codex.md` describes the format and where that knowledge comes
from.

In the order of reading: `paths` finds files, `database` reads names from the client's database. `schema` has the lines
that the client reads, `items` and `records` what is in one (`envelopes`: what is not a person's words), `replay` joins
files and has the rule, `messages` makes messages of the items, `codec` decodes them, and `reader` answers (`facts` for
lists, `usage` with numbers). For writing: `presence` keeps clients out and refuses, `plan` makes the items of a new
context, `encode` the lines around it; `commit`, `undo` and `branch` write, after `writer` has looked. Must not import:
our own database, pages, runs.
"""
