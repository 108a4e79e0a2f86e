"""Claude Code's sessions as a kind of store: one JSONL file a session, to which the client only ever appends.

Each line is a record; records of a conversation are a tree by `uuid` and `parentUuid`. Which of them a resume sends is
the rule in `thread.py`; everything else (History, what the model sees, boundaries) follows from it. A message is the
lines of one model response, or one block of a user's record; its id is the offset of its first line, and for a further
block of the same line some bytes behind that. `docs/claude-code.md` has the format and where it is known from.

`places` finds the files, `records` reads lines, `thread` the tree, `codec` makes messages of lines, `transcript` the
index. May not know: our own database, pages, runs.
"""
