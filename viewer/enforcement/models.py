"""Audits of agents' turns after a compaction, and notes for agents."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

# Of an audit: no complete turn yet; some files not read, where another turn counts unless it is settled; all read; no
# file was to be read; the compaction was undone, or followed by a later one, before the turn could be judged.
AUDIT_STATUSES = ("not_yet", "missing", "passed", "nothing_required", "undone", "superseded")


class Audit(models.Model):
    """Whether the agent read its startup files in the first complete turn after one compaction.

    One per compaction, identified by its handoff. Rows above `after` count; those up to `seen_to` were looked at.
    `required` holds [{"named", "path"}], `path` below the workspace; `findings` [{"named", "path", "message", "tool"}]
    with the message whose call read the file, null if none did. `turns` is the number of complete turns judged: a
    second one only if the first did not read everything. `settled`: the result is final. `late`: the turn was over
    before the compaction was seen here, so files are judged as they are now and no warning was sent. `reason` says why
    nothing was required.
    """

    store = models.CharField(max_length=200)
    session_id = models.TextField()
    handoff_id = models.BigIntegerField()
    run = models.BigIntegerField(null=True)
    model = models.TextField(blank=True, default="")
    compacted_at = models.FloatField()
    armed_at = models.DateTimeField(default=timezone.now)
    after = models.BigIntegerField()
    seen_to = models.BigIntegerField(default=0)
    workspace = models.TextField(blank=True, default="")
    source = models.TextField(blank=True, default="")
    required = models.JSONField(default=list)
    findings = models.JSONField(default=list)
    status = models.CharField(max_length=20, default="not_yet", choices=[(each, each) for each in AUDIT_STATUSES])
    settled = models.BooleanField(default=False)
    turns = models.PositiveSmallIntegerField(default=0)
    late = models.BooleanField(default=False)
    reason = models.TextField(blank=True, default="")
    audited_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "runs_audit"  # where it was before
        constraints = [
            models.UniqueConstraint(fields=["store", "session_id", "handoff_id"], name="one_audit_a_compaction")
        ]

    def __str__(self) -> str:
        return f"audit of {self.session_id} in {self.store} after {self.handoff_id}: {self.status}"


EVENT_KINDS = ("note", "warning")
EVENT_STATUSES = ("pending", "delivered", "expired")


class Event(models.Model):
    """A text for an agent at its next turn, once: the `note` after a compaction, or the audit's `warning`.

    `sections` and `named` come from the rules when it was stored; `missing` are the files of a warning. `text` and
    `files` are what was delivered, empty before: until then they are made when asked for.
    `offered_until`: until then an agent that asked for it may acknowledge it, and nobody else is offered it.
    """

    audit = models.ForeignKey(Audit, on_delete=models.CASCADE, related_name="events")
    store = models.CharField(max_length=200)
    session_id = models.TextField()
    kind = models.CharField(max_length=20, choices=[(kind, kind) for kind in EVENT_KINDS])
    status = models.CharField(max_length=20, default="pending", choices=[(each, each) for each in EVENT_STATUSES])
    sections = models.JSONField(default=list)
    named = models.JSONField(default=list)
    missing = models.JSONField(default=list)
    files = models.JSONField(default=list)
    text = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    delivered_at = models.DateTimeField(null=True)
    offered_until = models.DateTimeField(null=True)

    class Meta:
        db_table = "runs_event"
        constraints = [models.UniqueConstraint(fields=["audit", "kind"], name="one_event_of_a_kind")]
        indexes = [models.Index(fields=["store", "session_id", "-id"], name="events_of_a_session")]

    def __str__(self) -> str:
        return f"{self.kind} for {self.session_id} in {self.store}: {self.status}"


class EarlyNote(models.Model):
    """A note that an agent took before it wrote the compaction that it is about; deleted once there is the event.

    `passed_on`: the agent has it, so the event is delivered already.
    """

    store = models.CharField(max_length=200)
    session_id = models.TextField()
    text = models.TextField()
    given_at = models.DateTimeField(default=timezone.now)
    passed_on = models.BooleanField(default=False)

    class Meta:
        indexes = [models.Index(fields=["store", "session_id"], name="early_notes_of_a_session")]

    def __str__(self) -> str:
        return f"early note for {self.session_id} in {self.store}"
