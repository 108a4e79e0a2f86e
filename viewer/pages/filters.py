"""The choices that narrow a list, as rows of links."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """One choice. `current`: the list is already narrowed to it; `count`: how many entries it would have, "" if
    unknown; `title`: the whole value where the label is a part of it.
    """

    label: str
    href: str
    current: bool = False
    count: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """One row of filter links."""

    name: str
    links: tuple[Link, ...]

    @property
    def narrows(self) -> list[str]:
        """ "store h31": the choice that narrows the list. The first one of a named row leaves it whole."""
        return [f"{self.name.lower()} {link.label}".strip() for link in self.links[bool(self.name) :] if link.current]
