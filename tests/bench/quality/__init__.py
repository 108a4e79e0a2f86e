"""`make bench-quality`: what a compaction keeps, by yardsticks of others and plain ones; see docs/quality.md."""
