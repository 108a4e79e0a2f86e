"""Cases that only `make test-all` runs: those that repeat in another shape what the others show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def slow(*cases: Any) -> list[Any]:
    """These cases as slow parameters; a tuple is a case of several parameters."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow) for case in cases]


def one_in(step: int, cases: Iterable[Any]) -> list[Any]:
    """All cases, of which all but each so-many-th are slow."""
    return [case for at, each in enumerate(cases) for case in ([each] if at % step == 0 else slow(each))]
