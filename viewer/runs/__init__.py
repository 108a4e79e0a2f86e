"""Compactions asked for through this site: planned, previewed, applied, undone."""
