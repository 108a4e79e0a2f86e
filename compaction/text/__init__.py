"""Plain text: where it can be cut (`clip`), and which of its lines are in a code block (`fences`)."""
