"""Names for the messages of rows that have none from the agent (schemas 19 to 22, and old rows of upgraded files).

`named` is the only way in: it takes the rows of a session and gives the same rows with a name each, the handoffs that
open a block, and the rows of each write that it knows from its times. Pure, and nobody asks it again: `history` reads
rows with names. `openings` finds the handoffs, `naming` the writes and the messages of their rows, `placing` the
messages of rows whose times are lost, `contexts` which of the blocks were undone.
"""

from .contexts import Write
from .naming import Named, named

__all__ = ["Named", "Write", "named"]
