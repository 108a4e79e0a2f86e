"""Code in colours by Pygments, about 2 ms a kilobyte: only for what somebody looks at."""

from __future__ import annotations

import html
from functools import lru_cache
from typing import Any

from pygments import highlight  # type: ignore[import-untyped]  # Pygments brings no types
from pygments.formatters.html import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import get_all_lexers, get_lexer_by_name  # type: ignore[import-untyped]

LIMIT = 20_000  # characters of one piece of code; a longer one stays plain

_LANGUAGES = {
    "bash": "bash", "c": "c", "cc": "cpp", "cfg": "ini", "cpp": "cpp", "cs": "csharp", "css": "css", "go": "go",
    "h": "c", "hpp": "cpp", "html": "html", "ini": "ini", "java": "java", "js": "javascript", "json": "json",
    "jsx": "jsx", "kt": "kotlin", "lua": "lua", "mjs": "javascript", "php": "php", "pl": "perl", "py": "python",
    "pyi": "python", "r": "r", "rb": "ruby", "rs": "rust", "scala": "scala", "sh": "bash", "sql": "sql",
    "svelte": "html", "swift": "swift", "toml": "toml", "ts": "typescript", "tsx": "tsx", "vue": "html", "xml": "xml",
    "yaml": "yaml", "yml": "yaml", "zsh": "bash",
}  # fmt: skip
_FORMATTER = HtmlFormatter(nowrap=True)


def language_of(path: str) -> str:
    """The language of a file by the end of its name, "" for one that tells none."""
    name = path[-200:].rstrip().rpartition("/")[2].lower()
    return _LANGUAGES.get(name.rpartition(".")[2], "") if "." in name else ""


def is_known(language: str) -> bool:
    return language.lower() in _names()


def coloured(text: str, language: str) -> str:
    """The text as HTML with Pygments' classes; plain where the language is not known or the text is long."""
    if not is_known(language) or len(text) > LIMIT:
        return html.escape(text, quote=False)
    return str(highlight(text, _lexer(language.lower()), _FORMATTER))


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    """Every name of a language that Pygments knows; text in none needs no colours."""
    names = {name for _, aliases, _, _ in get_all_lexers(plugins=False) for name in aliases}
    return frozenset(names - {"text"})


@lru_cache(maxsize=200)
def _lexer(language: str) -> Any:
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)
