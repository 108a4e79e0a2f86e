"""A session's History as arrays of numbers: pages read it without a loop over the session's rows.

It takes some 25 bytes a row (`packing.pack`), so that loading a long one costs as much as copying memory. A row has a
*number*, its position in id order; an entry (a message) has a *place*, its position in History.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import compress
from typing import Literal

from viewer.stores.errors import NotFound

NONE = -1  # no entry; tokens that are not counted

# Flags of a row.
LIVE, UNDER, OUT, LOST = 0, 1, 2, 3  # its state, in the two lowest bits
_STATE = 3
SENT = 4  # a model is sent it: live, and not the agent's own record
ANSWER = 8  # a tool's result
# Flags of an entry.
# Summarised away; a tool's result; something a person asked; not linked to any more.
AWAY, RESULT, PROMPT, UNLINKED = 1, 2, 4, 8
SHORTENED, TWICE = 1, 2  # marks of an entry of several rows


def _mask(flag: int, wanted: int) -> bytes:
    """A table for `bytes.translate`: 1 for flags of which these bits are as wanted."""
    return bytes(int(value & flag == wanted) for value in range(256))


_IS_LIVE, _IS_SENT = _mask(_STATE, LIVE), _mask(SENT, SENT)
_IS_RESULT = _mask(RESULT, RESULT)
_IS_PROMPT, _IS_UNLINKED = _mask(PROMPT, PROMPT), _mask(UNLINKED, UNLINKED)
_IN_CONTEXT = bytes(int(not kind & (AWAY | UNLINKED)) for kind in range(256))


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One message of History: `id` is its first row, `rows` all rows that carry it, oldest first. A row that several
    messages were merged into is among the rows of each.

    `full_id` is the row with the fullest text, `newest_id` the newest row, whose state is the message's: "lost" where
    nothing links to it any more, so that no model is sent it and no compaction summarised it. `shortened` says that the
    model now sees less than `full_id` holds, `twice` that it was written twice and the model is sent it twice.
    """

    id: int
    rows: tuple[int, ...]
    full_id: int
    newest_id: int
    state: Literal["live", "under", "lost"]
    shortened: bool
    twice: bool = False


@dataclass(frozen=True, slots=True)
class Boundary:
    """One compaction in effect: its block and what it did. Lists of ids are made when they are read: those of the block
    and of what was `before` are rows, the others messages.

    `time` (epoch seconds) is None for a merged handoff, whose row has the time of the message it was merged into.
    `cut_id` is the message directly before which the boundary is shown, None when the tail kept nothing, and `place`
    that of this message. `run` is the number of the known block, None for one that was found. `records_before` and
    `records_after` count the agent's own records, which are not messages; the summary counts as one. `unsure` says that
    an earlier block is at (0,0) and no row says whether it was undone, as is assumed, or taken back with the messages
    that it kept. The arrays hold numbers of rows; `pairs` holds each copy followed by the row it was copied from.
    """

    handoff_id: int
    time: float | None
    cut_id: int | None
    run: int | None
    place: int
    records_before: int
    records_after: int
    unsure: bool
    ids: array[int]
    block: array[int]
    before: array[int]
    pairs: array[int]
    gone: array[int]
    stayed: array[int]
    cropped: array[int]

    @property
    def inherited(self) -> bool:
        """Whether the session began with this handoff, as a branch may: it has no message that the handoff replaces."""
        return not self.before

    @property
    def messages_before(self) -> int:
        return len(self.before) - self.records_before

    @property
    def messages_after(self) -> int:
        return len(self.block) - self.records_after

    @property
    def summarised(self) -> int:
        return len(self.gone)

    @property
    def kept(self) -> int:
        return len(self.stayed)

    @property
    def shortened(self) -> int:
        return len(self.cropped)

    @property
    def shortens(self) -> bool:
        return not self.gone and bool(self.cropped)  # nothing was summarised: its text is a note then

    @property
    def block_ids(self) -> tuple[int, ...]:
        return self._ids(self.block)

    @property
    def before_ids(self) -> tuple[int, ...]:
        return self._ids(self.before)

    @property
    def copies(self) -> tuple[tuple[int, int], ...]:
        return tuple(zip(self._ids(self.pairs[::2]), self._ids(self.pairs[1::2]), strict=True))

    @property
    def summarised_ids(self) -> tuple[int, ...]:
        return self._ids(self.gone)

    @property
    def kept_ids(self) -> tuple[int, ...]:
        return self._ids(self.stayed)

    @property
    def shortened_ids(self) -> tuple[int, ...]:
        return self._ids(self.cropped)

    def _ids(self, numbers: array[int]) -> tuple[int, ...]:
        return tuple(map(self.ids.__getitem__, numbers))


Item = HistoryEntry | Boundary


@dataclass(frozen=True, slots=True)
class HistoryWindow:
    """A stretch of History: `items` in order; `earlier` and `later` count the entries on either side of it."""

    items: tuple[HistoryEntry | Boundary, ...]
    earlier: int
    later: int

    @property
    def first(self) -> int | None:
        return next((item.id for item in self.items if isinstance(item, HistoryEntry)), None)

    @property
    def last(self) -> int | None:
        return next((item.id for item in reversed(self.items) if isinstance(item, HistoryEntry)), None)


@dataclass(frozen=True, slots=True)
class Weight:
    """Tokens of some rows; `about` says that not all of them are counted."""

    tokens: int
    about: bool


@dataclass(frozen=True, slots=True)
class SeveralSources:
    """The entries that consist of several rows, by place in ascending order: `starts` says where the numbers of each
    one's rows begin in `rows`; `full` and `newest` are numbers of rows.
    """

    places: array[int]
    full: array[int]
    newest: array[int]
    marks: bytes
    starts: array[int]
    rows: array[int]


@dataclass(frozen=True)
class TranscriptIndex:
    """The History of one session and the parts it continues.

    Of every row: its `ids`, `flags`, bytes of text in `sizes`, the place of its message in `places`, `tokens`. Of every
    entry: the number of its first row in `first`, its `kinds`. `settled` says that rows which are appended with times
    after `newest_time` can only be new messages, so that the index may be extended by them. `sent_order` has the
    numbers of rows that a model is sent, where that is not the order of their ids.
    """

    ids: array[int]
    flags: bytes
    sizes: array[int]
    places: array[int]
    tokens: array[int]
    first: array[int]
    kinds: bytes
    several: SeveralSources
    boundaries: tuple[Boundary, ...]
    settled: bool
    newest_time: float
    sent_order: array[int] = field(default_factory=lambda: array("i"))

    # -- totals ------------------------------------------------------------------------------------------------------

    @property
    def messages(self) -> int:
        return len(self.first)

    @cached_property
    def in_context(self) -> int:
        """Messages that are in context."""
        return self.kinds.translate(_IN_CONTEXT).count(1)

    @cached_property
    def unlinked(self) -> int:
        """Messages that no model is sent any more because nothing links to them."""
        return self.kinds.translate(_IS_UNLINKED).count(1)

    @property
    def compactions(self) -> tuple[Boundary, ...]:
        """The boundaries of what was compacted here."""
        return tuple(boundary for boundary in self.boundaries if not boundary.inherited)

    @cached_property
    def live(self) -> array[int]:
        """Numbers of the rows that a model is sent, in order."""
        return self.sent_order or array("i", compress(range(len(self.ids)), self.flags.translate(_IS_SENT)))

    @cached_property
    def live_ids(self) -> array[int]:
        """Ids of the rows that a model is sent, in order: the live ones without the agent's own records."""
        return array("q", map(self.ids.__getitem__, self.live))

    @cached_property
    def records(self) -> int:
        """Live rows that are the agent's own records."""
        return self.flags.translate(_IS_LIVE).count(1) - len(self.live)

    # -- tokens ------------------------------------------------------------------------------------------------------

    @property
    def tokens_live(self) -> int | None:
        """Tokens of the messages that a model would be sent; None until every one of them is counted."""
        return None if self.context.about else self.context.tokens

    @cached_property
    def context(self) -> Weight:
        """Tokens of the messages that a model would be sent."""
        return self.weight(self.live)

    def weight(self, numbers: Sequence[int]) -> Weight:
        """Tokens of these rows; those that are not counted are estimated by their size."""
        tokens = list(map(self.tokens.__getitem__, numbers))
        missing = tokens.count(NONE)
        if not missing:
            return Weight(sum(tokens), about=False)
        size = sum(compress(map(self.sizes.__getitem__, numbers), map(NONE.__eq__, tokens)))
        return Weight(sum(tokens) + missing + round(size * self._tokens_a_byte) + 4 * missing, about=True)

    def estimates(self, numbers: Sequence[int]) -> list[int]:
        """Tokens of each of these rows; those that are not counted are estimated by their size."""
        counts = list(map(self.tokens.__getitem__, numbers))
        if NONE not in counts:
            return counts
        share = self._tokens_a_byte
        return [
            round(size * share) + 4 if tokens == NONE else tokens
            for tokens, size in zip(counts, map(self.sizes.__getitem__, numbers), strict=True)
        ]

    @cached_property
    def _tokens_a_byte(self) -> float:
        """As in the rows that are counted; a quarter where there are hardly any."""
        known = list(compress(self.sizes, map(NONE.__ne__, self.tokens)))
        size, tokens = sum(known), sum(self.tokens) + self.tokens.count(NONE)
        return tokens / size if len(known) > 20 and size else 0.25

    def tokens_of(self, row_id: int) -> int | None:
        """Tokens of a row; None while they are not counted, and for a row that is not here."""
        number = self.number(row_id)
        return None if number is None or self.tokens[number] == NONE else self.tokens[number]

    def uncounted(self, *, context_alone: bool = False) -> array[int]:
        """Ids of the rows that are not counted: first those in context, then the others, the newest first."""
        missing = bytes(map(NONE.__eq__, self.tokens))
        sent = self.flags.translate(_IS_SENT)
        live = compress(self.ids, map(int.__and__, missing, sent))
        rest = () if context_alone else compress(self.ids, map(int.__gt__, missing, sent))
        return array("q", [*reversed(list(live)), *reversed(list(rest))])

    def counted(self, counts: Mapping[int, int]) -> TranscriptIndex:
        """The index with the tokens of these rows, by id."""
        tokens = self.tokens[:]
        for row_id, count in counts.items():
            number = self.number(row_id)
            if number is not None:
                tokens[number] = count
        return replace(self, tokens=tokens)

    def uncounted_again(self) -> TranscriptIndex:
        """The index with nothing counted: for a model with another tokenizer."""
        return replace(self, tokens=array("i", [NONE]) * len(self.ids))

    # -- rows and messages -------------------------------------------------------------------------------------------

    def number(self, row_id: int) -> int | None:
        """The number of a row, None where the session has no such row."""
        at = bisect_left(self.ids, row_id)
        return at if at < len(self.ids) and self.ids[at] == row_id else None

    def place_of(self, row_id: int) -> int | None:
        """The place of the message that a row carries; None for a row that History does not show."""
        number = self.number(row_id)
        return None if number is None or self.places[number] == NONE else self.places[number]

    def message_of(self, row_id: int) -> int | None:
        """The id of the message that a row carries."""
        place = self.place_of(row_id)
        return None if place is None else self.ids[self.first[place]]

    def entry(self, place: int) -> HistoryEntry:
        """The message at this place."""
        number = self.first[place]
        kind, at = self.kinds[place], bisect_left(self.several.places, place)
        state: Literal["live", "under", "lost"] = "under" if kind & AWAY else "lost" if kind & UNLINKED else "live"
        row_id = self.ids[number]
        if at == len(self.several.places) or self.several.places[at] != place:
            return HistoryEntry(row_id, (row_id,), row_id, row_id, state, False)
        more = self.several
        rows = more.rows[more.starts[at] : more.starts[at + 1]]
        return HistoryEntry(
            id=row_id,
            rows=tuple(self.ids[each] for each in rows),
            full_id=self.ids[more.full[at]],
            newest_id=self.ids[more.newest[at]],
            state=state,
            shortened=bool(more.marks[at] & SHORTENED),
            twice=bool(more.marks[at] & TWICE),
        )

    @property
    def entries(self) -> tuple[HistoryEntry, ...]:
        """All messages; too slow for every page."""
        return tuple(map(self.entry, range(self.messages)))

    @property
    def items(self) -> tuple[Item, ...]:
        """All of History, as it is shown."""
        return self.stretch(0, self.messages).items

    def is_result(self, place: int) -> bool:
        """Whether the message at this place is a tool's result."""
        return bool(self.kinds[place] & RESULT)

    def is_prompt(self, place: int) -> bool:
        """Whether a person asks something in the message at this place; no message has the place after the newest."""
        return place < self.messages and bool(self.kinds[place] & PROMPT)

    def answers(self, number: int) -> bool:
        """Whether the row of this number is a tool's result."""
        return bool(self.flags[number] & ANSWER)

    @cached_property
    def has_results(self) -> bool:
        """Whether any message is a tool's result."""
        return 1 in self.kinds.translate(_IS_RESULT)

    @cached_property
    def prompts(self) -> array[int]:
        """The places of people's requests."""
        return array("i", compress(range(self.messages), self.kinds.translate(_IS_PROMPT)))

    def boundary_at(self, handoff_id: int) -> Boundary | None:
        """The boundary of this handoff."""
        return next((boundary for boundary in self.boundaries if boundary.handoff_id == handoff_id), None)

    # -- windows -----------------------------------------------------------------------------------------------------

    def window(
        self, *, around: int | None = None, before: int | None = None, after: int | None = None, limit: int = 60
    ) -> HistoryWindow:
        """At most `limit` entries with the boundaries directly before them.

        `around` is any row id: its message is in the middle. `before` and `after` are message ids at the edge of
        another window. With none of them, the newest entries. Raises NotFound for an id that History does not show.
        """
        start, stop = self.range(around=around, before=before, after=after, limit=limit)
        return self.stretch(start, stop)

    def range(
        self, *, around: int | None = None, before: int | None = None, after: int | None = None, limit: int = 60
    ) -> tuple[int, int]:
        """The places of `window`: from the first up to, but not including, the second."""
        total = self.messages
        if around is not None:
            start = max(0, min(self.shown_place(around) - limit // 2, total - limit))
            return start, min(start + limit, total)
        if after is not None:
            start = self.shown_place(after) + 1
            return start, min(start + limit, total)
        stop = total if before is None else self.shown_place(before)
        return max(0, stop - limit), stop

    def stretch(self, start: int, stop: int) -> HistoryWindow:
        """The entries of these places with the boundaries between and directly before them; those after the newest
        entry come with it.
        """
        items: list[HistoryEntry | Boundary] = []
        last = stop if stop < self.messages else self.messages + 1
        boundaries = sorted((boundary for boundary in self.boundaries if start <= boundary.place < last), key=_order)
        for place in range(start, stop):
            items += [boundary for boundary in boundaries if boundary.place == place]
            items.append(self.entry(place))
        items += [boundary for boundary in boundaries if boundary.place >= stop]
        return HistoryWindow(tuple(items), earlier=start, later=self.messages - stop)

    def shown_place(self, row_id: int) -> int:
        """The place of the message that a row carries. Raises NotFound for a row that History does not show."""
        place = self.place_of(row_id)
        if place is None:
            raise NotFound(f"Message {row_id} is not part of this session's History.")
        return place

    def digest(self, entries: int) -> str:
        """A text that is equal while the first so many entries, and all boundaries, are unchanged."""
        digest_of_parts = blake2b(digest_size=12)
        rows = self.first[entries - 1] + 1 if entries else 0
        for part in (self.ids[:rows], self.first[:entries], self.several.rows, self.several.newest):
            digest_of_parts.update(part.tobytes() + b".")
        facts = ((each.handoff_id, each.place, each.run, len(each.block)) for each in self.boundaries)
        digest_of_parts.update(self.kinds[:entries] + repr([*facts]).encode())
        return digest_of_parts.hexdigest()


def _order(boundary: Boundary) -> tuple[int, int]:
    """How boundaries at one place are ordered."""
    return (boundary.handoff_id if boundary.cut_id is None else boundary.cut_id, boundary.handoff_id)
