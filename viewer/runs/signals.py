"""Signals for other packages: a run was written, a compaction was undone."""

from __future__ import annotations

from django.dispatch import Signal

applied = Signal()  # run: the Run, already recorded
undone = Signal()  # store, session_id, handoff_id
