"""Which cases of a test wait for `make test-all`: those that repeat in another shape what the others show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def thorough(*cases: Any) -> list[Any]:
    """These cases as parameters that wait; a tuple is a case of several parameters."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.thorough) for case in cases]


def one_in(step: int, cases: Iterable[Any]) -> list[Any]:
    """All cases, of which each so-many-th does not wait."""
    return [case for at, each in enumerate(cases) for case in ([each] if at % step == 0 else thorough(each))]
