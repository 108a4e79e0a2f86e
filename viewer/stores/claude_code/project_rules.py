"""Whether the client reads AGENTS.md. It does where no directory from there up has rules of its own; so 2.1.330 does,
and earlier versions never did (tests/interop/claude_code/test_project_rules.py).
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from viewer.stores.settings_files import LARGEST, json5_value_in

OWN = ("CLAUDE.md", os.path.join(".claude", "CLAUDE.md"), "CLAUDE.local.md")
PLUGIN = "cc-plugin-agents-md@builtin"  # reads AGENTS.md, and can be switched off
_IMPORT = re.compile(r"(?<![`\S])@(?:\./)?AGENTS\.md(?![\w`])")


def reads_agents_md(directory: Path, config: Path) -> bool:
    """Whether it reads the file of this directory, with this directory of configuration."""
    files = [directory / name for name in OWN]
    if any(_IMPORT.search(_text(file)) or _is_same(file, directory / "AGENTS.md") for file in files):
        return True
    if json5_value_in(config / "settings.json", "enabledPlugins", PLUGIN) is False:
        return False
    above = [path / name for path in directory.parents for name in OWN]
    return not any(_text(file).strip() for file in files) and not any(map(_has_content, above))


def _text(file: Path) -> str:
    """The text without comments, "" where it cannot be read."""
    try:
        if not stat.S_ISREG(file.stat().st_mode) or file.stat().st_size > LARGEST:
            return ""
        return re.sub(r"<!--.*?-->", "", file.read_text(encoding="utf-8", errors="replace"), flags=re.DOTALL)
    except OSError:
        return ""


def _has_content(file: Path) -> bool:
    """Whether there is something in a file that is not looked into: it may be outside of what may be read."""
    try:
        return file.stat().st_size > 0
    except OSError:
        return False


def _is_same(file: Path, other: Path) -> bool:
    try:
        return file.samefile(other)
    except OSError:
        return False
