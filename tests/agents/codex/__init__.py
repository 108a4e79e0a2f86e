"""Codex: `by_hand.py` writes and reads its files, `writing.py` makes compactions in them."""
