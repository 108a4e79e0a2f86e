"""The client's own settings: the number of tokens in context at which it compacts.

Read from the `config.toml` in its home, which a person edits: where something in it is wrong, the client's default
counts.
"""

from __future__ import annotations

import tomllib

from viewer.stores.base import Store
from viewer.stores.settings_files import value_in

NAME = "config.toml"
LIMIT = "model_auto_compact_token_limit"
# The client compacts at nine tenths of a model's window, and reports 95 hundredths of it (0.169.0, four models).
OF_TOLD = (18, 19)


def threshold(store: Store, window: int) -> int:
    """Tokens in context at which the client compacts, for a model with this reported window. A configured limit counts
    where it is lower.
    """
    usual = window * OF_TOLD[0] // OF_TOLD[1]
    limit = value_in(store.path / NAME, tomllib.loads, LIMIT)
    return min(max(limit, 1), usual) if type(limit) is int else usual  # with 0 or less, it compacts each time
