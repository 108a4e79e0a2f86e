"""Many sessions at once: compacted each as *Compact now* would, or exported into one zip file."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from tempfile import TemporaryFile
from typing import IO, cast

from django.http import FileResponse, HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from viewer import exports
from viewer.catalog import lines
from viewer.catalog.models import SessionIndex
from viewer.exports import CONTENT_TYPES, Format
from viewer.pages.http import page, shows_refusals
from viewer.pages.parts.compact_panel import usual_summarizer
from viewer.pages.redaction import redacts
from viewer.pages.session.export import FORMATS
from viewer.rendering import formats
from viewer.rendering.texts import line
from viewer.runs import service
from viewer.runs.models import CompactionSetting
from viewer.runs.planning import Options
from viewer.runs.providers.summarizers import summarizers
from viewer.stores.errors import StoreError
from viewer.stores.registry import get_store, splits
from viewer.web.session_urls import SessionUrls
from viewer.web.url_segments import segment

from .chosen import chosen
from .lines import named

AT_ONCE = 20  # sessions that are compacted together; each makes a run
NOT_EXPORTED = "not exported.txt"


@dataclass(frozen=True, slots=True)
class ChosenSession:
    """One of the chosen sessions, `split` when its store is set to split. After the start, `run` is the number of its
    run, or `problem` why there is none.
    """

    key: str
    place: SessionUrls
    name: str
    tokens: str
    summarizer: str
    split: bool = False
    run: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class BulkActionPage:
    """What is asked before, and said after: `done` that the runs were started. `back` is the address of the list."""

    sessions: tuple[ChosenSession, ...]
    done: bool
    formats: tuple[tuple[Format, str, str], ...] = ()

    @property
    def splits(self) -> bool:
        return any(each.split for each in self.sessions)


@require_POST
@shows_refusals
def compact(request: HttpRequest) -> HttpResponse:
    """Ask, with the sessions' names; confirmed, start a run for each that goes through by itself."""
    keys = chosen(request)
    if len(keys) > AT_ONCE:
        raise StoreError(f"At most {AT_ONCE} sessions are compacted together; {len(keys):,} were chosen.")
    confirmed = "confirm" in request.POST
    found = [_compacted(each) if confirmed else each for each in _chosen(keys, redacting=redacts(request))]
    return page(request, "sessions/compact_many.html", BulkActionPage(tuple(found), confirmed))


def _compacted(each: ChosenSession) -> ChosenSession:
    if each.problem:
        return each
    try:
        store = get_store(each.place.store)
        run = service.start(store, each.place.session, Options(summarizer=usual_summarizer(store)), apply=True)
    except StoreError as problem:
        return replace(each, problem=problem.message)
    return replace(each, run=run.pk)


def _chosen(keys: Sequence[tuple[str, str]], *, redacting: bool) -> list[ChosenSession]:
    """The sessions in the order they were chosen, with what the catalog says of them."""
    usable = {each.name: each.label for each in summarizers().values()}
    known: dict[tuple[str, str], SessionIndex] = {}
    problems: dict[str, str] = {}
    by: dict[str, str] = {}
    split = set(CompactionSetting.objects.filter(mode="split").values_list("store", flat=True))
    for name in dict.fromkeys(store for store, _ in keys):
        try:
            store = get_store(name)
            known |= {
                (name, each.session_id): each for each in lines.of_sessions(store, [i for n, i in keys if n == name])
            }
            by[name] = usable[usual_summarizer(store)]
            if not splits(store):
                split.discard(name)
        except StoreError as problem:
            problems[name] = problem.message
    found = [_session(key, known.get(key), by, problems.get(key[0], ""), redacting) for key in keys]
    return [replace(each, split=each.place.store in split) for each in found]


def _session(
    key: tuple[str, str], found: SessionIndex | None, by: dict[str, str], problem: str, redacting: bool
) -> ChosenSession:
    store, session_id = key
    names = named([found], redacting=redacting) if found else {}
    tokens = formats.of_window(found.tokens, found.window) if found and found.tokens is not None else ""
    missing = "" if found else "There is no such session any more."
    return ChosenSession(
        key=f"{segment(store)}/{segment(session_id)}",
        place=SessionUrls(store, session_id),
        name=names.get(session_id) or line(session_id, 80),
        tokens=tokens,
        summarizer=by.get(store, ""),
        problem=problem or missing,
    )


@require_POST
@shows_refusals
def export(request: HttpRequest) -> HttpResponse:
    """Ask for the format; with one, all chosen sessions as files of one zip file."""
    keys, format = chosen(request), request.POST.get("format", "")
    if format not in CONTENT_TYPES:
        found = _chosen(keys, redacting=redacts(request))
        return page(request, "sessions/export_many.html", BulkActionPage(tuple(found), False, FORMATS))
    file = TemporaryFile()  # noqa: SIM115  # closed by the answer, when it is sent
    _zip(keys, format, file, redact="redact" in request.POST)
    file.seek(0)
    answer = FileResponse(file, as_attachment=True, filename="sessions.zip", content_type="application/zip")
    answer["Cache-Control"] = "no-store"
    return cast(HttpResponse, answer)  # pages' wrappers know of one kind of answer


def _zip(keys: Sequence[tuple[str, str]], format: Format, file: IO[bytes], *, redact: bool) -> None:
    """Write the sessions one behind the other; of one that cannot be read the zip file says why."""
    problems = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for store, session_id in keys:
            try:
                made = exports.export(store, session_id, format, redact=redact)
            except StoreError as problem:
                problems.append(f"{store}/{session_id}: {problem.message}")
                continue
            with archive.open(f"{store}/{made.filename}", "w", force_zip64=True) as entry:
                for chunk in made.chunks:
                    entry.write(chunk)
        if problems:
            archive.writestr(NOT_EXPORTED, "\n".join(problems).encode("utf-8", "replace"))
