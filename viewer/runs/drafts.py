"""The draft of a run: a person's edit of the candidate's summary that is not applied yet."""

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
    """Save `text` as the run's draft. An empty text, or the summary itself, deletes the draft. Raises WrongStatus."""
    text = "" if text.strip() == run.summary.strip() else plain(text)
    if not Run.objects.filter(pk=run.pk, status="ready").update(draft=text):
        run.refresh_from_db()
        raise WrongStatus(f"Run {run.pk} is {run.status}; only the summary of a run that is ready can be edited.")
    run.draft = text


def with_lost(run: Run, text: str, name: str) -> str:
    """`text` with the line of a lost detail added at the end, under the heading `HEADING`. `name` is "lost:3": a list
    of the report and an index in it; an unknown name adds nothing. The line begins with the heading above it in its
    message: without that, a row of a table does not say what it is about.
    """
    line = line_of(run.report, name)
    if not line or holds(text, line):
        return text
    heading = "" if HEADING in text.splitlines() else f"\n\n{HEADING}\n"
    above = _heading_above(run, _lost_detail(run.report, name))
    return f"{text.rstrip()}{heading}\n- {above}{line}"


def _heading_above(run: Run, detail: dict[str, Any]) -> str:
    """The last heading, or line that ends with a colon, above a lost detail in its message, as "Warehouse 3: "."""
    try:
        with open_store(get_store(run.store)) as reader:
            message_id = detail["message"]
            row = reader.messages(run.session_id, [message_id]).get(message_id) if message_id else None
    except StoreError:
        return ""
    content = message_of(row).get("content") if row else None
    text = content if isinstance(content, str) else ""
    above = text[: max(text.find(detail.get("line") or detail["text"]), 0)].splitlines()
    heading = next((each for each in reversed(above) if each.startswith("#") or each.rstrip().endswith(":")), "")
    title = clean(" ".join(heading.strip(" #*:").split()))[:HEADING_LENGTH]
    return f"{title}: " if title else ""


def line_of(report: dict[str, Any], name: str) -> str:
    """The line that had a lost detail, or the detail itself if the line had nothing else; "" for an unknown name."""
    detail = _lost_detail(report, name)
    return clean(" ".join(str(detail.get("line") or detail["text"]).split())).removeprefix("- ") if detail else ""


def _lost_detail(report: dict[str, Any], name: str) -> dict[str, Any]:
    """The lost detail of this name in the report, {} if there is none."""
    list_name, _, at = name.partition(":")
    details = report.get(list_name, ()) if list_name in LISTS else ()
    exists = at.isascii() and at.isdigit() and len(at) < 6 and int(at) < len(details)
    return details[int(at)] if exists else {}


def holds(text: str, detail: str) -> bool:
    """Whether a line of the text was added for this detail."""
    added = text.partition(f"\n{HEADING}\n")[2].splitlines()
    return any(line == f"- {detail}" or (line.startswith("- ") and line.endswith(f": {detail}")) for line in added)
