"""The only way to a session's History: each message once, with the compactions between them.

`indexes` gives the index of a session as it is now, out of memory, our own database or the store, whichever is true
and nearest; `records` is what this site wrote and took back, which outranks what a store's rows look like; `undo` is
the rule by which a compaction can be taken back. Runs write the records; pages, API and exports only ask. It knows no
runs, no models that write summaries and no requests, and of a store only what `viewer.stores` says.
"""
