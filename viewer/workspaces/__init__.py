"""The rules of a workspace: whose rules a session follows, and which of them are carried over a compaction.

`context_files` reads one file such as AGENTS.md below a permitted directory, `sections` extracts what is carried,
`paths` compares names of files, `rules` finds the workspace of a session and the rules in its file, `rule_settings` is
what a person typed for a store. Each refusal is a sentence, nothing raises because of the contents of a disk, and
nothing outside `settings.WORKSPACES` is looked at. The package knows no runs.
"""
