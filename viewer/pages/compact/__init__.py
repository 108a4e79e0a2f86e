"""Compacting a session: the plan, and the runs that come of it."""
