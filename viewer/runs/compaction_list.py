"""The compactions of a session, this site's and the agent's, with their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from threading import Lock
from weakref import ref

from cachetools import LRUCache

from compaction.handoff import is_by_engine
from viewer.history import index_cache, undo
from viewer.history.index_cache import AllRuns
from viewer.stores.base import Session, Store
from viewer.stores.message import Handoff, Parted, ReportedCompaction, parted
from viewer.stores.registry import Reader, agent_of
from viewer.stores.transcript import Boundary, TranscriptIndex, Weight

from .models import Run


def who(store: Store, run: int | None, handoff: Parted | Handoff | None) -> str:
    """Who compacted: the person who started this run here; else, by its handoff, our engine inside the agent that owns
    the store, or that agent itself.
    """
    if run:
        return "you, here"
    agent = agent_of(store).name
    is_ours = handoff is not None and is_by_engine(handoff.directive, handoff.summary)
    return f"Palimpsest, inside {agent}" if is_ours else agent


def by(store: Store, run: int | None, handoff: Parted | Handoff | None) -> str:
    """The same behind other words: "by Hermes"."""
    return f"by {who(store, run, handoff)}"


def by_each(reader: Reader, session_id: str, boundaries: Iterable[Boundary]) -> dict[int, str]:
    """The same by the ids of the handoffs, which are read from the store. Raises StoreUnavailable."""
    runs = {each.handoff_id: each.run for each in boundaries}
    rows = reader.messages(session_id, [handoff for handoff, run in runs.items() if not run])
    return {
        handoff: by(reader.store, run, parted(rows[handoff]) if handoff in rows else None)
        for handoff, run in runs.items()
    }


def by_in(reader: Reader, session_id: str, boundary: Boundary) -> str:
    """The same for one boundary."""
    return by_each(reader, session_id, [boundary])[boundary.handoff_id]


@dataclass(frozen=True, slots=True)
class Numbers:
    """One boundary, as the index has it.

    `at` is in epoch seconds. Ids are messages of History, `boundary_message_id` is the first one kept. `run` is ours,
    None for the agent's. `unsure`: what was summarised may have been taken back before.
    """

    handoff_id: int
    at: float | None
    who: str
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    boundary_message_id: int | None
    summarised_ids: tuple[int, ...]
    kept_ids: tuple[int, ...]
    shortened_ids: tuple[int, ...]
    run: int | None
    unsure: bool

    @property
    def by(self) -> str:
        """Who compacted, behind other words."""
        return f"by {self.who}"


@dataclass(frozen=True, slots=True)
class CompactionView(Numbers):
    """One boundary with its text, whether it can be undone, and what the agent itself recorded about it."""

    summary: str
    undoable: bool
    reported: ReportedCompaction | None


def weights(history: TranscriptIndex, boundaries: Iterable[Boundary]) -> dict[int, tuple[Weight, Weight]]:
    """Tokens in context before and after each compaction, by its handoff. For this site's compactions the run's own
    count is used: it is exact even while the session's new rows are not counted yet.
    """
    boundaries = list(boundaries)
    runs = Run.objects.filter(pk__in={boundary.run for boundary in boundaries if boundary.run is not None})
    counts = {run: (before, after) for run, before, after in runs.values_list("pk", "tokens_before", "tokens_after")}
    by_handoff = {}
    for boundary in boundaries:
        before, after = counts.get(boundary.run or 0, (None, None))
        if before is None or after is None:
            by_handoff[boundary.handoff_id] = history.weight(boundary.before), history.weight(boundary.block)
        else:
            by_handoff[boundary.handoff_id] = Weight(before, about=False), Weight(after, about=False)
    return by_handoff


REMEMBERED = 1_000  # sessions

_numbers: LRUCache[tuple[str, str, str], tuple[ref[TranscriptIndex], list[Numbers]]] = LRUCache(REMEMBERED)
_lock = Lock()


def numbers(reader: Reader, session: Session, runs: AllRuns | None = None) -> list[Numbers]:
    """The numbers of every compaction in effect, oldest first. If few tokens are uncounted, they are counted. Cached
    until the session's index changes. `runs` are those of the store, for callers that ask for many sessions. Raises
    StoreUnavailable.
    """
    transcript_index = index_cache.index_of(reader, session, runs)
    key = (reader.store.name, reader.store.url, session.id)
    with _lock:
        cached_index, result = _numbers.get(key, (None, []))
    if cached_index is None or cached_index() is not transcript_index:
        ids = {row_id for each in transcript_index.compactions for row_id in (*each.before_ids, *each.block_ids)}
        transcript_index = index_cache.count_few(reader, session, sorted(ids))
        agents = [each.handoff_id for each in transcript_index.compactions if each.run is None]
        handoffs = {row_id: parted(row) for row_id, row in reader.messages(session.id, agents).items()}
        result = _numbers_of(reader.store, transcript_index, handoffs)
        with _lock:
            _numbers[key] = ref(transcript_index), result
    return result


def _numbers_of(store: Store, history: TranscriptIndex, handoffs: Mapping[int, Parted | Handoff]) -> list[Numbers]:
    """Every compaction in effect, oldest first; `handoffs` are those of the agent."""
    tokens = weights(history, history.compactions) if history.compactions else {}
    return [
        Numbers(
            handoff_id=boundary.handoff_id,
            at=boundary.time,
            who=who(store, boundary.run, handoffs.get(boundary.handoff_id)),
            messages_before=boundary.messages_before,
            messages_after=boundary.messages_after,
            tokens_before=tokens[boundary.handoff_id][0].tokens,
            tokens_after=tokens[boundary.handoff_id][1].tokens,
            boundary_message_id=boundary.cut_id,
            summarised_ids=boundary.summarised_ids,
            kept_ids=boundary.kept_ids,
            shortened_ids=boundary.shortened_ids,
            run=boundary.run,
            unsure=boundary.unsure,
        )
        for boundary in history.compactions
    ]


def compactions(reader: Reader, session_id: str) -> list[CompactionView]:
    """Every compaction in effect, with its text. Counts all tokens, however long that takes. Raises NotFound."""
    session = reader.session(session_id)
    compactions = index_cache.index_of(reader, session).compactions
    boundaries = [each for each in compactions if each.run is None]  # our own were counted by the run
    ids = {row_id for boundary in boundaries for row_id in (*boundary.before_ids, *boundary.block_ids)}
    history = index_cache.count_all(reader, session, sorted(ids))
    if not history.compactions:
        return []
    handoffs = {
        item.boundary.handoff_id: item
        for item in reader.shown(session_id, history.compactions)
        if isinstance(item, Handoff)
    }
    newest = max(boundary.handoff_id for boundary in history.compactions)
    undoable = not undo.refusal(reader, session, newest)
    return [
        CompactionView(
            **{field.name: getattr(each, field.name) for field in fields(each)},
            summary=item.summary if item else "",
            undoable=undoable and each.handoff_id == newest,
            reported=item.reported if item and each.run is None else None,
        )
        for each in _numbers_of(reader.store, history, handoffs)
        for item in [handoffs.get(each.handoff_id)]
    ]
