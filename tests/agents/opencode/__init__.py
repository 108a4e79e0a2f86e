"""OpenCode: `by_hand.py` writes and reads its rows, in tables and databases that the client made (`tests/data`)."""
