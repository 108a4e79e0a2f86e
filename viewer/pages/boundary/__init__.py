"""One compaction in a session's History: what it did, its details, undoing it, branching from before it, its audit."""
