"""The sessions of pi: files of lines, which are trees of entries (`stores/trees`)."""
