"""The client's own settings: how many tokens in context make it compact by itself.

Read from the `config.toml` in its home, which belongs to a person: whatever is wrong with it, the client's default
counts.
"""

from __future__ import annotations

import tomllib

from viewer.stores.base import Store
from viewer.stores.settings_files import value_in

NAME = "config.toml"
LIMIT = "model_auto_compact_token_limit"
# The client compacts at nine tenths of a model's window, and tells 95 hundredths of it (0.169.0, four models).
OF_TOLD = (18, 19)


def threshold(store: Store, window: int) -> int:
    """Tokens in context at which the client compacts by itself, for a model whose window it tells as so many. A limit
    that somebody set counts where it is lower.
    """
    usual = window * OF_TOLD[0] // OF_TOLD[1]
    limit = value_in(store.path / NAME, tomllib.loads, LIMIT)
    return min(max(limit, 1), usual) if type(limit) is int else usual  # of none, and less, it compacts each time
