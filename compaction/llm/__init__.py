"""Having a model summarise: what it reads (`transcript`, `digest`, `chunks`), what it is asked (`prompt`), and which of
its answers are taken (`answers`). The call itself is the caller's.
"""
