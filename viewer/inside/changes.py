"""What is added to an agent's own file of settings, or a new file: put in, and taken out again.

A change says what is added, so that it can be taken out of a file that others changed since.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from viewer.stores.errors import StoreError

from . import yaml_text

START, END = "# palimpsest: begin", "# palimpsest: end"


class NotInstallable(StoreError):
    """What is to be written cannot be; the message says why, and what to do."""

    code = "not_installable"
    status = 409


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file of our own, with this text."""

    path: str
    text: str

    def put(self, before: str | None) -> str:
        if before not in (None, self.text):
            raise NotInstallable(f"There is a file {self.path} already, which is not ours: move it away first.")
        return self.text

    def taken(self, now: str) -> str | None:
        """The file without it; None for no file."""
        return None


@dataclass(frozen=True, slots=True)
class JsonItem:
    """A value in a JSON file of settings, below these keys; with `in_list` an item of the list there."""

    path: str
    keys: tuple[str, ...]
    value: Any
    in_list: bool = False

    def is_in(self, settings: Any) -> bool:
        """Whether it is in these settings."""
        there = _at(settings, self.keys)
        return self.value in there if self.in_list and isinstance(there, list) else self.value == there

    def put(self, before: str | None) -> str:
        settings = _object(self.path, before)
        _put(self, settings)
        return _written(settings, before)

    def taken(self, now: str) -> str | None:
        settings = _object(self.path, now)
        return _written(settings, now) if _taken(self, settings) else now


@dataclass(frozen=True, slots=True)
class YamlItem:
    """A value in a YAML file of settings, below these keys; with `in_list` an item of the list there.

    It is put in as text: every other byte stays. `instead_of` is what the agent takes if there is no value: it may be
    replaced.
    """

    path: str
    keys: tuple[str, ...]
    value: Any
    in_list: bool = False
    instead_of: Any = None

    def put(self, before: str | None) -> str:
        text, wanted = before or "", _yaml(self.path, before or "")
        there = _at(wanted, self.keys)
        if there == self.value or (self.in_list and isinstance(there, list) and self.value in there):
            return text
        replaced = not self.in_list and there is not None and there == self.instead_of
        if replaced:
            _taken(replace(self, value=there), wanted)
        _put(self, wanted)
        value = [self.value] if self.in_list else self.value
        change = yaml_text.replaced if replaced else yaml_text.inserted
        by_hand = json.dumps(value) if replaced else yaml_text.inserted("", self.keys, value).rstrip()
        return _checked(
            self.path, lambda: change(text, self.keys, value), wanted,
            f"write this into it by hand, then install again: {'.'.join(self.keys)}\n{by_hand}",
        )  # fmt: skip

    def taken(self, now: str) -> str | None:
        wanted = _yaml(self.path, now)
        if not _taken(self, wanted):
            return now
        by_hand = f"take {json.dumps(self.value)} out of {'.'.join(self.keys)} by hand."
        item = self.value if self.in_list else None
        return _checked(self.path, lambda: yaml_text.removed(now, self.keys, item), wanted, by_hand)


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Lines at the end of a file, between two lines of comment by which they are found again.

    Codex adds tables of its own between these: a paragraph that does not begin as one of ours is not ours.
    """

    path: str
    text: str

    def put(self, before: str | None) -> str:
        kept = self.without(before or "")
        block = f"{START}\n{self.text.strip()}\n{END}\n"
        return f"{kept.rstrip()}\n\n{block}" if kept.strip() else block

    def taken(self, now: str) -> str | None:
        return self._without(now, {_first_line(each) for each in self.text.strip().split("\n\n")})

    def without(self, now: str) -> str:
        """The file without a block of ours, whatever is in it."""
        return self._without(now, None)

    def _without(self, now: str, ours: set[str] | None) -> str:
        """Without the paragraphs of the block that begin with these lines; None for all."""
        lines = now.splitlines(keepends=True)
        marks = [at for at, line in enumerate(lines) if line.strip() in (START, END)]
        if len(marks) != 2:
            return now
        inside = "".join(lines[marks[0] + 1 : marks[1]]).strip().split("\n\n")
        others = [each for each in inside if ours is not None and _first_line(each) not in ours]
        before, behind = "".join(lines[: marks[0]]).rstrip(), "".join(lines[marks[1] + 1 :])
        kept = "".join(f"\n{each.strip()}\n" for each in others)
        return f"{before}\n{kept}{behind}" if before else f"{kept}{behind}".lstrip("\n")


def _first_line(paragraph: str) -> str:
    return paragraph.strip().partition("\n")[0].strip()


Change = NewFile | JsonItem | YamlItem | TextBlock
KINDS: dict[str, Callable[..., Change]] = {each.__name__: each for each in (NewFile, JsonItem, YamlItem, TextBlock)}


# -- settings as values ------------------------------------------------------------------------------------------------


def _at(settings: Any, keys: Sequence[str]) -> Any:
    """What is below these keys, None for nothing."""
    for key in keys:
        settings = settings.get(key) if isinstance(settings, dict) else None
    return settings


def _put(item: JsonItem | YamlItem, settings: dict[str, Any]) -> None:
    """Add the item to the settings. Raises NotInstallable if something else is there."""
    *above, last = item.keys
    at = settings
    for key in above:
        if at.get(key) is None:
            at[key] = {}
        at = at[key]
        if not isinstance(at, dict):
            raise NotInstallable(f"{item.path} has no object at {'.'.join(item.keys)}, as its agent wants it.")
    there = at.get(last)
    if item.in_list:
        if not isinstance(there, list | None):
            raise NotInstallable(f"{item.path} has no list at {'.'.join(item.keys)}, as its agent wants it.")
        if item.value not in (there or []):
            at[last] = [*(there or []), item.value]
    elif there not in (None, item.value):
        raise NotInstallable(
            f"{item.path} has {'.'.join(item.keys)} already, with another value: remove it there first."
        )
    else:
        at[last] = item.value


def _taken(item: JsonItem | YamlItem, settings: dict[str, Any]) -> bool:
    """Take the item out of the settings, with what is empty then; False if it is not there."""
    parents: list[tuple[dict[str, Any], str]] = []
    at: Any = settings
    for key in item.keys:
        if not isinstance(at, dict) or key not in at:
            return False
        parents.append((at, key))
        at = at[key]
    holder, last = parents[-1]
    if item.in_list and isinstance(at, list) and item.value in at:
        holder[last] = [each for each in at if each != item.value]
    elif not item.in_list and at == item.value:
        del holder[last]
    else:
        return False
    for holder, key in reversed(parents):  # what is empty now was made for it
        if key in holder and holder[key] in ({}, []):
            del holder[key]
    return True


def _yaml(path: str, text: str) -> dict[str, Any]:
    """The object in a YAML file. Raises NotInstallable."""
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        raise NotInstallable(f"{path} is not plain YAML ({problem}): write what is shown into it by hand.") from None
    if not isinstance(value, dict | None):
        raise NotInstallable(f"{path} is no YAML object.")
    settings: dict[str, Any] = _unshared(value or {})
    return settings


def _unshared(value: Any) -> Any:
    """A copy in which what was written once and is named several times is there several times."""
    if isinstance(value, dict):
        return {key: _unshared(each) for key, each in value.items()}
    return list(map(_unshared, value)) if isinstance(value, list) else value


def _checked(path: str, change: Callable[[], str], wanted: dict[str, Any], by_hand: str) -> str:
    """The changed text, if it says what is wanted and nothing else. Raises NotInstallable."""
    try:
        text = change()
        found = (yaml.safe_load(text) or {}) == wanted
    except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, StopIteration):
        found = False
    if not found:
        raise NotInstallable(f"{path} is written in a way that is not changed here: {by_hand}")
    return text


def _object(path: str, text: str | None) -> dict[str, Any]:
    """The object in a JSON file. Raises NotInstallable for one with comments, too: they would be lost."""
    try:
        value = json.loads(text) if text and text.strip() else {}
    except ValueError as problem:
        raise NotInstallable(f"{path} is not plain JSON ({problem}).") from None
    if not isinstance(value, dict):
        raise NotInstallable(f"{path} is no JSON object.")
    return value


def _written(settings: dict[str, Any], before: str | None) -> str:
    """The settings as JSON, indented as they were."""
    lines = (before or "").splitlines()
    first = next((line for line in lines[1:] if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())] or "  "
    text = json.dumps(settings, indent="\t" if "\t" in indent else len(indent), ensure_ascii=False)
    return text + ("\n" if before is None or before.endswith("\n") else "")
