"""The summariser that needs no model: it quotes what people want and said, what was found and done, and what is open.

Theory: tool output fills most of a context; the words of people and agent are a small part of it and are kept, complete
while there is room (`fill` has the order). Nothing is rephrased. An earlier summary is read back by its headings, and
its lines are carried on.
"""

from __future__ import annotations

from ..llm.answers import OPEN_ENDS
from ..llm.digest import SummaryRequest
from ..text import fences
from .fill import Draft

__all__ = ["summarize"]
_NOTHING = "(nothing was said)"


def summarize(request: SummaryRequest) -> str:
    """A structured summary of the request's messages and previous summary, at most `budget_tokens` by its counter.

    Deterministic; sections are in English, everything else in the words of the transcript; secrets are redacted.
    """
    draft = Draft(request)
    draft.fill()
    lines = draft.text().rstrip(" >\n#" + "".join(OPEN_ENDS)).splitlines()
    if fences.open_behind(line.strip() for line in lines):  # a fence that somebody's words leave open ends no summary
        lines = [line for line in lines if not line.strip().startswith(("```", "~~~"))]
    return "\n".join(lines) or _NOTHING[: max(request.budget_tokens, 1)]
