"""Changes to an agent's own files, planned first, then written as a whole, and taken back.

A file that nobody changed since gets its earlier bytes back; it is deleted if there was none.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from viewer.stores import settings_files

from .changes import KINDS, Change, JsonItem, NotInstallable

BIGGEST = 5_000_000  # bytes of a file of settings that is changed


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
    written: list[dict[str, Any]] = []
    try:
        copies.mkdir(parents=True, exist_ok=True, mode=0o700)
        for number, file in enumerate(files):
            written.append(_written_file(file, copies / f"{number}-{file.path.name}"))
    except OSError as problem:
        take_back(written)
        raise NotInstallable(
            f"{problem.filename} cannot be written: {problem.strerror}. Nothing was written."
        ) from None
    return written


def _written_file(file: PlannedFile, copy: Path) -> dict[str, Any]:
    """Write one file, and its earlier bytes to `copy`."""
    if file.before is not None:
        _replace(copy, file.before, 0o600)
    made = [str(each) for each in (file.path.parent, *file.path.parent.parents) if not each.exists()]
    file.path.parent.mkdir(parents=True, exist_ok=True)
    _replace(file.path, file.after, file.path.stat().st_mode & 0o777 if file.before is not None else 0o600)
    return {
        "path": str(file.path), "digest": _digest(file.after), "directories": made,
        "before": str(copy) if file.before is not None else "",
        "changes": [{"kind": type(each).__name__, **asdict(each)} for each in file.changes],
    }  # fmt: skip


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
