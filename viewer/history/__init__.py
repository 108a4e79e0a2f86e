"""The only way to a session's History: each message once, with the compactions between them.

`index_cache` gives the current index of a session, from memory, our own database or the store, whichever is valid and
fastest. `records` is what this site wrote and undid, which overrides what a store's rows look like. `undo` decides
whether a compaction can be undone. Runs write the records; pages, API and exports only read. The package knows no runs,
no models that write summaries and no requests, and of a store only what `viewer.stores` says.
"""
