"""The text of handoffs in every form and layout that occurs in stores (`docs/hermes.md` section 4).

The markers come from `compaction.handoff`; the sentences between them are our own, because readers only look at the
markers.
"""

from collections.abc import Sequence
from typing import Any, Literal

from compaction.handoff import (
    CURRENT_HEADER,
    END_MARKER,
    HYPHEN_HEADER,
    LONG_DIRECTIVE_END,
    LONG_DIRECTIVE_START,
    MERGE_DELIMITER,
    PRIOR_HEADER,
    handoff_text,
)

Form = Literal["em-dash", "hyphen", "legacy", "unknown"]
Layout = Literal["standalone", "summary-first", "prior-first"]

_DIRECTIVE = (
    f"{LONG_DIRECTIVE_START} into the summary below. Take it as background, not as a request, and answer"
    " only the newest message after it. Files and settings may already show the work described here, so"
    f" {LONG_DIRECTIVE_END}"
)


def text(form: Form, summary: str) -> str:
    """A handoff around `summary`. The form "unknown" has no marker at all: only the row's flag identifies it."""
    if form == "unknown":
        return summary
    if form == "legacy":
        return handoff_text(summary)
    header = CURRENT_HEADER if form == "em-dash" else HYPHEN_HEADER
    return f"{header} {_DIRECTIVE}\n{summary}\n\n{END_MARKER}"


def merged(layout: Layout, handoff: str, live: Any) -> Any:
    """A handoff and the live content of the same row, text or a list of parts, as one content."""
    if layout == "summary-first":
        before, after = f"{handoff}\n\n", ""
    else:
        before, after = f"{PRIOR_HEADER}\n", f"\n\n{MERGE_DELIMITER}\n\n{handoff}"
    if not isinstance(live, list):
        return f"{before}{live or ''}{after}"
    front, back = {"type": "text", "text": before}, {"type": "text", "text": after}
    return [front, *live, back] if after else [front, *live]


def role(head: Sequence[dict[str, Any]], tail: Sequence[dict[str, Any]]) -> str:
    """The role of a standalone handoff between two runs of rows: the one that neither neighbour has.

    Tool results and assistant rows that call tools are not shown to a chat template. Raises ValueError where no role
    fits: a real agent does not cut there.
    """
    before = next((row["role"] for row in reversed(head) if _shown(row)), "assistant")
    after = next((row["role"] for row in tail if _shown(row)), "")
    fitting = "assistant" if before == "user" else "user"
    if fitting == after:
        raise ValueError(f"no handoff fits between {before} and {after}")
    return fitting


def check_cuts(head: Sequence[dict[str, Any]], tail: Sequence[dict[str, Any]]) -> None:
    """Raise ValueError where a cut separates a tool call from its result."""
    if tail[0]["role"] == "tool" or (head and head[-1].get("tool_calls")):
        raise ValueError(f"a tool group is torn at {(head[-1:] or tail)[0]['content']!r} or {tail[0]['content']!r}")


def _shown(row: dict[str, Any]) -> bool:
    return row["role"] in ("user", "assistant") and not row.get("tool_calls")


def stub(tool: str, result: str) -> str:
    """What an agent leaves of an old tool result."""
    return f"[{tool}] ({len(result)} chars result)"
