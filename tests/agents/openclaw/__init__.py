"""OpenClaw: `by_hand.py` writes and reads its databases and files, `recorded.py` holds those that it wrote."""
