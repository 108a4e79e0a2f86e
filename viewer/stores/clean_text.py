"""Session text made safe for a page or a file for people: characters that cannot be shown are replaced, names become
one line.
"""

from __future__ import annotations

import re
import shlex

_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
# Terminal colours and cursor moves (ECMA-48 control sequences), window titles (OSC) and single-character escapes.
_ANSI = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[@-Z\\\\-_]")
# Control characters get their Unicode pictures; tab and line feed stay, a carriage return becomes a line feed before.
_PICTURES = {code: chr(0x2400 + code) for code in range(32) if code not in (9, 10)} | {127: "\u2421"}
# Characters that would turn the direction of the text around them become names (UAX #9, explicit directional
# formatting).
_TURNS = {0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO", 0x202E: "RLO"} | {
    0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI",
}  # fmt: skip
# Control characters beyond ASCII (C1) have no pictures; one of them begins an escape sequence.
_BEYOND = dict.fromkeys(range(0x80, 0xA0), "\ufffd")
_VISIBLE = _PICTURES | _BEYOND | {code: f"⟨{name}⟩" for code, name in _TURNS.items()}


def clean(text: str) -> str:
    """The text without terminal escapes; lone surrogates, control and direction characters harmless and visible."""
    if text.isascii() and text.isprintable():
        return text
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return visible(text.replace("\r\n", "\n").replace("\r", "\n"))


def sanitized(text: str) -> str:
    """The text with lone surrogates, which no database takes, replaced by U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def visible(text: str) -> str:
    """The text with each character that no page can show, or that would reorder a page, as a picture or a name."""
    if not text.isascii():
        return _SURROGATE.sub("\ufffd", text).translate(_VISIBLE)
    return text.translate(_PICTURES) if _CONTROL.search(text) else text


def line(text: str, limit: int) -> str:
    """The text as one line of at most `limit` characters."""
    return shortened(" ".join(clean(text[: 4 * limit]).split()), limit)


def shortened(text: str, limit: int) -> str:
    """The text, or its beginning with "…": at most `limit` characters, after a word if one ends in its last third."""
    if len(text) <= limit:
        return text
    end = text.rfind(" ", limit * 2 // 3, limit)
    return text[: end if end > 0 else limit - 1].rstrip() + "…"


def shell_word(text: str) -> str:
    """The text as one word of a command line. A page can show and copy it as it is: characters that `clean` changes,
    and without which a quote could stay open, are escaped as bash, zsh and ksh read them ($'...').
    """
    if clean(text) == text:
        return shlex.quote(text)
    escaped = "".join(
        char if char.isprintable() and char not in "\\'" else "".join(f"\\x{byte:02x}" for byte in _bytes(char))
        for char in text
    )
    return f"$'{escaped}'"


def _bytes(char: str) -> bytes:
    """A character as a file's name has it; a lone surrogate may be a byte that was no UTF-8."""
    return char.encode("utf-8", "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass")
