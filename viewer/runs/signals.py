"""What others may follow: a run that was written, a compaction that was taken back."""

from __future__ import annotations

from django.dispatch import Signal

applied = Signal()  # run: the Run, noted already
undone = Signal()  # store, session_id, handoff_id
