"""Messages found by a search, for lists, and where the next page of several stores begins."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from urllib.parse import quote, unquote

from django.utils.safestring import SafeString

from viewer.catalog.models import SessionIndex
from viewer.rendering import formats
from viewer.rendering.texts import STATES, clean, line, role_label
from viewer.stores.search.pages import Hit, HitPage, Key, Stage
from viewer.stores.search.passages import PassagePart
from viewer.web.session_urls import SessionUrls
from viewer.web.url_segments import segment

_BOLD = re.compile(r"(?<![\w*])\*\*(?=[^\s*])[^*]{1,200}(?<=\S)\*\*(?![\w*])")
# What tools print that nobody reads in a passage: the number before each line, and line ends as a backslash and an n;
# one before a small letter may be part of a path.
_PRINTED = re.compile(r"(?<!\S)\d{1,6}→\s*|(?:\\n){2,}|\\n(?![a-z])")
LEAD = 20  # characters before the first mark, so that the mark is on the first line of a narrow column
FIRST = 3  # hits of a session that are shown unfolded


@dataclass(frozen=True, slots=True)
class ShownHit:
    """One message found; a value that names what its HTML depends on (the tag `part`), so `time` is as shown now.

    `who` is its author, or says that a compaction wrote it; `state` is its state if it is not in context; `passage` is
    text with the found words marked. `session` is the name of its session, `source` the session's source.
    """

    place: SessionUrls
    href: str
    id: int
    who: str
    summary: bool
    state: str
    time: SafeString
    passage: tuple[PassagePart, ...]
    session: str
    source: str


@dataclass(frozen=True, slots=True)
class HitGroup:
    """The hits of one session on a page. `within` is the query of the search in this session alone; `facts` are its
    messages and when it was active, as in lists; `copies` are the same session in other stores, which have no other
    hits on the page.
    """

    hits: tuple[ShownHit, ...]
    within: str
    facts: tuple[str | SafeString, ...] = ()
    copies: tuple[SessionUrls, ...] = ()

    @property
    def first(self) -> tuple[ShownHit, ...]:
        return self.hits[:FIRST]

    @property
    def folded(self) -> tuple[ShownHit, ...]:
        return self.hits[FIRST:]


def grouped(
    shown_hits: Sequence[ShownHit],
    address: Callable[[str, str], str],
    rows: Mapping[SessionUrls, SessionIndex],
) -> tuple[HitGroup, ...]:
    """The hits by session, in the order of each session's first hit, copies of a session once. `address` makes the
    query of the search in one session, from the name of the store and the id as in addresses; `rows` has what the
    catalog knows of them.
    """
    sessions: dict[SessionUrls, list[ShownHit]] = {}
    for hit in shown_hits:
        sessions.setdefault(hit.place, []).append(hit)
    groups: dict[SessionUrls, HitGroup] = {}
    for urls, found in sessions.items():
        original = next((each for each in groups if each.session == urls.session and _holds(groups[each], found)), None)
        if original is None:
            groups[urls] = HitGroup(
                tuple(found), address(urls.store, segment(urls.session)), tuple(facts_of(rows.get(urls)))
            )
        else:
            groups[original] = replace(groups[original], copies=(*groups[original].copies, urls))
    return tuple(groups.values())


def facts_of(row: SessionIndex | None) -> Iterator[str | SafeString]:
    """How large a session is and when it was active: by this two of one name differ."""
    if row is not None and row.messages is not None:
        yield formats.counted(row.messages, "message")
    if row is not None and row.last_active:
        yield formats.ago(row.last_active)


def _holds(group: HitGroup, found: Sequence[ShownHit]) -> bool:
    """Whether the group has the same messages: of the same time, with the same words."""
    return {(hit.who, hit.time, hit.passage) for hit in found} <= {
        (hit.who, hit.time, hit.passage) for hit in group.hits
    }


def shown_hit(hit: Hit, urls: SessionUrls, words: str = "") -> ShownHit:
    """The hit with URLs of the session's pages: its own session, or the one that continues it. The linked pages have
    the `words` marked.
    """
    name = line(hit.session.title, 120)
    boundary = hit.kind == "summary" and hit.standalone
    return ShownHit(
        place=urls,
        href=urls.boundary(hit.id, words) if boundary else urls.message(hit.id, words),
        id=hit.id,
        who="Summary by a compaction" if hit.kind == "summary" else role_label(hit.role),
        summary=hit.kind == "summary",
        state="" if hit.state == "live" else STATES[hit.state],
        time=formats.moment(hit.time),
        passage=tuple(PassagePart(clean(piece.text), piece.marked) for piece in _words_of(hit)),
        session=name or line(hit.session.id, 120),
        source=line(hit.session.source, 30),
    )


def shortened(hit: ShownHit) -> ShownHit:
    """The hit with so little before its first mark that a narrow column shows it whole; a path is cut between names."""
    at = next((at for at, piece in enumerate(hit.passage) if piece.marked), 0)
    before = "".join(piece.text for piece in hit.passage[:at])
    if len(before) <= LEAD:
        return hit
    _, space, whole_words = before[-LEAD:].partition(" ")
    _, slash, names = before[-LEAD:].partition("/")
    lead = f"… {whole_words}" if space else f"…{names if slash else before[-LEAD:]}"
    return replace(hit, passage=(PassagePart(lead), *hit.passage[at:]))


def _words_of(hit: Hit) -> tuple[PassagePart, ...]:
    """The passage, in people's and models' words without the signs around bold text, if it has both of a pair."""
    if hit.role == "tool":
        return tuple(PassagePart(_PRINTED.sub(" ", piece.text), piece.marked) for piece in hit.passage)
    pairs = list(_BOLD.finditer("".join(piece.text for piece in hit.passage)))
    signs = {at for pair in pairs for at in (pair.start(), pair.start() + 1, pair.end() - 2, pair.end() - 1)}
    pieces, place = [], 0
    for piece in hit.passage:
        text = "".join(letter for at, letter in enumerate(piece.text, place) if at not in signs)
        pieces.append(PassagePart(text, piece.marked))
        place += len(piece.text)
    return tuple(pieces)


# -- several stores ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Positions:
    """Where each store continues: after a key, from the start (absent), or not at all (None); and at which stage."""

    keys: dict[str, Key | None] = field(default_factory=dict)
    stages: dict[str, Stage] = field(default_factory=dict)

    def done(self, store: str) -> bool:
        return store in self.keys and self.keys[store] is None

    def after(self, store: str) -> Key | None:
        return self.keys.get(store)

    def stage(self, store: str) -> Stage:
        return self.stages.get(store, "none")

    @property
    def text(self) -> str:
        """The positions as text for an address; `positions` parses it."""
        return ",".join(
            f"{quote(name, safe='')}:{_written(key, self.stage(name))}" for name, key in sorted(self.keys.items())
        )


def positions(text: str) -> Positions:
    """The positions in an address; invalid ones are left out."""
    keys: dict[str, Key | None] = {}
    stages: dict[str, Stage] = {}
    for part in text.split(",") if text else ():
        name, _, written = part.partition(":")
        key, stage = _read(written)
        if name and (key is not None or not written):
            keys[unquote(name)] = key
            stages[unquote(name)] = stage
    return Positions(keys, stages)


_STAGES: dict[str, Stage] = {"": "none", "w": "words", "i": "inside", "t": "through"}
_LETTERS = {stage: letter for letter, stage in _STAGES.items()}


def _written(key: Key | None, stage: Stage) -> str:
    if key is None:
        return ""
    return "~".join([str(key[1]), repr(key[0]) if key[0] else "", _LETTERS[stage]]).rstrip("~")


def _read(text: str) -> tuple[Key | None, Stage]:
    row_id, rank, stage = (*text.split("~", 2), "", "")[:3]
    try:
        key = (float(rank or 0), int(row_id))
    except ValueError:
        return None, "none"
    valid = math.isfinite(key[0]) and abs(key[1]) < 2**63
    return (key if valid else None), _STAGES.get(stage, "none")


def merged(
    pages: Sequence[tuple[str, HitPage]], limit: int, before: Positions
) -> tuple[list[tuple[str, Hit]], Positions]:
    """The first hits of all stores in one order, and where each store continues after them.

    Each store keeps its order; between stores the better rank is first, or the later time.
    """
    ways = [[(_sort_key(hit), name, hit) for hit in each.hits] for name, each in pages]
    page_hits = [(name, hit) for _, name, hit in merge(*ways, key=lambda item: item[0])][:limit]
    keys = dict(before.keys)
    for name, each in pages:
        mine = [hit for owner, hit in page_hits if owner == name]
        if len(mine) == len(each.hits):
            keys[name] = each.next
        elif mine:
            keys[name] = mine[-1].key
    return page_hits, Positions(keys, before.stages | {name: each.stage for name, each in pages})


def _sort_key(hit: Hit) -> tuple[float, float]:
    return hit.key[0], -hit.time
