"""What an agent asks about its own past: what a compaction summarised away, in full, from the store that still has it.

Plain functions over an open store; their answers are values with short texts, without what looks like a secret. They
know neither HTTP nor MCP: `viewer.mcp` puts the answers into words.
"""
