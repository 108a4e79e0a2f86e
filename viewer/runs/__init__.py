"""Compactions asked for through this site: planned, previewed, applied, undone.

`planning` reads a session and has the engine plan, `service` is a run as people and programs drive it, `job` what a
worker does for it, `hold` how one worker holds it, `candidate` the summary that is not written yet, `outcomes` and
`recovery` how a run ends, whatever dies; `providers` ask models, `signals` say what was written and undone. All that
a run needs is on its row, so that another worker can go on. It knows no request, and not what follows a compaction.
"""
