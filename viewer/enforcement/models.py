"""Audits of agents' turns after a compaction, and notes for agents."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

# Of an audit: no complete turn yet; some files not read, where another turn counts unless it is settled; all read; no
# file was to be read; the compaction was taken back, or overtaken by a later one, before that could be told.
AUDIT_STATUSES = ("not_yet", "missing", "passed", "nothing_required", "undone", "superseded")


class Audit(models.Model):
    """Whether the agent read the files its startup asks for, in the first complete turn after one compaction.

    One a compaction, found by its handoff. Rows above `after` count, those up to `seen_to` were looked at. `required`
    holds [{"named", "path"}], `path` below the workspace; `findings` [{"named", "path", "message", "tool"}] with the
    message whose call read it, null where none did. `turns` is how many complete turns were judged: a second one only
    where the first left something out. `settled` that the result stands; `late` that the turn was over before anybody
    here saw the compaction, so that files are judged as they are now and nobody was told. `reason` says why nothing
    was required.
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
    """Something to tell an agent at its next turn, once: the `note` after a compaction, or the audit's `warning`.

    `sections` and `named` are what the rules said when it was stored, `missing` the files a warning is about. `text`
    and `files` are what was delivered, empty before: until then the files that exist and the time are those of the
    moment of asking.
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

    class Meta:
        db_table = "runs_event"
        constraints = [models.UniqueConstraint(fields=["audit", "kind"], name="one_event_of_a_kind")]
        indexes = [models.Index(fields=["store", "session_id", "-id"], name="events_of_a_session")]

    def __str__(self) -> str:
        return f"{self.kind} for {self.session_id} in {self.store}: {self.status}"
