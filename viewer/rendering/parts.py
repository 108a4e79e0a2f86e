"""The template tag `part`: an include that knows the values it is given alone, rendered once for equal ones.

The parts of a page are frozen dataclasses of text, most of which were on the page before: a pickle of them names what
their HTML depends on, with the types, by which a text that is safe differs from one that is not.
"""

from __future__ import annotations

import pickle
from hashlib import blake2b
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from .lru import SizedCache

LIMIT = 16_000_000  # bytes of HTML, about

register = template.Library()
_CACHE: SizedCache[SafeString] = SizedCache(len, LIMIT)


@register.simple_tag
def part(template_name: str, **values: Any) -> SafeString:
    """The template rendered with these values, which must be all that it asks for."""
    key = blake2b(pickle.dumps((template_name, values)), digest_size=16).digest()
    return _CACHE.get(key, lambda: render_to_string(template_name, values))
