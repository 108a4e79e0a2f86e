"""One export: a name for the file, its type, and its bytes in pieces."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryFile
from typing import IO, Any, Literal, Protocol, TypeVar

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from compaction import redaction

from .data import JsonExport, JsonLinesExport
from .facts import ExportFacts, facts_of
from .markdown import MarkdownExport
from .page import Page
from .source import ExportedMessage, ExportOutcome, ExportPlan, ExportWindow, View, plan, read, windows

Format = Literal["md", "html", "json", "jsonl"]
CONTENT_TYPES: dict[Format, str] = {
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
}
CHUNK = 256 * 1024  # characters written, bytes read
_large = threading.Lock()
LONGEST_NAME, LONGEST_ID = 120, 100  # bytes in the name of a file, for which most file systems have room for 255


Item = TypeVar("Item")  # the item that is read and written: a message, or a row with two sides
Written = TypeVar("Written", contravariant=True)


class ExportFormat(Protocol[Written]):
    """One format: the part before the messages, a message, and the part after them."""

    def start(self) -> str: ...

    def message(self, message: Written, /) -> str: ...

    def end(self, outcome: ExportOutcome) -> str: ...


WRITERS: dict[Format, Callable[[ExportPlan, ExportFacts], ExportFormat[ExportedMessage]]] = {
    "md": MarkdownExport,
    "html": Page,
    "json": JsonExport,
    "jsonl": JsonLinesExport,
}


@dataclass(frozen=True, slots=True)
class Export:
    """A file to be written. `chunks` can be read once; `outcome` is complete after they were read."""

    filename: str
    content_type: str
    chunks: Iterator[bytes]
    outcome: ExportOutcome


def export(store: str, session_id: str, format: Format, view: View = "history", *, redact: bool = True) -> Export:
    """A session as a file. Raises NotFound or StoreUnavailable; a later failure ends the file with a note."""
    planned, outcome = plan(store, session_id, view), ExportOutcome()

    def put(kind: str) -> str:
        outcome.redacted += 1
        return redaction.label(kind)

    hide = put if redact else None
    facts = facts_of(planned, hide)
    writer = WRITERS[format](planned, facts)
    chunks = written(windows(planned), lambda window: read(planned, window, outcome, hide), writer, outcome)
    return Export(f"{file_name(facts.name, facts.id)}.{format}", CONTENT_TYPES[format], chunks, outcome)


def written(
    of: Iterable[ExportWindow],
    read: Callable[[ExportWindow], list[Item]],
    writer: ExportFormat[Item],
    outcome: ExportOutcome,
) -> Iterator[bytes]:
    """A file in pieces: the writer's text for the items of each window, which are read when needed."""
    yield _encoded(writer.start())
    for window in of:
        if window.is_large:
            with TemporaryFile() as file:
                with _large:
                    _write_large(read(window), writer, file)
                file.seek(0)
                yield from iter(partial(file.read, CHUNK), b"")
        elif items := read(window):
            yield _encoded("".join(map(writer.message, items)))
        if outcome.broken_off:
            break
    yield _encoded(writer.end(outcome))


def _write_large(items: Iterable[Item], writer: ExportFormat[Item], file: IO[bytes]) -> None:
    """Write one item at a time in this process, into a file: a message of 10 MB needs many times its size while it is
    written, and a slow download must not keep any of that in memory.
    """
    for item in items:
        text = writer.message(item)
        for at in range(0, len(text), CHUNK):
            file.write(_encoded(text[at : at + CHUNK]))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def file_name(name: str, session_id: str) -> str:
    """The session's name in characters that every file system accepts, and its id, which is unique in a store."""
    parts = ("" if name == session_id else _safe(name, LONGEST_NAME), _safe(session_id, LONGEST_ID))
    return " ".join(filter(None, parts)) or "session"


def _safe(text: str, longest: int) -> str:
    """Letters, numbers and a few signs; white space and all other characters become single spaces. It does not begin
    like an option.
    """
    characters = (c if c in "-_" or unicodedata.category(c)[0] in "LNM" else " " for c in text[:1000])
    folded = " ".join("".join(characters).split()).lstrip("- ")
    return folded.encode()[:longest].decode("utf-8", "ignore").rstrip()


def download(exported: Export) -> StreamingHttpResponse:
    """The file as a response that a browser saves and never opens."""
    headers: dict[str, Any] = {
        "Content-Disposition": content_disposition_header(True, exported.filename),
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return StreamingHttpResponse(exported.chunks, content_type=exported.content_type, headers=headers)
