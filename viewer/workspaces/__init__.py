"""The rules of a workspace: whose rules a session follows, and what of them is carried over a compaction.

`context_files` reads one file such as AGENTS.md below a directory that may be read, `sections` takes out of it what is
carried, `paths` compares names of files, `rules` finds the workspace of a session and what its file says,
`rule_settings` is what a person typed for a store. Each refusal is a sentence, nothing raises for what lies on a disk,
and nothing outside `settings.WORKSPACES` is looked at. It knows no runs.
"""
