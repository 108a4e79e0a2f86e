"""The list of sessions: narrowing it, renaming, the archive."""
