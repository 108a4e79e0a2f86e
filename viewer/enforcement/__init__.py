"""What follows a compaction: did the agent read its startup files again, and which notes wait for it?

`auditing` arms an audit for a compaction and judges the agent's next turns by their messages alone: `reads` says which
files a turn read (`commands` which ones a shell command showed), `findings` which of the required ones those are.
`events` are the `notes` and warnings that wait until a program asks for a session's context; `audit_statistics` counts
how audits ended. The package follows runs by their signals (`runs.signals`); runs work without it. Pages show what was
or would be judged; workers write it.
"""
