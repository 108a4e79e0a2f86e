"""The worked example of docs/engine.md does what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "engine.md"


def test_the_example_prints_what_the_page_shows() -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    [shown] = re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, str(PAGE), "exec"), {})
    assert printed.getvalue() == shown
