"""Sums over sessions and compactions, contexts that are nearly full, and startup reading that was left out."""
