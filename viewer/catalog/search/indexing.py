"""Maintaining the full-text index: which sessions are waiting, and writing the words of their messages in portions.

Lists note new sessions (`note`), and new text is read by the cursors of the stores' readers: a little within a request,
the rest by the workers. Each transaction writes messages together with the cursor after them, so that a killed process
leaves nothing half done, and if two processes read the same text, one writes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from viewer.catalog import one_session
from viewer.catalog.models import SessionIndex, SessionText, StoreState, StoreText, TextPortion
from viewer.catalog.search import index
from viewer.catalog.search.index import Words
from viewer.stores.batches import chunks
from viewer.stores.errors import NotFound
from viewer.stores.registry import Reader
from viewer.stores.search.pages import SearchableMessage, SearchableText
from viewer.web import own_database

SESSIONS = 200  # that are asked for at once
BATCH = 2_000_000  # characters that are written together: some 50 ms in which nobody else writes
PORTION = 300_000  # characters of words that are packed together
DROPPED = 8  # portions that are removed together
SPREAD = 100  # places by which sessions with the same messages, as forks have, keep out of each other's way
WAIT = 60.0  # seconds in which a message is finished, or never


@dataclass(frozen=True, slots=True)
class TextProgress:
    """How far a store is indexed: of `sessions`, those that are `waiting`, and those whose text could not be read
    (`failed`); and the number of indexed messages.
    """

    left_out: bool
    sessions: int
    waiting: int
    messages: int
    failed: int

    @property
    def indexed(self) -> int:
        return self.sessions - self.waiting


# -- the state of stores and sessions ----------------------------------------------------------------------------------


def text_of(store: str) -> StoreText:
    """The store's row, or an unsaved one. Writes nothing."""
    return StoreText.objects.filter(store=store).first() or StoreText(store=store)


def progress(state: StoreState) -> TextProgress:
    """How far the text of a store is indexed."""
    text = text_of(state.name)
    waiting = _due(text).filter(gone=False).count() + state.unlisted
    sessions = SessionIndex.objects.filter(state=state, problem="").count() + state.unlisted
    return TextProgress(text.left_out, sessions, waiting, text.messages, failed(text))


def failed(text: StoreText) -> int:
    """The number of sessions that could not be read for indexing."""
    return SessionText.objects.filter(store_id=text.pk, failed=True, gone=False).count()


def is_any_due(store: str) -> bool:
    """Whether any text of this store must be indexed or dropped."""
    due = SessionText.objects.filter(store=OuterRef("pk"), due=True, wait_until__lte=time.time())
    return StoreText.objects.filter(Q(untidy=True) | Exists(due), store=store).exists()


def are_indexed(text: StoreText, sessions: Sequence[str]) -> bool:
    """Whether everything noted of these sessions is indexed."""
    done = SessionText.objects.filter(store_id=text.pk, due=False, session_id__in=sessions)
    return not text.left_out and done.count() == len(sessions)


def leave_out(store: str, left_out: bool) -> None:
    """Set the owner's switch: the store is not indexed, and a worker drops its text; or all of it is indexed again."""
    with own_database.noting():
        text, _ = StoreText.objects.update_or_create(store=store, defaults={"left_out": left_out})
        SessionText.objects.filter(store=text).update(due=True, wait_until=0.0, version=F("version") + 1)


def _due(text: StoreText) -> QuerySet[SessionText]:
    return SessionText.objects.filter(store_id=text.pk, due=True, wait_until__lte=time.time())


# -- changes that lists find -------------------------------------------------------------------------------------------


def note(store: str, lines: Iterable[SessionIndex], gone: Iterable[str]) -> None:
    """Note which text must be read and which must be dropped, within the transaction that writes these lines and
    deletes those of sessions that are `gone`.
    """
    text = StoreText.objects.get_or_create(store=store)[0]
    by_id = {line.session_id: line for line in lines if not line.problem}
    new = [
        SessionText(store=text, session_id=line.session_id, mark=line.mark, last_active=line.last_active)
        for line in _unknown(text, by_id)
    ]
    SessionText.objects.bulk_create(
        new,
        update_conflicts=True,
        unique_fields=["store", "session_id"],
        update_fields=["mark", "last_active", "due", "gone", "wait_until"],
    )
    for chunk in chunks([session.session_id for session in new]):
        SessionText.objects.filter(store=text, session_id__in=chunk).update(version=F("version") + 1)
    for chunk in chunks(sorted(gone)):
        _mark_gone(SessionText.objects.filter(store=text, session_id__in=chunk))


def _unknown(text: StoreText, lines: Mapping[str, SessionIndex]) -> list[SessionIndex]:
    """The lines of sessions with messages that were not noted."""
    marks = {
        session_id: mark
        for chunk in chunks(list(lines))
        for session_id, mark in SessionText.objects.filter(store=text, session_id__in=chunk, gone=False).values_list(
            "session_id", "mark"
        )
    }
    return [line for session_id, line in lines.items() if marks.get(session_id) != line.mark]


def sweep(state: StoreState) -> None:
    """Drop the text of sessions that the store does not have; all of the store must be listed."""
    listed = SessionIndex.objects.filter(state=state, session_id=OuterRef("session_id"))
    _mark_gone(SessionText.objects.filter(~Exists(listed), store__store=state.name))


def _mark_gone(sessions: QuerySet[SessionText]) -> None:
    sessions.filter(gone=False).update(gone=True, due=True, wait_until=0.0, version=F("version") + 1)


# -- steps -------------------------------------------------------------------------------------------------------------


def index_some(reader: Reader, seconds: float) -> bool:
    """Index waiting sessions, the most recent first, for about so many seconds; returns whether any are left."""
    if not reader.offers_text:  # of another store that had its name
        return forget_some(reader.store.name, seconds)
    text = text_of(reader.store.name)
    until = time.monotonic() + seconds
    if _drop_some(_due(text).filter(Q(gone=True) | Q(void=True) | Q(store__left_out=True)), until):
        return True
    indexed = _due(text).filter(gone=False, void=False, store__left_out=False)
    while waiting := list(indexed.order_by("-last_active")[:SESSIONS]):
        batch = _Batch(text)
        for session in waiting:
            if not _read(reader, session, batch, lambda: time.monotonic() >= until):
                break
        batch.write()
        if time.monotonic() >= until:
            break
    return _due(text).exists() or _is_untidy(text, until)


def _is_untidy(text: StoreText, until: float) -> bool:
    """Whether words of dropped text are still in the index's file, after merging it for a while."""
    untidy = StoreText.objects.filter(pk=text.pk, untidy=True)
    while untidy.exists():
        with own_database.noting():
            if index.tidied():
                untidy.update(untidy=False)
        if time.monotonic() >= until:
            return untidy.exists()
    return False


def _read(reader: Reader, session: SessionText, batch: _Batch, is_over: Callable[[], bool]) -> bool:
    """Add a session's new text to the batch, which is written whenever it is full; returns whether
    there is time left.
    """
    more = True
    while more and session.version >= 0:
        more = _read_on(reader, session, batch)
        if batch.size >= BATCH:
            batch.write()
        if is_over():
            return False
    return True


def _read_on(reader: Reader, session: SessionText, batch: _Batch) -> bool:
    """Add the next portion of a session to the batch; returns whether there is more. A session that cannot be read is
    skipped until it changes, or for a while if the failure is temporary: it must not block the others.
    """
    try:
        text = _searchable(reader, session)
        if text is None:
            batch.note(session, ReadSoFar(session.cursor, due=True, void=True))
            return False
        batch.take(session, text.messages)
        batch.note(session, ReadSoFar(text.cursor, due=text.more or text.waits, waits=text.waits and not text.more))
        return text.more
    except one_session.OF_ALL:
        raise
    except Exception as failure:
        one_session.log(reader.store.name, session.session_id, "indexed", failure)
        passes = isinstance(failure, one_session.PASSING)
        batch.note(session, ReadSoFar(session.cursor, due=passes, waits=passes, failed=True))
        return False


def _searchable(reader: Reader, session: SessionText) -> SearchableText | None:
    """The new text of a session; empty if it is gone."""
    nothing = SearchableText((), session.cursor, more=False)
    try:
        text = reader.searchable(session.session_id, session.cursor)
    except NotFound:  # the next comparison says so
        return nothing
    return text if text or session.cursor else nothing


@dataclass(frozen=True, slots=True)
class ReadSoFar:
    """How far a session is read, and what must be done with it next."""

    cursor: str
    due: bool
    waits: bool = False
    void: bool = False
    failed: bool = False


@dataclass(slots=True)
class _Batch:
    """What is written together: messages, and how far each session is read with them."""

    text: StoreText
    messages: list[tuple[SessionText, SearchableMessage, str]] = field(default_factory=list)
    read: dict[int, tuple[SessionText, ReadSoFar]] = field(default_factory=dict)
    size: int = 0

    def take(self, session: SessionText, messages: Iterable[SearchableMessage]) -> None:
        marks = index.store_mark(self.text.pk), index.session_mark(session.pk)
        entries = [
            (session, message, index.indexed_words(message.text, (*marks, index.role_mark(message.role))))
            for message in messages
            if message.text
        ]
        self.messages += entries
        self.size += sum(len(message.text) for _, message, _ in entries)

    def note(self, session: SessionText, read: ReadSoFar) -> None:
        session.cursor = read.cursor
        self.read[session.pk] = session, read

    def write(self) -> None:
        """Write the batch, but nothing of a session that another process wrote meanwhile."""
        if not self.read:
            return
        with own_database.noting():
            written = {pk for pk, (session, read) in self.read.items() if _moved(session, read)}
            added = _placed([each for each in self.messages if each[0].pk in written])
            if added:
                index.add(added)
                TextPortion.objects.bulk_create(_portions(self.text, added))
                StoreText.objects.filter(pk=self.text.pk).update(messages=F("messages") + len(added))
        self.messages, self.read, self.size = [], {}, 0


def _moved(session: SessionText, read: ReadSoFar) -> bool:
    """Store how far a session is read, if no other process has written it since."""
    same = SessionText.objects.filter(pk=session.pk, version=session.version)
    written = same.update(
        cursor=read.cursor,
        due=read.due,
        void=read.void,
        failed=read.failed,
        wait_until=time.time() + WAIT if read.waits else 0.0,
        version=F("version") + 1,
    )
    session.version = session.version + 1 if written else -1
    return bool(written)


def _placed(entries: Sequence[tuple[SessionText, SearchableMessage, str]]) -> list[Words]:
    requested = [index.place_of(message.time) + session.pk % SPREAD for session, message, _ in entries]
    order = sorted(range(len(entries)), key=requested.__getitem__)
    places = index.free_places([requested[number] for number in order])
    return [
        Words(place, session.pk, message.id, words)
        for place, (session, message, words) in zip(places, (entries[number] for number in order), strict=True)
    ]


def _portions(text: StoreText, indexed: Iterable[Words]) -> list[TextPortion]:
    by_session: dict[int, list[Words]] = {}
    for each in indexed:
        by_session.setdefault(each.session, []).append(each)
    return [
        TextPortion(store=text, session_id=pk, oldest=part[0].place, newest=part[-1].place, words=index.packed(part))
        for pk, of_session in by_session.items()
        for part in _parts(of_session)
    ]


def _parts(indexed: Iterable[Words]) -> Iterable[list[Words]]:
    part: list[Words] = []
    size = 0
    for each in indexed:
        part.append(each)
        size += len(each.words)
        if size >= PORTION:
            yield part
            part, size = [], 0
    if part:
        yield part


# -- dropping ----------------------------------------------------------------------------------------------------------


def _drop_some(sessions: QuerySet[SessionText], until: float) -> bool:
    """Remove these sessions from the index; returns whether any are left at this time."""
    while batch := list(sessions.select_related("store")[:SESSIONS]):
        for session in batch:
            while not _drop_portions(session):
                if time.monotonic() >= until:
                    return True
    return False


def _drop_portions(session: SessionText) -> bool:
    """Drop some portions of a session; returns whether it is done. A partly dropped session is void."""
    with own_database.noting():
        same = SessionText.objects.filter(pk=session.pk, version=session.version)
        if not same.update(version=F("version") + 1, void=True, due=True):
            return True
        session.version += 1
        portions = list(session.portions.order_by("pk")[:DROPPED])
        dropped = sum(index.take_out(bytes(portion.words)) for portion in portions)
        TextPortion.objects.filter(pk__in=[portion.pk for portion in portions]).delete()
        if dropped:
            StoreText.objects.filter(pk=session.store_id).update(messages=F("messages") - dropped, untidy=True)
        if len(portions) == DROPPED:
            return False
        if session.gone:
            session.delete()
        else:
            SessionText.objects.filter(pk=session.pk).update(cursor="", void=False, due=not session.store.left_out)
    return True


def forget_some(store: str, seconds: float) -> bool:
    """Drop the text of a store that is gone; returns whether there is more."""
    text = text_of(store)
    if text.pk is None:
        return False
    with own_database.noting():
        _mark_gone(SessionText.objects.filter(store=text))
    if _drop_some(_due(text), time.monotonic() + seconds):
        return True
    text.delete()
    return False
