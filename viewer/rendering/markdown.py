"""Session text as HTML: Markdown by comrak, its code by Pygments. All output passes nh3 last.

comrak escapes raw HTML, so tags in a transcript are shown as text. Nothing is loaded from elsewhere: only images in
data: URLs stay images, every other image becomes a link. Headings become paragraphs with a class, because a
transcript's headings do not belong to this page's outline. Text whose HTML would become enormous (a table of thousands
of columns, quotes nested by the thousand) is shown as plain text.
"""

from __future__ import annotations

import html
import re

import comrak
import nh3
from django.utils.safestring import SafeString, mark_safe

from . import highlight, lru
from .images import data_image
from .texts import clean

LONGEST = 200_000  # characters; a longer text is shown as it is, not laid out
CELLS = 20_000  # of a text's tables, about; comrak fills short rows up to the width of their table
COLUMNS = 200
GROWTH, GROWTH_FLOOR = 12, 20_000  # how many times longer than its text HTML may be, of a text that is not short

_LINK = re.compile(r"(?:https?:|mailto:)", re.IGNORECASE)

_TAGS = {
    "a", "b", "blockquote", "br", "code", "del", "div", "em", "hr", "i", "img", "li", "ol", "p", "pre", "span",
    "strong", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href", "title"}, "code": {"class"}, "div": {"class"}, "img": {"src", "alt", "title"}, "ol": {"start"},
    "p": {"class"}, "pre": {"class", "tabindex"}, "span": {"class"}, "table": {"tabindex"}, "td": {"align"},
    "th": {"align"},
}  # fmt: skip


def _allowed(tag: str, attribute: str, value: str) -> str | None:
    if tag == "a" and attribute == "href":
        return value if _LINK.match(value) else None
    if tag == "img" and attribute == "src":
        return value if data_image(value) else None
    return value


def _sanitised(markup: str) -> SafeString:
    cleaned = nh3.clean(
        markup,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_allowed,
        set_tag_attribute_values={"blockquote": {"dir": "auto"}},  # its rule is on the side from which it is read
        url_schemes={"http", "https", "mailto", "data"},
        link_rel="noopener noreferrer nofollow",
    )
    return mark_safe(cleaned)  # noqa: S308  nh3 has just made it so


# -- Markdown --------------------------------------------------------------------------------------------------------

_EXTENSIONS = comrak.ExtensionOptions()
_EXTENSIONS.table = _EXTENSIONS.strikethrough = _EXTENSIONS.autolink = _EXTENSIONS.tasklist = True
_WITHOUT_TABLES = comrak.ExtensionOptions()
_WITHOUT_TABLES.strikethrough = _WITHOUT_TABLES.autolink = _WITHOUT_TABLES.tasklist = True
_RENDERING = comrak.RenderOptions()
_RENDERING.escape = True  # tags in a transcript are shown as text
_RENDERING.hardbreaks = True  # people and models mean the line breaks they type

_FENCE = re.compile(r'<pre><code(?: class="language-([^"]*)")?>(.*?)</code></pre>', re.DOTALL)
_IMAGE = re.compile(r'<img src="([^"]*)" alt="([^"]*)"(?: title="[^"]*")? />')
_HEADING = re.compile(r"<(/?)h([1-6])>")
_BOX = re.compile(r'<input type="checkbox"( checked="")? disabled="" />')


def markdown(text: str) -> SafeString:
    """A Markdown text as sanitised HTML, code in colours; rendered once and cached."""
    return _KEPT.get(lru.digest(text), lambda: rendered(text, colours=True))


_KEPT: lru.SizedCache[SafeString] = lru.SizedCache(len, limit=8_000_000)


def rendered(text: str, *, colours: bool) -> SafeString:
    """A Markdown text as sanitised HTML, rendered now; its code in colours or plain."""
    text = clean(text)
    markup = _laid_out(text) if len(text) <= LONGEST else None
    if markup is None:
        return _as_it_is(text)
    markup = _FENCE.sub(_coloured_fence if colours else _plain_fence, markup)
    markup = _IMAGE.sub(_image, markup)
    markup = markup.replace("<table>", '<table tabindex="0">')  # wide ones are moved sideways, by keys too
    markup = _HEADING.sub(lambda match: "</p>" if match[1] else f'<p class="h h{match[2]}">', markup)
    markup = _BOX.sub(lambda match: "☑" if match[1] else "☐", markup)
    markup = _sanitised(markup)
    return mark_safe(_WORD_CELL.sub(r'<td class="short"\1', markup)) if "<td" in markup else markup  # noqa: S308


# A cell with one word: an id or a number, which is not broken at its hyphens.
_WORD_CELL = re.compile(r"<td((?: align=\"\w+\")?>(?:<code>)?[^<>\s]{1,24}(?:</code>)?</td>)")


def _laid_out(text: str) -> str | None:
    """The HTML of a Markdown text from comrak, tags in it escaped; None if it would become enormous."""
    if _QUOTES.search(text):
        return None
    extensions = _WITHOUT_TABLES if _is_vast_table(text) else _EXTENSIONS
    markup = comrak.render_markdown(text, extension_options=extensions, render_options=_RENDERING)
    return markup if len(markup) <= GROWTH * len(text) + GROWTH_FLOOR else None


_QUOTES = re.compile(r"(?:>[ \t]*){50}")


def _is_vast_table(text: str) -> bool:
    if text.count("|") < COLUMNS:
        return False
    widest = max(line.count("|") for line in text.split("\n"))
    return widest > COLUMNS or widest * text.count("\n") > CELLS


def code_size(text: str) -> int:
    """The approximate number of characters in a Markdown text that are code in a language that can be coloured."""
    if "```" not in text and "~~~" not in text:
        return 0
    return sum(len(match[3]) for match in _FENCED.finditer(text) if highlight.is_known(match[2]))


_FENCED = re.compile(r"^[ \t>]*(```+|~~~+)[ \t]*([\w+#.-]+)[^\n]*\n(.*?)(?:^[ \t>]*\1|\Z)", re.DOTALL | re.MULTILINE)


def _as_it_is(text: str) -> SafeString:
    return _sanitised(f"<pre>{html.escape(text, quote=False)}</pre>")


def _coloured_fence(match: re.Match[str]) -> str:
    language = (match[1] or "").split(" ")[0]
    return f'<pre class="code" tabindex="0"><code>{highlight.coloured(html.unescape(match[2]), language)}</code></pre>'


def _plain_fence(match: re.Match[str]) -> str:
    return f'<pre class="code" tabindex="0"><code>{match[2]}</code></pre>'


def _image(match: re.Match[str]) -> str:
    source, alt = match[1], match[2]
    if data_image(html.unescape(source)):
        return match[0]
    if not _LINK.match(source):
        return f"[image: {alt or source}]"
    return f'<a href="{source}">{alt or source} (image, not loaded)</a>'


# -- code ------------------------------------------------------------------------------------------------------------


def code(text: str, language: str) -> SafeString:
    """A piece of code in colours, for a `<pre>`."""
    return mark_safe(highlight.coloured(clean(text), language))  # noqa: S308  Pygments escapes, as does its absence
