"""Claude Code's sessions as a kind of store: one JSONL file for each session, to which the client only ever appends.

Each line is a record; the records of a conversation form a tree by `uuid` and `parentUuid`. `thread.py` has the rule
which of them a resume sends; everything else (History, what the model sees, boundaries) follows from it. A message is
the lines of one model response, or one block of a user's record; its id is the offset of its first line, and for a
further block of the same line a few bytes more. `docs/claude-code.md` describes the format and where that knowledge
comes from.

`places` finds the files, `records` reads lines, `thread` the tree, `codec` decodes lines into messages, `transcript`
makes the index. Must not import: our own database, pages, runs.
"""
