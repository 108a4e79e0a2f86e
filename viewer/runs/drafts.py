"""The draft of a run: what somebody has made of a candidate's summary and not applied yet."""

from __future__ import annotations

from typing import Any

from viewer.rendering.texts import clean

from .errors import WrongStatus
from .models import Run
from .plain import plain

HEADING = "Kept exactly:"
LISTS = ("lost", "lost_statements")  # of a run's report


def keep(run: Run, text: str) -> None:
    """Keep `text` as the run's draft; the summary itself, or no text at all, is no draft. Raises WrongStatus."""
    text = "" if text.strip() == run.summary.strip() else plain(text)
    if not Run.objects.filter(pk=run.pk, status="ready").update(draft=text):
        run.refresh_from_db()
        raise WrongStatus(f"Run {run.pk} is {run.status}; only the summary of one that is ready can be edited.")
    run.draft = text


def with_lost(run: Run, text: str, name: str) -> str:
    """`text` with the line of a lost detail behind it, under a heading of its own. `name` is "lost:3": the list of the
    report and the place in it; one that is not there adds nothing.
    """
    found = line_of(run.report, name)
    if not found or holds(text, found):
        return text
    heading = "" if HEADING in text.splitlines() else f"\n\n{HEADING}\n"
    return f"{text.rstrip()}{heading}\n- {found}"


def line_of(report: dict[str, Any], name: str) -> str:
    """The line in which a lost detail stood, the detail itself where nothing else stood there; "" for no detail."""
    which, _, at = name.partition(":")
    found = report.get(which, ()) if which in LISTS else ()
    if not (at.isascii() and at.isdigit() and len(at) < 6 and int(at) < len(found)):
        return ""
    one = found[int(at)]
    return clean(" ".join(str(one.get("line") or one["text"]).split())).removeprefix("- ")


def holds(text: str, detail: str) -> bool:
    """Whether a line of the text was put in for this detail."""
    return f"- {detail}" in text.splitlines()
