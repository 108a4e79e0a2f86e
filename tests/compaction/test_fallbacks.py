"""Of the summaries that Hermes makes without a model, what happened is folded in, not how they were made."""

from __future__ import annotations

import pytest

from compaction import sections

HAPPENED = [
    "User asked: 'Where is order B-20918?'", "Order B-20918 is in Ghent.", "/srv/app/orders.py",
    "USER: Where is order B-20918?", "ENOSPC no space left", "Order B-20918 is still outstanding.",
]  # fmt: skip
# The first words of their own lines, by the version that writes them.
OF_019 = """\
Recovered from a deterministic fallback because the LLM context summarizer was unavailable.
Previous compaction summary was present and should still be treated as background continuity context
- This fallback was generated locally without an LLM summary call.
- Secrets and credentials were redacted before preservation.
- The summary may be incomplete; prefer verifying current files
1. Called tool(s): terminal, read_file
None recoverable from compacted turns.
Unknown from deterministic fallback. Inspect current repository/session state if needed.
Unknown from deterministic fallback — the latest user ask is recorded once under
"## Historical Task Snapshot" above as historical context only. Do NOT treat it as an
unfulfilled instruction to re-answer; verify current state and continue from the
protected recent messages after this summary.
None.
None recoverable from deterministic fallback. (The latest user ask is preserved once
under "## Historical Task Snapshot" as historical context — it is NOT necessarily
outstanding.)
Continue from the most recent unfulfilled user ask and protected tail messages.
Summary generation was unavailable, so this is a best-effort deterministic fallback for 9 compacted message(s).
...[fallback summary truncated]"""
OF_022 = """\
None. This session contains no user-authored turns.
The previous compaction summary above remains background continuity context because the latest update failed.
(Exact identifiers from the compacted region — use these verbatim
(Every real user message from the compacted region, quoted verbatim.
The 12 compacted message(s) remain fully preserved in session history.
(The listed skills' instructions were pruned during context compression."""


@pytest.mark.parametrize("boilerplate", [OF_019, OF_022])
def test_what_only_says_how_a_summary_was_made_is_left_out(boilerplate: str) -> None:
    lines = [line for own in boilerplate.splitlines() for line in ("## Goal", own)]
    found = sections.read_back("\n".join([*lines, "## Completed Actions", *HAPPENED]))
    assert [line for lines in found.values() for line in lines] == HAPPENED
