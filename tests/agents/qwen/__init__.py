"""Qwen Code: `by_hand.py` writes and reads its files, and names what the client itself wrote (`RECORDED`)."""
