"""Compactions asked for through this site: planned, previewed, applied, undone.

`planning` reads a session and has the engine plan, `life` is a run as people and programs drive it, `job` what a worker
does for it, `hold` how one worker holds it, `candidate` the summary that is not written yet, `outcomes` and `recovery`
how a run ends, whatever dies; `summarizers` ask models. What follows a compaction is here, too: rules of a workspace,
notes and audits. All that a run needs stands on its row, so that another worker can go on. It knows no request.
"""
