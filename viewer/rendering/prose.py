"""Markdown in somebody's words: as HTML that loads nothing, and set into a larger Markdown text without harming it.

Text that would grow beyond measure as HTML (a table of thousands of columns, quotes nested by the thousand) is shown as
the plain text it is, in exports as on pages.
"""

from __future__ import annotations

import html
import re

import comrak
import nh3

from viewer.exports.texts import data_image
from viewer.texts import clean

LONGEST = 200_000  # characters; a longer text is shown as it is, not laid out
CELLS = 20_000  # of a text's tables, about; comrak fills short rows up to the width of their table
COLUMNS = 200
GROWTH, GROWTH_FLOOR = 12, 20_000  # how many times longer than its text HTML may be, of a text that is not short

# -- as HTML -----------------------------------------------------------------------------------------------------------

_TAGS = {
    "a", "b", "blockquote", "br", "code", "del", "em", "hr", "i", "img", "li", "ol", "p", "pre", "strong", "sup",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {"a": {"href"}, "img": {"src", "alt"}, "ol": {"start"}, "p": {"class"}, "td": {"align"}, "th": {"align"}}
_LINK = re.compile(r"(?:https?:|mailto:)", re.IGNORECASE)
_IMAGE = re.compile(r'<img src="([^"]*)" alt="([^"]*)"(?: title="[^"]*")? />')
_HEADING = re.compile(r"<(/?)h([1-6])>")
_BOX = re.compile(r'<input type="checkbox"( checked="")? disabled="" />')
_EXTENSIONS = comrak.ExtensionOptions()
_EXTENSIONS.table = _EXTENSIONS.strikethrough = _EXTENSIONS.autolink = _EXTENSIONS.tasklist = True
_WITHOUT_TABLES = comrak.ExtensionOptions()
_WITHOUT_TABLES.strikethrough = _WITHOUT_TABLES.autolink = _WITHOUT_TABLES.tasklist = True
_RENDERING = comrak.RenderOptions()
_RENDERING.escape = True  # tags in a transcript are shown as text
_RENDERING.hardbreaks = True  # people and models mean the line breaks they type


def as_html(text: str) -> str:
    """A Markdown text as sanitised HTML. Headings are paragraphs with a class; images that stand elsewhere links."""
    text = clean(text)
    made = laid_out(text) if len(text) <= LONGEST else None
    if made is None:
        return f"<pre>{html.escape(text)}</pre>"
    made = _IMAGE.sub(_image, made)
    made = _HEADING.sub(lambda found: "</p>" if found[1] else f'<p class="h{found[2]}">', made)
    made = _BOX.sub(lambda found: "☑" if found[1] else "☐", made)
    return nh3.clean(
        made,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_allowed,
        url_schemes={"http", "https", "mailto", "data"},
        link_rel="noopener noreferrer nofollow",
    )


def laid_out(text: str) -> str | None:
    """A Markdown text as comrak lays it out, tags in it escaped; None for one that would grow beyond measure."""
    if _QUOTES.search(text):
        return None
    extensions = _WITHOUT_TABLES if _is_vast_table(text) else _EXTENSIONS
    made = comrak.render_markdown(text, extension_options=extensions, render_options=_RENDERING)
    return made if len(made) <= GROWTH * len(text) + GROWTH_FLOOR else None


_QUOTES = re.compile(r"(?:>[ \t]*){50}")


def _is_vast_table(text: str) -> bool:
    if text.count("|") < COLUMNS:
        return False
    widest = max(line.count("|") for line in text.split("\n"))
    return widest > COLUMNS or widest * text.count("\n") > CELLS


def _allowed(tag: str, attribute: str, value: str) -> str | None:
    if tag == "a" and attribute == "href":
        return value if _LINK.match(value) else None
    if tag == "img" and attribute == "src":
        return value if data_image(value) else None
    return value


def _image(found: re.Match[str]) -> str:
    source, alt = found[1], found[2]
    if data_image(html.unescape(source)):
        return found[0]
    if not _LINK.match(source):
        return f"[image: {alt or source}]"
    return f'<a href="{source}">{alt or source} (image, not loaded)</a>'


# -- inside Markdown ---------------------------------------------------------------------------------------------------

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_ATX = re.compile(r"( {0,3})(#{1,4})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_TAG = re.compile(r" {0,3}(?=<[A-Za-z/!?])")
_RUN = re.compile(r"`+")


def fenced(text: str, language: str = "") -> str:
    """The text in a fence that nothing in it can close."""
    text = clean(text)
    longest = max((len(run) for run in _RUN.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}\n"


def embedded(text: str) -> str:
    """A Markdown text that may stand between the headings of an export: its own headings go two levels down, a fence
    that it leaves open is closed, a tag at the start of a line is text.
    """
    lines: list[str] = []
    fence = ""
    for line in clean(text).split("\n"):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
        else:
            line = _tamed(line, lines[-1] if lines else "")
        lines.append(line)
    return "\n".join([*lines, fence] if fence else lines)


def _tamed(line: str, before: str) -> str:
    if _ATX.match(line):
        return _ATX.sub(lambda found: f"{found[1]}##{found[2]}", line, count=1)
    if before.strip() and _UNDERLINE.match(line):
        return f"\\{line.lstrip(' ')}"
    return _TAG.sub(lambda found: f"{found[0]}\\", line, count=1)


def quoted(text: str) -> str:
    """The text as a quotation of Markdown."""
    return "\n".join(f"> {line}" if line else ">" for line in embedded(text).split("\n"))


def escaped(text: str) -> str:
    """A line of anybody's words, as text and nothing else."""
    return re.sub(r"([\\`*{}\[\]<>#|~&]|(?<![^\W_])_|_(?![^\W_]))", r"\\\1", text)
