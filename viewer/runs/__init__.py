"""Compactions asked for through this site: planned, previewed, applied, undone (`DESIGN.md`, "A run")."""
