"""Summaries by a model: what it reads (`transcript`, `digest`, `chunks`), what it is asked (`prompt`), and which
answers are accepted (`answers`). The caller makes the call itself.
"""
