"""Claude Code: `by_hand.py` writes and reads its files, `project_files.py` lays out files of rules,
`recorded.py` has sessions of the client itself, `views.py` is
what a model is told in blocks that can be compared.
"""
