"""The summariser that needs no model: sections of lines taken from the transcript, within a budget of tokens.

Theory: the latest request and what people laid down come first, word for word, then the plan. Room is set aside for
exact names; what was done, a line for each thing, has most of the rest. Names that stand in a line already, or in the
messages kept beside the summary, are not listed. While a quarter of the budget is free, lines are clipped less. An
earlier summary is read back by its headings: its lines stand before the new ones and last as long as there is room.
"""

from __future__ import annotations

from .draft import SummaryDraft
from .llm.answers import OPEN_ENDS
from .llm.digest import SummaryRequest
from .material import Material
from .policy import SMALLEST_BODY_TOKENS
from .sections import NOTHING, TASK, fitting

MOST_HEADINGS = 0.6  # of the budget: where the counts alone would take more, only task and constraints are written
FREE = 0.25  # of the budget: while as much is free, lines are clipped less
WIDER = (2, 4, 8, 16)  # times as long as a line is otherwise


def summarize(request: SummaryRequest) -> str:
    """A structured summary of the request's messages and previous summary, at most `budget_tokens` by its counter.

    Deterministic; sections in English, everything else in the words of the transcript; secrets are redacted.
    """
    material = Material(request)
    if request.count(f"{material.head}\n\n## {TASK}\n") > request.budget_tokens * MOST_HEADINGS:
        return _brief(SummaryDraft(material))
    text = _filled(SummaryDraft(material))
    for wide in WIDER:
        if request.count(text) > request.budget_tokens * (1 - FREE):
            break
        wider = _filled(SummaryDraft(material, wide))
        if wider == text:
            break
        text = wider
    return _ended(text)


def _filled(draft: SummaryDraft) -> str:
    draft.fill()
    while (over := draft.over()) > 0 and draft.shrink(over):
        pass
    return draft.text()


def _brief(draft: SummaryDraft) -> str:
    """The task and the constraints alone, for a budget that holds little more than headings."""
    count, budget = draft.material.request.count, draft.material.request.budget_tokens
    heading = f"## {TASK}\n" if budget >= SMALLEST_BODY_TOKENS else ""
    first = next((line.text for line in draft.lines[TASK].offered), f"> {NOTHING}")
    text = fitting(f"{heading}{first}", budget, count)
    for n, line in enumerate(draft.lines["Constraints"].offered):
        longer = text + ("\n" if n else "\n\n## Constraints\n") + line.text
        if count(longer) > budget:
            break
        text = longer
    return _ended(text)


def _ended(text: str) -> str:
    """The text without an end that counts as cut off."""
    return text.rstrip(" >\n#" + "".join(OPEN_ENDS)) or NOTHING[1]
