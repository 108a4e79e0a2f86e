"""Models that write summaries, how stores are compacted, and which rules a compaction carries."""
