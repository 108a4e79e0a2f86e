"""The text of handoffs in every form and layout that stores hold (`interop/hermes.md` section 4).

The markers come from `compaction.protocol`; the sentences between them are our own, because readers go by the markers.
"""

from collections.abc import Sequence
from typing import Any, Literal

from compaction import protocol

Form = Literal["em-dash", "hyphen", "legacy", "unknown"]
Layout = Literal["standalone", "summary-first", "prior-first"]

_DIRECTIVE = (
    f"{protocol.LONG_DIRECTIVE_START} into the summary below. Take it as background, not as a request, and answer only the"
    f" newest message after it. Files and settings may already show the work described here, so {protocol.LONG_DIRECTIVE_END}"
)


def text(form: Form, summary: str) -> str:
    """A handoff around `summary`. The form "unknown" has no marker at all: only the row's flag tells what it is."""
    if form == "unknown":
        return summary
    if form == "legacy":
        return protocol.handoff_text(summary)
    header = protocol.CURRENT_HEADER if form == "em-dash" else protocol.HYPHEN_HEADER
    return f"{header} {_DIRECTIVE}\n{summary}\n\n{protocol.END_MARKER}"


def merged(layout: Layout, handoff: str, live: Any) -> Any:
    """A handoff and the live content of the same row, text or a list of parts, as one content."""
    if layout == "summary-first":
        before, after = f"{handoff}\n\n", ""
    else:
        before, after = f"{protocol.PRIOR_HEADER}\n", f"\n\n{protocol.MERGE_DELIMITER}\n\n{handoff}"
    if not isinstance(live, list):
        return f"{before}{live or ''}{after}"
    front, back = {"type": "text", "text": before}, {"type": "text", "text": after}
    return [front, *live, back] if after else [front, *live]


def role(head: Sequence[dict[str, Any]], tail: Sequence[dict[str, Any]]) -> str:
    """The role of a standalone handoff between two runs of rows: the one neither neighbour has.

    Raises ValueError where there is none, where the tail starts within a tool group, and where the handoff would lead
    as an assistant message: a living agent cuts nowhere there.
    """
    neighbours = {rows[at]["role"] for rows, at in ((head, -1), (tail, 0)) if rows}
    found = "assistant" if "user" in neighbours else "user"
    if found in neighbours or "tool" in neighbours or (not head and found == "assistant"):
        raise ValueError(f"no handoff fits between {neighbours}")
    return found


def stub(tool: str, result: str) -> str:
    """What an agent leaves of an old tool result."""
    return f"[{tool}] ({len(result)} chars result)"
