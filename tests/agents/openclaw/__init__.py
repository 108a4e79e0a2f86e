"""OpenClaw: `by_hand.py` writes and reads its databases and files, `recorded.py` holds databases that it wrote itself,
`views.py` is what a model is told in blocks that can be compared.
"""
