"""Claude Code: `by_hand.py` writes and reads its files."""
