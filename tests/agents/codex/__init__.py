"""Codex: `by_hand.py` writes and reads its files, `writing.py` makes compactions in them, `recorded.py` has sessions of
the client itself, `views.py` is what a model is told in blocks that can be compared.
"""
