"""The id of what a call made: as its result gives it, or, where that was cut down, the agent's reply behind it.

Agents cut old results down to a line ("[book_reservation] user_id=mia ... (711 chars result)"), which may even name
another call's arguments. The reply is believed if it names a single id as that of such a thing, and a single call of
the turn can have made it.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Sequence

from . import wording
from .deeds import Deed

_IN_RESULT = re.compile(r'"(\w*_?id|number|key)": ?"?([\w.#-]{2,60})')
_LOOKED_AT = 1_000  # characters of a result
_ID = (
    r"(?i:id|number|no\.?|code|reference|key)(?i:\s{1,4}(?:is|was|now)){0,3}\s{0,4}[:=]?\s{0,4}[*_`\"“]{0,4}"
    r"(#?[A-Z0-9][\w.-]{2,39})"
)


def made_by(deed: Deed) -> str:
    """The id of what a call made, "" if neither its result nor a reply gives it."""
    text = deed.outcome or ""
    match = _IN_RESULT.search(text[:_LOOKED_AT]) if text.lstrip()[:1] == "{" else None
    return match[2] if match and not wording.PERSON_KEY.search(match[1]) else deed.named


def note_named(deeds: Sequence[Deed], replies: Iterable[tuple[int, str]], asked: Sequence[int]) -> None:
    """Note on calls that changed something the id that the replies of the same turn name.

    `replies` with their places, as those in `asked`, ascending, at which turns begin.
    """
    alike: dict[tuple[int, str], list[Deed]] = {}
    for deed in deeds:
        if deed.kind == "change" and deed.outcome and not _subject(deed):
            alike.setdefault((bisect(asked, deed.at), deed.call.name), []).append(deed)
    said: dict[int, list[tuple[int, str]]] = {}
    for at, words in replies if alike else ():
        said.setdefault(bisect(asked, at), []).append((at, words))
    for (turn, _), tries in alike.items():
        went_well = [deed for deed in tries if not deed.trouble()]
        if len(went_well) == 1 and not made_by(went_well[0]):
            words = "\n".join(words for at, words in said.get(turn, ()) if at >= went_well[0].at)
            ids = set(map(_trimmed, _labelled(went_well[0]).findall(words))) - {""}
            went_well[0].named = ids.pop() if len(ids) == 1 else ""


def _trimmed(id_: str) -> str:
    """The id without marks behind it, "" if it is a plain word."""
    id_ = id_.rstrip(".-_")
    return id_ if any(map(str.isdigit, id_)) or id_.isupper() else ""


def _subject(deed: Deed) -> str:
    return wording.subject_of(deed.call.name, deed.arguments)[1]


def _labelled(deed: Deed) -> re.Pattern[str]:
    """An id behind the name of what such a tool makes: "Your new reservation ID is **HATHAT**"."""
    verb, *things = wording.words_of_tool(deed.call.name)
    words = {"confirmation", *(["booking"] if verb == "book" else []), *(thing.removesuffix("s") for thing in things)}
    return re.compile(rf"\b(?i:{'|'.join(map(re.escape, sorted(words)))})(?:['’]s)? {_ID}")
