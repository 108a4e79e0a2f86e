"""What kinds share whose sessions are trees of the entries of pi's family: OpenClaw runs pi's sessions.

`records` makes a record of one entry, `plain_tree` (pi) and `strict_tree` (OpenClaw) find the active path, `replay` the
part of it that a model is sent; `messages` makes messages and compactions from that. `sources` reads one entry from a
file, and `codec` decodes it into a message. `docs/openclaw.md` describes the format and where that knowledge
comes from.
"""
