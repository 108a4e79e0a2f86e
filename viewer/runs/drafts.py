"""The draft of a run: a person's edit of the candidate's summary that is not applied yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viewer.rendering.texts import clean

from .detail_loss import lost_detail, ranked
from .errors import WrongStatus
from .models import Run
from .plain import plain

HEADING = "Kept exactly:"


def keep(run: Run, text: str) -> None:
    """Save `text` as the run's draft. An empty text, or the summary itself, deletes the draft. Raises WrongStatus."""
    text = "" if text.strip() == run.summary.strip() else plain(text)
    if not Run.objects.filter(pk=run.pk, status="ready").update(draft=text):
        run.refresh_from_db()
        raise WrongStatus(f"Run {run.pk} is {run.status}; only the summary of a run that is ready can be edited.")
    run.draft = text


def with_lost(run: Run, text: str, names: str) -> str:
    """`text` with lines of lost things added at the end, under the heading `HEADING`. `names` are parted by spaces; an
    unknown one adds nothing, nor does a line that is there already.
    """
    there = _added(text)
    lines = [line for name in names.split() if (line := line_of(run.report, name)) not in there and line]
    if not lines:
        return text
    heading = [] if HEADING in text.splitlines() else ["", HEADING]
    return "\n".join([text.rstrip(), *heading, *(f"- {line}" for line in dict.fromkeys(lines))])


def line_of(report: Mapping[str, Any], name: str) -> str:
    """The line of a lost thing as it is put into a summary, "" for an unknown name. It begins with the heading above it
    in its message: without that, a row of a table does not say what it is about.
    """
    detail = lost_detail(report, name)
    if not detail:
        return ""
    line, above = _flat(detail.get("line") or detail["text"]).removeprefix("- "), _flat(detail.get("above", ""))
    return f"{above}: {line}" if above else line


def put_in(report: Mapping[str, Any], text: str) -> set[str]:
    """The names of the lost things whose lines were put into a text."""
    added = _added(text)
    return {name for name in ranked(report) if line_of(report, name) in added} if added else set()


def parted(report: Mapping[str, Any], text: str) -> tuple[str, list[str], str]:
    """The text before the lines that were put into it, these lines from first to last, and the text after them."""
    put = {f"- {line_of(report, name)}" for name in put_in(report, text)}
    lines = text.splitlines()
    heading = lines.index(HEADING) if HEADING in lines else 0
    places = [at for at, line in enumerate(lines) if at > heading and line in put]
    start, end = (places[0], places[-1] + 1) if places else (len(lines), len(lines))
    return "\n".join(lines[:start]), lines[start:end], "\n".join(lines[end:])


def is_only_put(run: Run, text: str) -> bool:
    """Whether a text has the lines of the summary and of what was put in, and no others."""
    whole = with_lost(run, clean(run.summary), " ".join(put_in(run.report, text)))
    mine, theirs = (sorted(filter(None, map(str.strip, each.splitlines()))) for each in (text, whole))
    return mine == theirs


def _flat(text: Any) -> str:
    return clean(" ".join(str(text).split()))


def _added(text: str) -> set[str]:
    """The lines below the heading `HEADING`."""
    lines = text.partition(f"\n{HEADING}\n")[2].splitlines()
    return {line.removeprefix("- ") for line in lines if line.startswith("- ")}
