"""One compaction in a session's History: its effect, its details, undoing it, a branch from before it, its audit."""
