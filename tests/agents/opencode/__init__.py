"""OpenCode: `by_hand.py` writes and reads its database, and names what the client itself wrote."""
