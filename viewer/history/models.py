"""What our own database holds of sessions' Histories: indexes, which can be made again, and records, which cannot."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class PackedHistory(models.Model):
    """The index of one session's History as bytes (`stores.packing`), with what shows whether it is still valid.

    `mark` is `index_cache.IndexBasis` as JSON; `signature` is the store's version when the mark last matched;
    `encoding` names how its tokens were counted.
    """

    store = models.CharField(max_length=200)
    session_id = models.TextField()
    mark = models.TextField()
    signature = models.TextField()
    encoding = models.CharField(max_length=100)
    packed = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "session_id"], name="one_history_a_session")]
        db_table = "catalog_packedhistory"  # where it was before

    def __str__(self) -> str:
        return f"{self.session_id} in {self.store}"


class Compaction(models.Model):
    """A compaction that this site wrote or undid.

    `run` is the number of our run that wrote it, with the `receipt` and the first and last message that was written;
    null for an agent's compaction, which is here because it was undone here. `undone_at` is null if an older version
    did not record it; `undo` is the receipt of the undo, and `cut_id` the message before which the compaction was.
    """

    store = models.CharField(max_length=200)
    session_id = models.TextField()
    handoff_id = models.BigIntegerField()
    run = models.BigIntegerField(null=True, unique=True)
    receipt = models.JSONField(default=dict)
    first_id = models.BigIntegerField(null=True)
    last_id = models.BigIntegerField(null=True)
    undone = models.BooleanField(default=False)
    undone_at = models.DateTimeField(null=True)
    undo = models.JSONField(default=dict)
    cut_id = models.BigIntegerField(null=True)

    class Meta:
        indexes = [models.Index(fields=["store", "session_id"], name="compactions_of_a_session")]
        constraints = [
            models.UniqueConstraint(
                fields=["store", "session_id", "handoff_id"], condition=Q(run=None), name="one_undo_of_an_agents"
            )
        ]

    def __str__(self) -> str:
        return f"compaction {self.handoff_id} of {self.session_id} in {self.store}"
