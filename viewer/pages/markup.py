"""Session text as HTML: Markdown (comrak), code (Pygments), diffs. Whatever comes out passes nh3 last.

comrak escapes raw HTML, so tags in a transcript show as text. Nothing is loaded from elsewhere: only images in data:
URLs stay
images, every other image becomes a link. Headings become paragraphs with a class: a transcript's headings are not
this page's outline.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import Any

import comrak
import nh3
from django.utils.safestring import SafeString, mark_safe
from pygments import highlight  # type: ignore[import-untyped]  # Pygments brings no types
from pygments.formatters.html import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

from .texts import clean

HIGHLIGHT_LIMIT = 20_000  # characters; Pygments takes about 2 ms a kilobyte
DATA_IMAGE = re.compile(r"data:image/(?:png|jpeg|jpg|gif|webp|avif|bmp);base64,[A-Za-z0-9+/=\s]+")
_LINK = re.compile(r"(?:https?:|mailto:)", re.IGNORECASE)

_TAGS = {
    "a", "b", "blockquote", "br", "code", "del", "div", "em", "hr", "i", "img", "li", "ol", "p", "pre", "span",
    "strong", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href", "title"}, "code": {"class"}, "div": {"class"}, "img": {"src", "alt", "title"}, "ol": {"start"},
    "p": {"class"}, "pre": {"class", "tabindex"}, "span": {"class"}, "td": {"align"}, "th": {"align"},
}  # fmt: skip


def _allowed(tag: str, attribute: str, value: str) -> str | None:
    if tag == "a" and attribute == "href":
        return value if _LINK.match(value) else None
    if tag == "img" and attribute == "src":
        return value if DATA_IMAGE.fullmatch(value) else None
    return value


def _sanitised(markup: str) -> SafeString:
    cleaned = nh3.clean(
        markup,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_allowed,
        set_tag_attribute_values={"blockquote": {"dir": "auto"}},  # its rule stands on the side it reads from
        url_schemes={"http", "https", "mailto", "data"},
        link_rel="noopener noreferrer nofollow",
    )
    return mark_safe(cleaned)  # noqa: S308  nh3 has just made it so


# -- Markdown --------------------------------------------------------------------------------------------------------

_EXTENSIONS = comrak.ExtensionOptions()
_EXTENSIONS.table = _EXTENSIONS.strikethrough = _EXTENSIONS.autolink = _EXTENSIONS.tasklist = True
_RENDERING = comrak.RenderOptions()
_RENDERING.escape = True
_RENDERING.hardbreaks = True  # people and models mean the line breaks they type

_FENCE = re.compile(r'<pre><code(?: class="language-([^"]*)")?>(.*?)</code></pre>', re.DOTALL)
_IMAGE = re.compile(r'<img src="([^"]*)" alt="([^"]*)"(?: title="[^"]*")? />')
_HEADING = re.compile(r"<(/?)h([1-6])>")
_BOX = re.compile(r'<input type="checkbox"( checked="")? disabled="" />')


@lru_cache(maxsize=500)
def markdown(text: str) -> SafeString:
    """A Markdown text as sanitised HTML."""
    rendered = comrak.render_markdown(clean(text), extension_options=_EXTENSIONS, render_options=_RENDERING)
    rendered = _FENCE.sub(_fence, rendered)
    rendered = _IMAGE.sub(_image, rendered)
    rendered = _HEADING.sub(lambda found: "</p>" if found[1] else f'<p class="h h{found[2]}">', rendered)
    rendered = _BOX.sub(lambda found: "☑" if found[1] else "☐", rendered)
    return _sanitised(rendered)


def _fence(found: re.Match[str]) -> str:
    return _highlighted(html.unescape(found[2]), (found[1] or "").split(" ")[0])


def _image(found: re.Match[str]) -> str:
    source, alt = found[1], found[2]
    if DATA_IMAGE.fullmatch(html.unescape(source)):
        return found[0]
    if not _LINK.match(source):
        return f"[image: {alt or source}]"
    return f'<a href="{source}">{alt or source} (image, not loaded)</a>'


# -- code ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=500)
def code(text: str, language: str) -> SafeString:
    """A piece of code as a `<pre>` with Pygments' classes."""
    return _sanitised(_highlighted(clean(text), language))


def _highlighted(text: str, language: str) -> str:
    lexer = _lexer(language) if language and len(text) <= HIGHLIGHT_LIMIT else None
    inner = html.escape(text) if lexer is None else highlight(text, lexer, _FORMATTER)
    return f'<pre class="code" tabindex="0"><code>{inner}</code></pre>'


_FORMATTER = HtmlFormatter(nowrap=True)


@lru_cache(maxsize=100)
def _lexer(language: str) -> Any:
    """The lexer of a language, None for one that Pygments does not know."""
    try:
        return get_lexer_by_name(language.lower(), stripnl=False, ensurenl=False)
    except ValueError:
        return None
