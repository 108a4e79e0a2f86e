"""A store that is one JSON file, of the kind that the guide writes as an example."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from viewer.stores import registry

GUIDE = Path(__file__).parents[2] / "docs" / "store-kinds.md"


def add_json_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the site know the kind whose addresses begin with `json:///`."""
    (text,) = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.M | re.S)
    assert text.count("\n") < 120
    example: dict[str, Any] = {"__name__": "example"}
    exec(compile(text, "docs/store-kinds.md", "exec"), example)
    monkeypatch.setattr(registry, "KINDS", [*registry.KINDS, example["JsonFile"]()])


def write_sessions(path: Path, sessions: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Write the file anew with these sessions, whose titles are their ids."""
    stored = [{"id": name, "title": name, "messages": messages} for name, messages in sessions.items()]
    path.write_text(json.dumps({"sessions": stored}))
