"""The command palette: sessions, pages and actions in one list, narrowed by words; a dialog, or a page of links."""
