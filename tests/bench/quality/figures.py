"""A figure of a yardstick, and how it is printed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One number: so many of so many; where `of` is None a number of things, or, as a float, a share."""

    what: str
    got: float
    of: float | None = None

    def __str__(self) -> str:
        if self.of is None:
            return f"{self.got:.3f}" if isinstance(self.got, float) else f"{self.got:,}"
        share = f"{self.got / self.of:.3f}" if self.of else "-"
        return f"{share} ({self.got:,.0f} of {self.of:,.0f})"


def total(what: str, counted: list[tuple[int, int]]) -> Figure:
    """The figure of several counts together."""
    return Figure(what, sum(got for got, _ in counted), sum(of for _, of in counted))
