"""One session: its History in windows, what the model sees, raw rows, timeline, find, export."""
