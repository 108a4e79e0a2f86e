"""What follows a compaction: did the agent read again what its startup asks for, and which notes wait for it?

`auditing` arms an audit a compaction and judges the agent's next turns by the messages alone: `reads` says which files
a turn read (`commands` which ones a shell's line showed), `findings` which of the required ones those are. `events` are
the `notes` and warnings that wait until a program asks for a session's context; `audit_statistics` counts how audits
ended. It follows runs by their signals (`runs.signals`), which work without it. Pages show what was judged, or would
be; workers write it.
"""
