"""Models that write summaries, how stores are compacted, and whose rules a compaction carries."""
