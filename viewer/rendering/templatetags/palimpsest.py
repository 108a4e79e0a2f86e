"""Template filters for numbers, sizes, times and addresses, and the tags `part` and `term`.

Most filters are functions under the same names: `{{ plan.tokens|number:"tokens" }}`, `{{ boundary.time|moment }}`,
`{{ session.name|line:120 }}`. `part` is an include that knows the values it is given alone, rendered once for equal
ones: the parts of a page are frozen dataclasses of text, most of which were on the page before. A pickle of them names
what their HTML depends on, with the types, by which a text that is safe differs from one that is not.
"""

from __future__ import annotations

import pickle
import re
from hashlib import blake2b
from typing import Any

from django import template
from django.conf import settings
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from viewer.web.session_urls import SessionUrls

from .. import formats
from ..lru import SizedCache
from ..texts import clean, line, role_label, state_label

TERMS = {
    "in context": "What the model is sent with the next request. It costs tokens each time, and has to fit into the "
    "model's window.",
    "summarised away": "No longer sent to the model, which has a summary in its place. The message is still in the "
    "session: here, in search, and for an undo.",
    "not sent any more": "The message is in the agent's store, but the link to it is lost: a later line is damaged "
    "or missing, so that the agent does not reach it from the newest message. It is still here and in search.",
    "compaction": "Replaces the long middle of a session by a summary, so that the agent has room to go on. Its start "
    "and its last messages stay as they are.",
    "boundary": "The place in a session where a compaction cut it: messages above it may be summarised away, "
    "messages below it are in context.",
    "handoff": "The message that carries a summary to the model. The agent's program writes it; nobody said it.",
    "refers to": "Lines that leave the context, have an exact thing (a path, an id, a name), and are about the "
    "request: they have what it names, or if it names nothing, two of its words.",
    "startup reading": "The files that a workspace asks its agent to read when it starts. A compaction takes them out "
    "of context, so the agent should read them again.",
}

LIMIT = 16_000_000  # bytes of HTML, about

_OPTION = re.compile(r"(--[a-z-]+(?: [a-z]+)?)")

register = template.Library()
_CACHE: SizedCache[SafeString] = SizedCache(len, LIMIT)

for function in (
    formats.thin,
    formats.exact,
    formats.number,
    formats.size,
    formats.dollars,
    formats.short_dollars,
    formats.seconds,
    formats.moment,
    formats.ago,
    formats.hour,
    clean,
    line,
    role_label,
    state_label,
):
    register.filter(function.__name__, function)
register.simple_tag(formats.of_window)
register.filter("message_url", SessionUrls.message)  # {{ place|message_url:row.id }}
register.filter("boundary_url", SessionUrls.boundary)


@register.filter
def counted(value: int, nouns: str) -> str:
    """`{{ 1246|counted:"message" }}` -> "1,246 messages"; `"entry,entries"` where the plural is no s."""
    noun, _, plural = nouns.partition(",")
    return formats.counted(value, noun, plural)


@register.filter
def commands(text: str) -> SafeString:
    """The text with the site's own commands as code, each to be copied, in place of the stop after it."""
    command = re.compile(rf"({re.escape(settings.COMMAND)} [a-z_]+(?: --[a-z-]+ [a-z]+)*)\.?")
    parts = enumerate(command.split(text))
    return format_html_join("", "{}", ((_command(part) if at % 2 else part,) for at, part in parts))


def _command(text: str) -> SafeString:
    words = enumerate(_OPTION.split(text))
    code = format_html_join("", "{}", ((_option(word) if at % 2 else word,) for at, word in words))
    copy = '<code>{}</code> <button class="plain" type="button" data-copy-text="{}">Copy</button>'
    return format_html(copy, code, text)


def _option(text: str) -> SafeString:
    return format_html('<span class="option">{}</span>', text)  # not broken into two lines


@register.simple_tag
def part(template_name: str, **values: Any) -> SafeString:
    """The template rendered with these values, which must be all that it asks for."""
    key = blake2b(pickle.dumps((template_name, values)), digest_size=16).digest()
    return _CACHE.get(key, lambda: render_to_string(template_name, values))


@register.simple_tag
def term(word: str, label: str = "") -> SafeString:
    """The word as a button that shows its explanation, once per page; `label` is the button's text if it is not the
    word.
    """
    return format_html(
        '<button type="button" class="term" popovertarget="what-{0}">{1}</button>'
        '<span popover id="what-{0}" class="explained"><b>{2}</b> {3}</span>',
        word.replace(" ", "-"),
        label or word,
        word.capitalize(),
        TERMS[word],
    )
