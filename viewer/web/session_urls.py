"""The URLs of one session's pages, for links in page data."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import urlencode

from django.urls import get_script_prefix, reverse


@dataclass(frozen=True, slots=True)
class SessionUrls:
    """A session of a store. Every URL is derived from `href`, so that a long page resolves it once."""

    store: str
    session: str
    href: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "href", _session_page(get_script_prefix(), self.store, self.session))

    def message(self, row_id: int, words: str = "") -> str:
        """The permalink of a message: opens its window and marks the message, and in it the words of a search."""
        return f"{self.view(q=words, around=row_id)}#m{row_id}"

    def boundary(self, handoff_id: int, words: str = "") -> str:
        return f"{self.view(q=words, around=handoff_id)}#b{handoff_id}"

    def whole(self, row_id: int, part: str) -> str:
        """One row's content, calls or thinking, uncut."""
        return f"{self.href}/messages/{row_id}?part={part}"

    def raw(self, row_id: int, part: str) -> str:
        """The same as plain text, to copy."""
        return f"{self.whole(row_id, part)}&as=text"

    def keep(self, row_id: int) -> str:
        """The page on which a message is pinned or put back."""
        return f"{self.href}/messages/{row_id}/keep"

    def colours(self, row_id: int, part: str, **query: object) -> str:
        """What is shown of a row ("said", "reasoning", "result", "call"), with its code in colours."""
        return f"{self.href}/messages/{row_id}/colours?{urlencode({'part': part, **query})}"

    def listed(self, handoff_id: int, which: str) -> str:
        """A part of a boundary, such as "summarised", "kept", "details", "undo" or "before-after"."""
        return f"{self.href}/boundaries/{handoff_id}/{which}"

    def abandoned(self, number: int) -> str:
        """An abandoned branch, by its number in order."""
        return f"{self.href}/abandoned#left{number}"

    def view(self, name: str = "", **query: object) -> str:
        """A view of the session: "", "context", "rows", "timeline", "plan", "compact", "practise", "branch",
        "pins".
        """
        pairs = {key: value for key, value in query.items() if value not in (None, "")}
        return f"{self.href}{'/' + name if name else ''}{'?' + urlencode(pairs) if pairs else ''}"


@lru_cache(4_096)
def _session_page(prefix: str, store: str, session: str) -> str:
    """The URL of a session's page if the site is below `prefix`, as it is now."""
    return reverse("pages:session", args=[store, session])
