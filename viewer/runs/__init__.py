"""Compactions that are started on this site: planned, previewed, applied, undone.

`planning` reads a session and has the engine plan. `service` has the operations on a run that pages and programs call,
`job` is what a worker does with a run, `run_claim` lets one worker own it. `candidate` is a summary that is not written
yet. `outcomes` and `recovery` end a run, also after a crash. `providers` call models, `signals` announce writes and
undos. A run's row has all that another worker needs to continue it. The package knows no requests, and nothing that
follows a compaction.
"""
