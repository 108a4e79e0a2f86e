"""The draft of a run: what somebody has made of a candidate's summary and not applied yet."""

from __future__ import annotations

from typing import Any

from viewer.rendering.texts import clean
from viewer.stores.errors import StoreError
from viewer.stores.message import message_of
from viewer.stores.registry import get_store, open_store

from .errors import WrongStatus
from .models import Run
from .plain import plain

HEADING = "Kept exactly:"
HEADING_LENGTH = 160
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
    report and the place in it; one that is not there adds nothing. Before the line comes the heading it stood under in
    its message: without that, a row of a table tells nobody what it is about.
    """
    found = line_of(run.report, name)
    if not found or holds(text, found):
        return text
    heading = "" if HEADING in text.splitlines() else f"\n\n{HEADING}\n"
    above = _heading_above(run, _noted(run.report, name))
    return f"{text.rstrip()}{heading}\n- {above}{found}"


def _heading_above(run: Run, one: dict[str, Any]) -> str:
    """The last heading, or line that ends with a colon, above a lost detail in its message, as "Warehouse 3: "."""
    try:
        with open_store(get_store(run.store)) as reader:
            row = reader.messages(run.session_id, [one["message"]]).get(one["message"]) if one["message"] else None
    except StoreError:
        return ""
    content = message_of(row).get("content") if row else None
    text = content if isinstance(content, str) else ""
    above = text[: max(text.find(one.get("line") or one["text"]), 0)].splitlines()
    found = next((each for each in reversed(above) if each.startswith("#") or each.rstrip().endswith(":")), "")
    named = clean(" ".join(found.strip(" #*:").split()))[:HEADING_LENGTH]
    return f"{named}: " if named else ""


def line_of(report: dict[str, Any], name: str) -> str:
    """The line in which a lost detail stood, the detail itself where nothing else stood there; "" for no detail."""
    one = _noted(report, name)
    return clean(" ".join(str(one.get("line") or one["text"]).split())).removeprefix("- ") if one else ""


def _noted(report: dict[str, Any], name: str) -> dict[str, Any]:
    """The lost detail of this name as the report has it, {} for none."""
    which, _, at = name.partition(":")
    found = report.get(which, ()) if which in LISTS else ()
    known = at.isascii() and at.isdigit() and len(at) < 6 and int(at) < len(found)
    return found[int(at)] if known else {}


def holds(text: str, detail: str) -> bool:
    """Whether a line of the text was put in for this detail."""
    put_in = text.partition(f"\n{HEADING}\n")[2].splitlines()
    return any(line == f"- {detail}" or (line.startswith("- ") and line.endswith(f": {detail}")) for line in put_in)
