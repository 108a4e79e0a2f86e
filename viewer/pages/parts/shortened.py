"""Tool output before and after it is shortened, as a run without a summary would write it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.urls import reverse

from compaction import messages as engine
from compaction.redaction import redact_shown
from viewer.rendering.texts import clean, line
from viewer.runs.models import Run
from viewer.stores.changes import ChangeMessage, edits_from_json
from viewer.stores.message import weighed
from viewer.stores.registry import get_store, open_store
from viewer.web.session_urls import SessionUrls

from .opened import OpenSession, open_session

FIRST_LINES, LINE_CHARS = 3, 160  # of an output that are shown
READ_CHARS = 20_000  # of an output in which its first lines are looked for
SHOWN, LOOKED_AT = 3, 12  # outputs that a run's card shows; messages in which they are looked for
LISTED = 50  # messages of a page


@dataclass(frozen=True, slots=True)
class ShortenedOutput:
    """A tool's output: its message, with the `number` of its place in History (0 if it is not there), how many lines
    and characters it has, its `first` lines, and the line it becomes. A message of which only arguments of calls get
    shorter has none of these.
    """

    id: int
    number: int
    lines: int = 0
    characters: int = 0
    first: str = ""
    becomes: str = ""


@dataclass(frozen=True, slots=True)
class ShortenedOutputs:
    """Some outputs of the `total` messages that get shorter, the newest first, and the address of further ones."""

    place: SessionUrls
    total: int
    items: Sequence[ShortenedOutput]
    next: str
    left: int = 0


def examples(run: Run, *, redacting: bool) -> ShortenedOutputs:
    """The newest outputs that get shorter, for the run's card. Raises StoreError."""
    outputs = shortened(run, 0, LOOKED_AT, redacting=redacting)
    return ShortenedOutputs(outputs.place, outputs.total, [each for each in outputs.items if each.becomes][:SHOWN], "")


def shortened(run: Run, start: int, most: int = LISTED, *, redacting: bool) -> ShortenedOutputs:
    """The outputs of these messages, from position `start` on. Raises StoreError."""
    edits = [each for each in edits_from_json(run.edits) if isinstance(each, ChangeMessage) and each.why == "shortened"]
    edits.reverse()
    with open_store(get_store(run.store)) as reader:
        opened = open_session(reader, run.session_id, redacting=redacting)
        items = list(_outputs(opened, edits[start : start + most]))
    left = max(0, len(edits) - start - most)
    more = f"{reverse('pages:shortened', args=[run.pk])}?from={start + most}" if left else ""
    return ShortenedOutputs(opened.urls, len(edits), items, more, left)


def _outputs(opened: OpenSession, edits: Sequence[ChangeMessage]) -> Iterator[ShortenedOutput]:
    rows = opened.reader.messages(opened.session.id, [edit.id for edit in edits])
    for edit in edits:
        if edit.id not in rows:
            continue
        message = weighed(rows[edit.id])
        patched = engine.patched(message, dict(edit.changes))
        # The agent may have given the row another number of results since the plan.
        results = zip(engine.results(message), engine.results(patched), strict=False)
        changed = [(old, new) for (_, old), (_, new) in results if old != new]
        shown = ShortenedOutput(edit.id, opened.number_of(edit.id))
        for old, new in changed:
            yield _with_texts(shown, old, new, opened.redacting)
        if not changed:
            yield shown


def _with_texts(shown: ShortenedOutput, old: str, new: str, redacting: bool) -> ShortenedOutput:
    lines, head = old.count("\n") + 1, old[:READ_CHARS]
    if redacting:
        head, new = redact_shown(head), redact_shown(new)
    first = "\n".join(map(_beginning, head.strip("\n").split("\n", FIRST_LINES)[:FIRST_LINES]))
    becomes = line(new, 4 * LINE_CHARS)
    return replace(shown, lines=lines, characters=len(old), first=first, becomes=becomes)


def _beginning(text: str) -> str:
    return clean(text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]}…").rstrip()
