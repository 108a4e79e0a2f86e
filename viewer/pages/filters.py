"""What a list can be narrowed by, as rows of links."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """One choice; `current` where the list is narrowed to it already, `count` how many it would have, "" where that is
    not known.
    """

    label: str
    href: str
    current: bool = False
    count: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """One row of filter links."""

    name: str
    links: tuple[Link, ...]
