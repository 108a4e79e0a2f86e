"""A page as a tree, to ask what stands where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Protocol

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
SHAPES = {"path", "rect", "line"}  # SVG elements that templates close themselves
CHILDLESS = VOID | SHAPES


@dataclass
class Element:
    """One element: its own attributes, and its children and texts in order."""

    tag: str
    attributes: dict[str, str]
    inside: list[Element | str] = field(default_factory=list)

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())

    @property
    def text(self) -> str:
        """All text in it, white space folded."""
        return " ".join("".join(self._texts()).split())

    def _texts(self) -> Iterator[str]:
        for item in self.inside:
            if isinstance(item, str):
                yield item
            else:
                yield from item._texts()
                yield " "

    def walk(self) -> Iterator[Element]:
        waiting: list[Element | str] = [self]
        while waiting:
            found = waiting.pop()
            if isinstance(found, Element):
                yield found
                waiting += reversed(found.inside)

    def all(self, tag: str = "", cls: str = "", **attributes: str) -> list[Element]:
        """Elements in it, in order, by tag, class and attributes."""
        return [
            element
            for element in self.walk()
            if tag in ("", element.tag)
            and (not cls or cls in element.classes)
            and all(element.attributes.get(name) == value for name, value in attributes.items())
        ]

    def one(self, tag: str = "", cls: str = "", **attributes: str) -> Element:
        found = self.all(tag, cls, **attributes)
        assert len(found) == 1, f"{len(found)} of {tag} {cls} {attributes}"
        return found[0]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.stack = [Element("", {})]

    def updatepos(self, i: int, j: int) -> int:
        """Lines and columns, which nobody asks for, would take a tenth of the time."""
        return j

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.stack[-1].inside.append(element)
        if tag not in CHILDLESS:
            self.stack.append(element)

    def handle_endtag(self, tag: str) -> None:
        if tag in CHILDLESS:
            return
        assert self.stack[-1].tag == tag, f"</{tag}> closes <{self.stack[-1].tag}>"
        self.stack.pop()

    def handle_data(self, data: str) -> None:
        self.stack[-1].inside.append(data)


class Answer(Protocol):
    """What a test client's answer has, whatever class it patched together."""

    status_code: int

    @property
    def content(self) -> bytes: ...


def read(response: Answer, status: int = 200) -> Element:
    """The tree of an answer of this status; asserts that its tags nest."""
    assert response.status_code == status, response.content[:500]
    reader = _Reader()
    reader.feed(response.content.decode())
    assert len(reader.stack) == 1, f"<{reader.stack[-1].tag}> is never closed"
    return reader.stack[0]


def message_ids(page: Element) -> list[int]:
    """Ids of the messages of a page, in order."""
    found = [element.attributes.get("id", "") for element in page.walk()]
    return [int(each[1:]) for each in found if each[:1] == "m" and each[1:].isdigit()]
