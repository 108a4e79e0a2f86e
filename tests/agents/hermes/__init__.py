"""Hermes Agent: `by_hand.py` writes and reads its rows, `real.py` runs the agent itself, whose side of that is
`driver.py`.
"""
