"""The catalog: what lists of sessions show, kept in our own database and made again from the stores if it is lost.

Nothing here is known better than by the stores. Each row says which state of its store it was read from.
"""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.utils import timezone


def long_ago() -> datetime:
    """A time at which nobody has claimed anything."""
    return datetime.fromtimestamp(0, UTC)


class StoreState(models.Model):
    """How far one file of sessions has been read. A store whose name or place now means another file has another row,
    so that lines of two files never mix; `retired` says that the file itself was written anew.

    `signature` is that of the store when it was last brought up to date, and `generation` counts those times; `edition`
    counts every change of its lines, so that nobody writes what he read before somebody else wrote. Messages
    up to `newest_message` and sessions (by rowid) up to `newest_session` are known, except sessions at or below
    `unread_below`, `unlisted` of them, which are still to be read: newest first. `anchor` tells the row of the newest
    message from another of that id. `check_at` is how far (by rowid, downwards) all lines have been compared with the
    store since it had the signature `check_of`; `checked` the signature that the last whole comparison began with.
    """

    name = models.CharField(max_length=200)
    place = models.TextField()
    file = models.CharField(max_length=100)
    retired = models.BooleanField(default=False)
    signature = models.TextField(default="")
    generation = models.BigIntegerField(default=0)
    edition = models.BigIntegerField(default=0)
    newest_message = models.BigIntegerField(default=0)
    anchor = models.TextField(default="")
    newest_session = models.BigIntegerField(default=0)
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
    """The sessions of a store that have the same values of all that lists are filtered by, under one number.

    `near`: the tokens in context are close to where the agent compacts by itself, or beyond;
    `delegated`: a sub-agent's.
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


class SessionIndex(models.Model):
    """One session as lists show it. Times in epoch seconds; `row` is its row number in the store.

    The conversation: `parts` counts its sessions up to this one, `continues` is the one before, `continued` says that
    the agent ended this one to go on in another, and `forked` that the session's own configuration denies that it
    continues another; `base_title` and `part_number` are what its title says of that (`listing.SessionFacts`). `tip`:
    no session follows; only such a session has a `kind` and is listed. `first_words` are those of the conversation,
    `own_words` of this session; `words` is the text that the list's search looks through, and `sort_name` what lists in
    the order of names go by. `pinned` is the agent's own mark.

    The numbers: `live` counts the rows that a model is sent, `in_context` the messages in them. `messages`,
    `compactions` and `tokens` are counted by the worker: null before the first count, and after any change other than
    an appended message. `counted` is the `mark` they were counted at; `due` asks the worker to count again, until when
    `tokens` leaves out what was appended since. `cost` is in US dollars, null where it is not known:
    at least so much with `cost_is_least`, of which `cost_inherited` is in the cost of another session, too.
    `refusal` is why this session alone cannot be compacted, as one sentence, "" where it can; null where no worker has
    looked, or none of the store could be when one did.

    Compared with the store: `mark` is the digest of the session's own rows (`listing.RowsDigest`), `under` says that
    some rows are summarised away, `verified` is the generation of the store at the last comparison. `problem` says why
    a session cannot be read, or not even asked for: its `session_id` is a stand-in then, and its `title` what can be
    shown of its id.
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

    class Meta:
        db_table = "catalog_line"  # by this name statements, triggers and a full-text table know it
        constraints = [models.UniqueConstraint(fields=["state", "session_id"], name="one_line_a_session")]
        indexes = [
            # Lists in order, whatever they are narrowed by: `kind` can be told without the row.
            models.Index(fields=["last_active", "session_id", "id", "kind"], name="lines_by_activity"),
            models.Index(fields=["started_at", "session_id", "id", "kind"], name="lines_by_start"),
            models.Index(fields=["live", "session_id", "id", "kind"], name="lines_by_messages"),
            models.Index(Coalesce("tokens", -1), "session_id", "id", "kind", name="lines_by_tokens"),
            models.Index(Coalesce("cost", -1.0), "session_id", "id", "kind", name="lines_by_cost"),
            models.Index(fields=["sort_name", "session_id", "id", "kind"], name="lines_by_name"),
            models.Index(fields=["kind", "last_active"], condition=Q(pinned=True), name="pinned_lines"),
            # Lists of what is rare.
            models.Index(fields=["kind", "last_active", "session_id", "id"], name="kinds_by_activity"),
            models.Index(fields=["kind", "started_at", "session_id", "id"], name="kinds_by_start"),
            models.Index(fields=["kind", "live", "session_id", "id"], name="kinds_by_messages"),
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
        """Whether it has not ended and something was said in it lately."""
        from viewer.stores.base import is_active  # with all of the engine: no command is to load it for its models

        return is_active(self.ended_at, self.last_active)


def name_of(line: SessionIndex, words: int | None = None) -> str:
    """What people call a session; of a conversation in parts, its name without the number of the newest part. Of a
    first request that stands for one at most `words` characters.
    """
    title = line.base_title if line.parts > 1 else ""
    return title or line.title or line.first_words[:words] or line.session_id


# -- full text, of stores that have no index of their own --------------------------------------------------------------


class StoreText(models.Model):
    """The full text of one store, by the store's name. `left_out` is the owner's switch; `messages` are indexed;
    `untidy` says that words of what was dropped are still in the index's file (`search.index.tidied`).
    """

    store = models.CharField(max_length=200, unique=True)
    left_out = models.BooleanField(default=False)
    untidy = models.BooleanField(default=False)
    messages = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return self.store


class SessionText(models.Model):
    """How far the text of one session is indexed: up to the reader's `cursor`.

    `mark` is the session's digest (`listing.RowsDigest`) when it was last noted; `due` says that a worker has to look:
    at what is new, or, where what was indexed is `void` or the session `gone`, at what has to be dropped; but not
    before `wait_until` (epoch seconds). `failed` says that it could not be read the last time. `version` counts the
    writes, so that nobody writes twice what two have read.
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
    """Some messages of a session, as they were indexed: `words` are a line for each, packed (`search.index.packed`).
    `oldest` and `newest` are the first and last of their places (`TextMessage`).

    An index without the text can only take out what it is given again; and words are looked through here for what
    stands inside of them.
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
    """An indexed message. `id` is its place among all by time (`search.index.place_of`), by which the full-text index
    knows it: a table beside this one on SQLite, a column of this one on PostgreSQL (migration 0001).
    """

    id = models.BigIntegerField(primary_key=True)
    session = models.ForeignKey(SessionText, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    message = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.message} of {self.session_id}"
