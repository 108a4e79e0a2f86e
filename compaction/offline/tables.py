"""Tables in an agent's words: separator rows are removed, and a header that several tables share is written once."""

from __future__ import annotations

import re

_RULE = re.compile(r"\s*\|?\s*:?-{2,}[\s|:-]*")


class Tables:
    """The tables of a conversation, oldest text first."""

    def __init__(self) -> None:
        self.headers: set[str] = set()

    def shorter(self, text: str) -> str:
        """The text without separator rows of tables, and without headers that occurred before."""
        if "|" not in text or "--" not in text:
            return text
        lines: list[str] = []
        for line in text.splitlines():
            if "|" in line and _RULE.fullmatch(line):
                if lines and lines[-1] in self.headers:
                    lines.pop()
                elif lines:
                    self.headers.add(lines[-1])
            else:
                lines.append(line)
        return "\n".join(lines)
