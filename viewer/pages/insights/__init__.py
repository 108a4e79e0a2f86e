"""What sessions and compactions sum up to, contexts about to be full, and startup reading that is left out."""
