"""Claude Code's sessions as a kind of store: one JSONL file for each session, to which the client only ever appends.

Each line is a record; the records of a conversation form a tree by `uuid` and `parentUuid`. `replay` has the rule which
of them a resume sends; everything else (History, what the model sees, boundaries) follows from it. A message is the
lines of one model response, or one block of a user's record; its id is the offset of its first line, and for a further
block of the same line a few bytes more. `docs/claude-code.md` describes the format and where that knowledge comes from.

In the order of reading: `paths` finds the files (`sidechains`: sub-agents inside of one, `forks`: copies of a session).
`schema` has the known forms of lines, `records` reads them (`envelopes`: what is not a person's words), `tree` joins
them, `replay` has the rule, `messages` makes messages of them, `codec` decodes these, and `reader` answers (`facts` for
lists, `usage` with numbers). For writing: `presence` says who has a session open and refuses, `plan` says which records
stay, `encode` makes the lines that are appended; `commit`, `undo` and `branch` write, after `writer` has looked. Must
not import: our own database, pages, runs.
"""
