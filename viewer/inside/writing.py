"""Changes to an agent's own files, planned first, then written as a whole, and taken back.

A change says what is added, so that it can be taken out of a file that was changed by others since. A file that nobody
changed since gets its earlier bytes back; it is deleted if there was none.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from viewer.stores import settings_files
from viewer.stores.errors import StoreError

from . import yaml_text

START, END = "palimpsest: begin", "palimpsest: end"
BIGGEST = 5_000_000  # bytes of a file of settings that is changed


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
        for key in self.keys:
            settings = settings.get(key) if isinstance(settings, dict) else None
        return self.value in settings if self.in_list and isinstance(settings, list) else self.value == settings

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
    comment: str = "#"

    def put(self, before: str | None) -> str:
        kept = self.without(before or "")
        block = f"{self.comment} {START}\n{self.text.strip()}\n{self.comment} {END}\n"
        return f"{kept.rstrip()}\n\n{block}" if kept.strip() else block

    def taken(self, now: str) -> str | None:
        return self._without(now, {_first_line(each) for each in self.text.strip().split("\n\n")})

    def without(self, now: str) -> str:
        """The file without a block of ours, whatever is in it."""
        return self._without(now, None)

    def _without(self, now: str, ours: set[str] | None) -> str:
        """Without the paragraphs of the block that begin with these lines; None for all."""
        lines = now.splitlines(keepends=True)
        comments = [f"{self.comment} {each}" for each in (START, END)]
        marks = [at for at, line in enumerate(lines) if line.strip() in comments]
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


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file as it is, None for none, and as it will be, with the changes that make it so."""

    path: Path
    before: str | None
    after: str
    changes: tuple[Change, ...]

    @property
    def is_there(self) -> bool:
        """Whether the file is already as it will be. Raises NotInstallable."""
        return _text(self.path) == self.after

    @property
    def diff(self) -> str:
        """What is added and removed, as a unified diff."""
        old, new = (self.before or "").splitlines(keepends=True), self.after.splitlines(keepends=True)
        return "".join(difflib.unified_diff(old, new, str(self.path) if self.before else "/dev/null", str(self.path)))


def planned(changes: Iterable[Change], written: Sequence[dict[str, Any]] = ()) -> list[PlannedFile]:
    """The files that these changes change, in order, as if what was `written` earlier were taken back. Nothing is
    written. Raises NotInstallable.
    """
    earlier = {Path(each["path"]): each for each in written}
    by_path: dict[Path, list[Change]] = {}
    for change in changes:
        by_path.setdefault(Path(os.path.realpath(change.path)), []).append(change)  # people link their settings
    files = []
    for path, each in by_path.items():
        before = _text(path)
        if path in earlier:
            before = _without(earlier[path], before)
        after = before
        for change in _changing(path, before, each):
            after = change.put(after)
        assert after is not None
        files.append(PlannedFile(path, before, after, tuple(each)))
    return files


def _changing(path: Path, before: str | None, changes: Sequence[Change]) -> Sequence[Change]:
    """The changes to be made: none in a file of JSON5 that has them. Raises NotInstallable, with what to write, for one
    that has not: its comments would be lost.
    """
    items = [each for each in changes if isinstance(each, JsonItem)]
    settings = _commented(before) if items and before is not None else None
    if before is None or settings is None:
        return changes
    missing = [each for each in items if not each.is_in(settings)]
    if missing:
        text = "{}"
        for each in missing:
            text = each.put(text)
        raise NotInstallable(
            f"{path} has comments, or what else plain JSON has not: they would be lost. Add this by hand, "
            f"also to its lists, then install again:\n{json.dumps(json.loads(text), indent=2, ensure_ascii=False)}"
        )
    return ()


def _commented(text: str) -> Any:
    """The value of a text in JSON5 that is no plain JSON; None for any other text."""
    try:
        json.loads(text or "{}")
    except ValueError:
        with suppress(ValueError):
            return settings_files.json5_of(text)
    return None


def write(files: Sequence[PlannedFile], copies: Path) -> list[dict[str, Any]]:
    """Write the planned files; returns what `take_back` needs, as JSON. The earlier files are kept in `copies`.

    Raises NotInstallable, also if one of them was changed since it was planned; then none is written.
    """
    if any(_text(file.path) != file.before for file in files):
        raise NotInstallable("A file was changed meanwhile: look at what will be written again.")
    copies.mkdir(parents=True, exist_ok=True, mode=0o700)
    written: list[dict[str, Any]] = []
    for number, file in enumerate(files):
        copy = copies / f"{number}-{file.path.name}"
        if file.before is not None:
            _replace(copy, file.before, 0o600)
        made = [str(each) for each in (file.path.parent, *file.path.parent.parents) if not each.exists()]
        file.path.parent.mkdir(parents=True, exist_ok=True)
        _replace(file.path, file.after, file.path.stat().st_mode & 0o777 if file.before is not None else 0o600)
        written.append({
            "path": str(file.path), "digest": _digest(file.after), "directories": made,
            "before": str(copy) if file.before is not None else "",
            "changes": [{"kind": type(each).__name__, **asdict(each)} for each in file.changes],
        })  # fmt: skip
    return written


def take_back(written: Sequence[dict[str, Any]]) -> list[str]:
    """Take the changes out of all files again; returns a sentence for each that had been changed by others."""
    remarks = []
    for each in reversed(written):
        path = Path(each["path"])
        try:
            now = _text(path)
            after = _without(each, now)
        except NotInstallable as problem:
            remarks.append(f"{path} was left as it is: {problem.message} Take out by hand what is ours.")
            continue
        if now is not None and after is None:
            path.unlink()
        elif now is not None and after is not None and after != now:
            _replace(path, after, path.stat().st_mode & 0o777)
        if now is not None and now == after and _digest(now) == each["digest"]:
            remarks.append(f"{path} still has what was written into it by hand: take that out.")
        if now is not None and _digest(now) != each["digest"]:
            remarks.append(f"{path} had been changed since; only what is ours was taken out.")
        for directory in each["directories"]:
            shutil.rmtree(Path(directory, "__pycache__"), ignore_errors=True)  # of our files, by an agent in Python
            with suppress(OSError):  # somebody else's file is in it
                os.rmdir(directory)
    return remarks


def _without(each: dict[str, Any], now: str | None) -> str | None:
    """The file without our changes; None for no file."""
    if now is None:
        return None
    if _digest(now) == each["digest"]:
        return _text(Path(each["before"])) if each["before"] else None
    after: str | None = now
    for fields in reversed(each["changes"]):
        kind = KINDS[fields["kind"]]
        values = {name: tuple(value) if name == "keys" else value for name, value in fields.items() if name != "kind"}
        after = kind(**values).taken(after) if after is not None else None
    return after


def _text(path: Path) -> str | None:
    """The text of a file, None if there is none. Raises NotInstallable."""
    try:
        if path.stat().st_size > BIGGEST:
            raise NotInstallable(f"{path} is larger than a file of settings: it is not changed.")
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as problem:
        raise NotInstallable(f"{path} cannot be read: {problem}.") from None


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


def _replace(path: Path, text: str, mode: int) -> None:
    """Write a file as a whole: whoever reads it sees the old or the new one."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(descriptor)
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
