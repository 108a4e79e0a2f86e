"""Compacting a session: the plan, and the runs that are made from it."""
