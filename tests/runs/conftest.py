from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def hermes_databases(own_databases: Callable[[int], Path]) -> Callable[[int], Path]:
    """Ours, so that they do for the tests wherever these are run; the contract and the pages take the real ones."""
    return own_databases
