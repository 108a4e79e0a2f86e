"""Models that write summaries, and whose rules a compaction carries."""
