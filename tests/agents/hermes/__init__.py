"""Hermes Agent.

By hand: `by_hand.py` writes and reads its rows (SQLite, our demo store, PostgreSQL), `at_work.py` does its statements
to a session, `in_memory.py` makes rows that are in no file, `program.py` is another program in a process of its own.

Itself: `real.py` runs it, with `driver.py` in its process and `model.py` as the model that it talks to; `loaded.py` is
a session as it loads it, `conversations.py` what it is told, `ours.py` what we do to its sessions meanwhile.
`stories.py` tells random stories (`story.py`, with the words of `author.py`), which `told.py` judges and `recorded.py`
keeps.
"""
