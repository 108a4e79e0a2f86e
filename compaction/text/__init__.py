"""Plain text, whatever it is about: where it may be cut (`clip`), and what in it stands in a code block (`fences`)."""
