"""pi: `by_hand.py` writes and reads its files, `strange.py` makes trees of entries that no client would."""
