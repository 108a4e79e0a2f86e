"""The choices that narrow a list, as rows of links."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """One choice. `current`: the list is already narrowed to it; `count`: how many entries it would have, "" if
    unknown.
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
