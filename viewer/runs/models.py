"""Run: one compaction started on this site. Its row has all that its job needs, so any worker can continue it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone

# queued -> planning -> summarizing -> ready -> waiting -> applying -> applied -> undone, or one of the others. An
# undone run may be applied again.
OPEN_STATUSES = ("queued", "planning", "summarizing", "waiting", "applying")
STATUSES = (*OPEN_STATUSES, "ready", "applied", "undone", "discarded", "cancelled", "failed", "conflict")


class Run(models.Model):
    """One compaction of one session of one store.

    `plan` has options, window, and ids of head, middle, tail and lifted messages. `basis` and `edits` are what a commit
    needs (`stores.changes`: a token, and edits as JSON), emptied after it; the commit's receipt is in a
    `history.Compaction`. `holder` is the holder of the compression lock and, if not empty, the one worker that has the
    run. `queued_at` is when the run was put in the queue, None while it is not in it. `apply`: the run continues by
    itself once there is a summary. `mode` is where the result goes: "in_place", or "split" into a new session
    (`new_session_id`). `fallback` says in sentences what the store's CompactionSetting wants and this session does not
    allow, "" if nothing.

    `rules` are the rules read from the workspace (`workspaces.Rules` as an object), `carry`: whether they go into the
    handoff. `model` names the model of the summary, `usage` is its usage (`providers.summarizers.Usage`). `chunks` has
    the finished parts of a long summary (`compaction.Finished`) until there is a candidate. `looked_at_seconds` is how
    long a candidate waited for a person, which is not part of the work. `draft` is an edited summary that is not
    applied yet, "" if there is none.
    """

    store = models.CharField(max_length=200)
    session_id = models.TextField()
    status = models.CharField(max_length=20, default="queued", choices=[(status, status) for status in STATUSES])
    strategy = models.CharField(max_length=40)
    summarizer = models.CharField(max_length=40)
    focus = models.TextField(blank=True, default="")
    keep_last = models.PositiveIntegerField(null=True)
    apply = models.BooleanField()
    mode = models.CharField(max_length=20, default="in_place")
    fallback = models.TextField(blank=True, default="", db_default="")  # so that an older version can add a run
    new_session_id = models.TextField(blank=True, default="")
    carry = models.BooleanField(default=True)
    rules = models.JSONField(default=dict)
    model = models.CharField(max_length=200, blank=True, default="")
    usage = models.JSONField(default=dict)
    chunks = models.JSONField(default=list)
    progress = models.JSONField(default=dict)
    tokens_before = models.PositiveIntegerField(null=True)
    tokens_after = models.PositiveIntegerField(null=True)
    messages_before = models.PositiveIntegerField(null=True)
    messages_after = models.PositiveIntegerField(null=True)
    summary = models.TextField(blank=True, default="")
    draft = models.TextField(blank=True, default="")
    error_code = models.CharField(max_length=60, blank=True, default="")
    error_message = models.TextField(blank=True, default="")
    plan = models.JSONField(default=dict)
    report = models.JSONField(default=dict)
    basis = models.JSONField(default=dict)
    edits = models.JSONField(default=list)
    handoff_id = models.BigIntegerField(null=True)
    holder = models.CharField(max_length=200, blank=True, default="")
    queued_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    heartbeat_at = models.DateTimeField(default=timezone.now)
    applied_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    looked_at_seconds = models.FloatField(default=0.0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["store", "session_id"], condition=Q(status__in=OPEN_STATUSES), name="one_open_run_a_session"
            )
        ]
        indexes = [
            models.Index(fields=["store", "session_id", "-id"], name="runs_of_a_session"),
            models.Index(fields=["store", "queued_at"], name="queue_of_a_store"),
        ]

    def __str__(self) -> str:
        return f"run {self.pk} of {self.session_id} in {self.store}: {self.status}"

    @property
    def worked_seconds(self) -> float | None:
        """Seconds from creation to end, without the time in which a person looked at it; None before the end."""
        if self.finished_at is None:
            return None
        return max((self.finished_at - self.created_at).total_seconds() - self.looked_at_seconds, 0.0)

    @property
    def came_to_nothing(self) -> bool:
        """Whether it ended without writing anything, so that there are no numbers for "after"."""
        return self.status in ("failed", "cancelled", "discarded", "conflict")

    @property
    def is_open(self) -> bool:
        """Whether a worker has it or will get it."""
        return self.status in OPEN_STATUSES


class Worker(models.Model):
    """A process that runs queued compactions and updates the catalog: its holder's name, and when it last signed."""

    name = models.CharField(max_length=200, unique=True)
    seen_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.name


class Pin(models.Model):
    """A message whose words every further compaction of its session keeps."""

    store = models.CharField(max_length=200)
    session_id = models.TextField()
    message_id = models.BigIntegerField()
    pinned_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "session_id", "message_id"], name="one_pin_a_message")]

    def __str__(self) -> str:
        return f"message {self.message_id} of {self.session_id} in {self.store}"


class Connection(models.Model):
    """How to reach a model that writes summaries, as saved on the settings page; the environment overrides it.

    The key is stored only here, encrypted (`providers.connections`). It is never shown or logged, and sent only to the
    service at `base_url`.
    """

    kind = models.CharField(max_length=20, unique=True)
    base_url = models.CharField(max_length=500, blank=True, default="")
    api_key = models.TextField(blank=True, default="")
    model = models.CharField(max_length=200)
    window = models.PositiveIntegerField(null=True)

    def __str__(self) -> str:
        return f"{self.kind}: {self.model}"


class CompactionSetting(models.Model):
    """The default mode and strategy for a store's sessions, as saved on the settings page.

    `mode` is one of `stores.changes.MODES`; `strategy` one of `compaction.strategy.STRATEGIES`, "" for the one that the
    engine offers first.
    """

    store = models.CharField(max_length=200, unique=True)
    mode = models.CharField(max_length=20, default="in_place")
    strategy = models.CharField(max_length=40, blank=True, default="")

    def __str__(self) -> str:
        return f"{self.store}: {self.mode}, {self.strategy or 'automatic'}"
