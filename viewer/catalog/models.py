"""The catalog: what lists of sessions show, in our own database, rebuilt from the stores if it is lost.

The stores always have the correct data. Each row records which state of its store it was read from.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime

from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from viewer.stores.clean_text import shortened


def long_ago() -> datetime:
    """The time before which nobody has claimed anything."""
    return datetime.fromtimestamp(0, UTC)


class StoreState(models.Model):
    """How far one file of sessions has been read. If a store's name or place refers to another file now, that has
    another row, so that lines of two files never mix; `retired`: the file itself was replaced.

    `signature` is the store's signature at the last update, and `generation` counts the updates; `edition` counts every
    change of its lines, so that nobody overwrites newer data with older. All changes up to the `cursor` of the store's
    kind are known, except sessions with numbers at or below `unread_below`, `unlisted` of them, which are still to be
    read: newest first. `check_at` is how far (by number, downwards) all lines have been compared with the store since
    it had the signature `check_of`; `checked` is the signature at the start of the last complete comparison.
    """

    name = models.CharField(max_length=200)
    place = models.TextField()
    file = models.CharField(max_length=100)
    retired = models.BooleanField(default=False)
    signature = models.TextField(default="")
    generation = models.BigIntegerField(default=0)
    edition = models.BigIntegerField(default=0)
    cursor = models.TextField(default="")
    unread_below = models.BigIntegerField(default=0)
    unlisted = models.BigIntegerField(default=0)
    check_at = models.BigIntegerField(default=0)
    check_of = models.TextField(default="")
    checked = models.TextField(default="")
    claimed_by = models.CharField(max_length=200, default="")
    claimed_until = models.DateTimeField(default=long_ago)
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["name", "place", "file"], condition=Q(retired=False), name="one_state_a_file"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.place}"


class FacetGroup(models.Model):
    """The sessions of a store that have the same values of all filters, under one number.

    `near`: the tokens in context are close to or beyond the agent's threshold; `delegated`: a sub-agent's.
    """

    state = models.ForeignKey(StoreState, on_delete=models.CASCADE, related_name="kinds")
    source = models.TextField()
    model = models.TextField()
    archived = models.BooleanField()
    ended = models.BooleanField()
    compacted = models.BooleanField()
    near = models.BooleanField()
    delegated = models.BooleanField(default=False)

    class Meta:
        db_table = "catalog_kind"
        constraints = [
            models.UniqueConstraint(
                fields=["state", "source", "model", "archived", "ended", "compacted", "near", "delegated"],
                name="one_kind_a_sort",
            )
        ]

    def __str__(self) -> str:
        return f"{self.source} {self.model}"

    @property
    def is_near_and_open(self) -> bool:
        """Whether these sessions need compaction, if they were active lately: somebody may go on with them."""
        return self.near and not (self.ended or self.archived or self.delegated)


class SessionIndex(models.Model):
    """One session as lists show it. Times in epoch seconds; `row` is its row number in the store.

    The conversation: `parts` counts its sessions up to this one, `continues` is the previous one, `continued`: the
    agent ended this one to go on in another, `forked`: the session's own configuration says that it continues no other;
    `base_title` and `part_number` come from its title (`stores.base.Session`). `tip`: no session follows; only such a
    session has a `kind` and is listed. `first_words` are those of the conversation, `own_words` of this session;
    `words` is the text for the list's search, and `sort_name` the key for the order of names. `pinned` is the agent's
    own mark.

    The numbers: `live` counts the rows that a model is sent, `in_context` the messages in them. `messages`,
    `compactions` and `tokens` are counted by the worker: null before the first count, and after any change other than
    an appended message. `counted` is the `mark` at which they were counted; `due` asks the worker to count again, until
    then `tokens` excludes what was appended since. `cost` is in US dollars, null if unknown: a minimum with
    `cost_is_least`; `cost_inherited` of it is also in the cost of another session. `refusal` is why this session alone
    cannot be compacted, as one sentence, "" if it can; null if no worker has looked, or no session of the store could
    be compacted then.

    Compared with the store: `mark` is the digest of the session's own rows (`base.RowsDigest`), `under`: some rows are
    summarised away, `verified` is the generation of the store at the last comparison. `problem` says why a session
    cannot be read.
    """

    state = models.ForeignKey(StoreState, on_delete=models.CASCADE, related_name="lines")
    kind = models.ForeignKey(FacetGroup, on_delete=models.SET_NULL, null=True, related_name="lines", db_index=False)
    session_id = models.TextField()
    row = models.BigIntegerField()
    source = models.TextField(default="")
    model = models.TextField(default="")
    title = models.TextField(default="")
    base_title = models.TextField(default="")
    part_number = models.PositiveSmallIntegerField(default=1)
    first_words = models.TextField(default="")
    own_words = models.TextField(default="")
    words = models.TextField(default="")
    parent = models.TextField(default="")
    forked = models.BooleanField(default=False)
    continues = models.TextField(default="")
    branched_from = models.TextField(default="")
    delegated = models.BooleanField(default=False)
    started_at = models.FloatField(default=0.0)
    last_active = models.FloatField(default=0.0)
    ended_at = models.FloatField(null=True)
    continued = models.BooleanField(default=False)
    archived = models.BooleanField(default=False)
    cwd = models.TextField(default="")
    git_branch = models.TextField(default="")
    pinned = models.BooleanField(default=False)
    sort_name = models.TextField(default="")
    tip = models.BooleanField(default=True)
    parts = models.PositiveIntegerField(default=1)
    live = models.BigIntegerField(default=0)
    in_context = models.BigIntegerField(default=0)
    messages = models.BigIntegerField(null=True)
    compactions = models.BigIntegerField(null=True)
    tokens = models.BigIntegerField(null=True)
    cost = models.FloatField(null=True)
    cost_is_least = models.BooleanField(default=False)
    cost_inherited = models.FloatField(default=0.0)
    refusal = models.TextField(null=True)  # noqa: DJ001 - not known is not the same as none
    window = models.BigIntegerField(default=0)
    under = models.BooleanField(default=False)
    mark = models.TextField(default="")
    counted = models.TextField(default="")
    due = models.BooleanField(default=True)
    verified = models.BigIntegerField(default=0)
    problem = models.TextField(default="")

    spent: Mapping[int, float] | None = None  # dollars by `SessionDay.day`, if they were counted now: to be written

    class Meta:
        db_table = "catalog_line"  # by this name statements, triggers and a full-text table know it
        constraints = [models.UniqueConstraint(fields=["state", "session_id"], name="one_line_a_session")]
        indexes = [
            # Lists in order, with any filter: `kind` is in the index, so the row is not read.
            models.Index(fields=["last_active", "session_id", "id", "kind"], name="lines_by_activity"),
            models.Index(fields=["started_at", "session_id", "id", "kind"], name="lines_by_start"),
            models.Index(fields=["live", "session_id", "id", "kind"], name="lines_by_messages"),
            models.Index(Coalesce("tokens", -1), "session_id", "id", "kind", name="lines_by_tokens"),
            models.Index(Coalesce("cost", -1.0), "session_id", "id", "kind", name="lines_by_cost"),
            models.Index(fields=["sort_name", "session_id", "id", "kind"], name="lines_by_name"),
            models.Index(fields=["kind", "last_active"], condition=Q(pinned=True), name="pinned_lines"),
            # Lists of rare kinds.
            models.Index(fields=["kind", "last_active", "session_id", "id"], name="kinds_by_activity"),
            models.Index(fields=["kind", "started_at", "session_id", "id"], name="kinds_by_start"),
            models.Index(fields=["kind", "live", "session_id", "id"], name="kinds_by_messages"),
            models.Index(fields=["kind", "cwd", "last_active", "session_id", "id"], name="kinds_by_project"),
            models.Index(fields=["state", "last_active"], condition=Q(due=True), name="lines_to_count"),
            models.Index(  # all that sums read (`sums`), so that no line is opened for them
                fields=[
                    "state",
                    "last_active",
                    "kind",
                    "branched_from",
                    "tokens",
                    "cost",
                    "cost_is_least",
                    "cost_inherited",
                    "messages",
                    "compactions",
                ],  # fmt: skip
                condition=Q(kind__isnull=False),
                name="lines_to_sum",
            ),
            models.Index(fields=["state", "row"], name="lines_by_row"),
            models.Index(fields=["state", "parent"], name="lines_by_parent"),
            models.Index(fields=["state", "title"], name="lines_by_title"),
            models.Index(fields=["state", "base_title"], name="lines_by_base_title"),
        ]

    def __str__(self) -> str:
        return self.title or self.first_words or self.session_id

    @property
    def is_active_lately(self) -> bool:
        """Whether it has not ended and has a recent message."""
        from viewer.stores.base import is_active  # with all of the engine: no command is to load it for its models

        return is_active(self.ended_at, self.last_active)


def name_of(line: SessionIndex, words: int | None = None) -> str:
    """The name of a session for people; for a conversation in parts, the name without the number of the newest part. If
    a first request is used as name, at most `words` characters of it. It is added to a title without a letter or digit,
    as of emoji: not every font shows them, and nobody can say them.
    """
    title = (line.base_title if line.parts > 1 else "") or line.title
    begun = line.first_words if words is None else shortened(line.first_words, words)
    if any(map(str.isalnum, title)):
        return title
    return f"{title} {begun or line.session_id}".strip()


class SessionDay(models.Model):
    """What a session cost on one day, in US dollars and without what was spent in another session; `is_least` as
    `SessionIndex.cost_is_least`. The day is counted from 1970, in this site's zone when the session was counted.
    """

    state = models.ForeignKey(StoreState, on_delete=models.CASCADE, db_index=False)
    line = models.ForeignKey(SessionIndex, on_delete=models.CASCADE, related_name="days")
    day = models.IntegerField()
    dollars = models.FloatField()
    is_least = models.BooleanField()

    class Meta:
        indexes = [models.Index(fields=["state", "day", "line", "dollars", "is_least"], name="days_to_sum")]

    def __str__(self) -> str:
        return f"{self.line_id} on {self.day}"


def day_number(at: float) -> int:
    """The day of a time (epoch seconds), as in `SessionDay`."""
    return (timezone.localtime(datetime.fromtimestamp(at, UTC)).date() - date(1970, 1, 1)).days


# -- full text, of stores that have no index of their own --------------------------------------------------------------


class StoreText(models.Model):
    """The full text of one store, by the store's name. `left_out` is the owner's switch; `messages` are indexed;
    `untidy`: words of dropped messages are still in the index's file (`search.index.tidied`).
    """

    store = models.CharField(max_length=200, unique=True)
    left_out = models.BooleanField(default=False)
    untidy = models.BooleanField(default=False)
    messages = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return self.store


class SessionText(models.Model):
    """How far the text of one session is indexed: up to the reader's `cursor`.

    `mark` is the session's digest (`base.RowsDigest`) when it was last noted. `due` asks a worker to look: at new text
    or, if what was indexed is `void` or the session `gone`, at what must be dropped; but not before `wait_until` (epoch
    seconds). `failed`: it could not be read the last time. `version` counts the writes, so that nobody writes
    what two workers have read twice.
    """

    store = models.ForeignKey(StoreText, on_delete=models.CASCADE, related_name="sessions")
    session_id = models.TextField()
    cursor = models.TextField(default="")
    mark = models.TextField(default="")
    last_active = models.FloatField(default=0.0)
    due = models.BooleanField(default=True)
    wait_until = models.FloatField(default=0.0)
    void = models.BooleanField(default=False)
    gone = models.BooleanField(default=False)
    failed = models.BooleanField(default=False)
    version = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "session_id"], name="one_text_a_session")]
        indexes = [
            models.Index(fields=["store", "last_active"], condition=Q(due=True), name="texts_to_index"),
            models.Index(fields=["store"], condition=Q(failed=True), name="failed_texts"),
        ]

    def __str__(self) -> str:
        return self.session_id


class TextPortion(models.Model):
    """Some indexed messages of a session: `words` has one line for each, packed (`search.index.packed`). `oldest` and
    `newest` are the first and last of their places (`TextMessage`).

    An index without the text can remove only words that it is given again. Parts of words are also searched for here.
    """

    store = models.ForeignKey(StoreText, on_delete=models.CASCADE, db_index=False)
    session = models.ForeignKey(SessionText, on_delete=models.CASCADE, related_name="portions")
    oldest = models.BigIntegerField()
    newest = models.BigIntegerField()
    words = models.BinaryField()

    class Meta:
        indexes = [models.Index(fields=["store", "newest"], name="portions_by_time")]

    def __str__(self) -> str:
        return f"{self.oldest} to {self.newest} of {self.session_id}"


class TextMessage(models.Model):
    """An indexed message. `id` is its place among all messages by time (`search.index.place_of`), under which it is in
    the full-text index: a separate table on SQLite, a column of this one on PostgreSQL (migration 0001).
    """

    id = models.BigIntegerField(primary_key=True)
    session = models.ForeignKey(SessionText, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    message = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.message} of {self.session_id}"
