"""Files of rules around a working directory, and whether the client reads AGENTS.md there, as 2.1.330 does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

RULES = "# Agents\n\n## Red Lines\n\nNever push to main.\n"
AGENTS = {"AGENTS.md": RULES}
OFF = '{"enabledPlugins": {"cc-plugin-agents-md@builtin": false}}'
READ: dict[str, tuple[dict[str, str], bool]] = {
    "alone": ({}, True),
    "with CLAUDE.md": ({"CLAUDE.md": "Be brief."}, False),
    "with an empty CLAUDE.md": ({"CLAUDE.md": " \n"}, True),
    "with a comment in CLAUDE.md": ({"CLAUDE.md": "<!-- later -->\n"}, True),
    "with .claude/CLAUDE.md": ({".claude/CLAUDE.md": "Be brief."}, False),
    "with CLAUDE.local.md": ({"CLAUDE.local.md": "Be brief."}, False),
    "with rules": ({".claude/rules/brief.md": "Be brief."}, True),
    "imported": ({"CLAUDE.md": "Be brief.\n@AGENTS.md\n"}, True),
    "named in code": ({"CLAUDE.md": "Be brief, see `@AGENTS.md`.\n"}, False),
    "below CLAUDE.md": ({"../../CLAUDE.md": "Be brief."}, False),
    "below .claude/CLAUDE.md": ({"../.claude/CLAUDE.md": "Be brief."}, False),
    "of a repository below CLAUDE.md": ({".git/HEAD": "ref: refs/heads/main", "../CLAUDE.md": "Be brief."}, False),
    "above CLAUDE.md": ({"sub/CLAUDE.md": "Be brief."}, True),
    "with a CLAUDE.md of the user": ({"CONFIG/CLAUDE.md": "Be brief."}, True),
    "switched off": ({"CONFIG/settings.json": OFF}, False),
}
NAMES: list[Any] = list(READ)


def laid_out(name: str, work: Path, config: Path) -> bool:
    """Write the files; whether the client reads AGENTS.md."""
    files, is_read = READ[name]
    for path, text in {**AGENTS, **files}.items():
        file = config / path.removeprefix("CONFIG/") if path.startswith("CONFIG/") else work / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return is_read
