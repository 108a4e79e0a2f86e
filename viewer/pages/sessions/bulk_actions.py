"""Actions on the sessions ticked in the list: they are put into the archive (the agent's own flag) or taken out,
compacted each as by *Compact now*, or exported into one zip file.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from tempfile import TemporaryFile
from typing import IO, Any, cast

from django.http import FileResponse, HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from viewer import exports
from viewer.catalog import lines, sync
from viewer.catalog.models import SessionIndex
from viewer.exports import CONTENT_TYPES, Format
from viewer.pages.http import is_fragment, page, shows_refusals
from viewer.pages.parts.compact_panel import usual_summarizer
from viewer.pages.redaction import redacts
from viewer.pages.session.export import FORMATS
from viewer.rendering.texts import line
from viewer.runs import service
from viewer.runs.planning import Options, compacting, mode_of, setting_of
from viewer.runs.providers.summarizers import summarizers
from viewer.stores.base import Store
from viewer.stores.errors import NotFound, StoreError
from viewer.stores.refused import reason_of
from viewer.stores.registry import get_store, open_store, writer_of
from viewer.web.session_urls import SessionUrls
from viewer.web.url_segments import name_in, segment

from .lines import named

MOST = 500  # sessions at once
AT_ONCE = 20  # sessions that are compacted together; each makes a run
NOT_EXPORTED = "not exported.txt"


@dataclass(frozen=True, slots=True)
class ChosenSession:
    """One of the chosen sessions: its `row` of the catalog, None if it does not exist any more; `split` if it will be
    split. After the start, `run` is the number of its run, or `problem` why there is none.
    """

    key: str
    place: SessionUrls
    row: SessionIndex | None
    name: str
    summarizer: str
    split: bool = False
    run: int | None = None
    problem: str = ""


def chosen(request: HttpRequest) -> list[tuple[str, str]]:
    """(name of the store, id) of each, once, in order. Raises StoreError for more than MOST."""
    keys = list(dict.fromkeys(request.POST.getlist("session")))
    if len(keys) > MOST:
        raise StoreError(f"At most {MOST} sessions can be chosen at once; {len(keys):,} were.")
    pairs = []
    for key in keys:
        store, _, session_id = key.partition("/")
        with suppress(ValueError):  # invalid, so it names no session
            store, session_id = name_in(store), name_in(session_id)
        pairs.append((store, session_id))
    return pairs


def _back(request: HttpRequest) -> str:
    """The query of the list that the form is on: never a place elsewhere."""
    back = request.POST.get("back", "")
    return back if back.startswith("?") else ""


# -- the archive -------------------------------------------------------------------------------------------------------


@require_POST
@shows_refusals
def archive(request: HttpRequest) -> HttpResponse:
    archived = request.POST.get("archived") != "no"
    data = {
        **_archived(chosen(request), archived, redacting=redacts(request)),
        "archived": archived,
        "back": _back(request),
    }
    if "unlisted" in request.POST:  # sent from the receipt: their lines are no longer on the page
        data["changed"] = ()
    return page(request, "sessions/_archived.html" if is_fragment(request) else "sessions/archived.html", data)


def _archived(keys: Sequence[tuple[str, str]], archived: bool, *, redacting: bool) -> dict[str, Any]:
    """The result: the `keys` of the sessions that changed, the rows of those that were listed (`changed`), and the
    names of those that did not change, by reason (`refused`).
    """
    by_store: dict[str, list[str]] = {}
    for store, session_id in keys:
        by_store.setdefault(store, []).append(session_id)
    done: list[str] = []
    rows: list[SessionIndex] = []
    refused: list[tuple[str, list[str]]] = []
    for store, ids in by_store.items():
        changed, reasons, changed_rows = _of_store(store, ids, archived, redacting=redacting)
        done += [f"{segment(store)}/{segment(session_id)}" for session_id in changed]
        rows += changed_rows
        refused += reasons.items()
    return {"keys": done, "changed": rows, "refused": refused}


def _of_store(
    name: str, ids: Sequence[str], archived: bool, *, redacting: bool
) -> tuple[list[str], dict[str, list[str]], list[SessionIndex]]:
    """The sessions of one store that were changed, the names of the others by reason, and the rows of
    the changed ones.
    """
    try:
        store = get_store(name)
        rows = {each.session_id: each for each in lines.of_sessions(store, ids)}
    except StoreError as problem:
        return [], {problem.message: [line(each, 80) for each in ids]}, []
    names = named(list(rows.values()), redacting=redacting)
    changed: list[str] = []
    reasons: dict[str, list[str]] = {}
    for session_id in ids:
        try:
            writer_of(store).set_archived(session_id, archived)
            changed.append(session_id)
        except StoreError as problem:
            reasons.setdefault(problem.message, []).append(names.get(session_id) or line(session_id, 80))
    sync.bring(store, ids)
    return changed, reasons, [rows[session_id] for session_id in changed if session_id in rows]


# -- compacting --------------------------------------------------------------------------------------------------------


@require_POST
@shows_refusals
def compact(request: HttpRequest) -> HttpResponse:
    """Ask, with the sessions' names, those that cannot be compacted apart; once confirmed, start a run for each of the
    others that is applied directly.
    """
    keys = chosen(request)
    if len(keys) > AT_ONCE:
        raise StoreError(f"At most {AT_ONCE} sessions are compacted together; {len(keys):,} were chosen.")
    confirmed = "confirm" in request.POST
    ticked = _chosen(keys, redacting=redacts(request), to_compact=True)
    sessions = [_compacted(each) if confirmed else each for each in ticked]
    able = [each for each in sessions if not each.problem]
    data = {
        "able": able,
        "refused": sorted((each for each in sessions if each.problem), key=lambda each: each.problem),
        "done": confirmed,
        "splits": any(each.split for each in able),
        "back": _back(request),
    }
    return page(request, "sessions/compact_many.html", data)


def _compacted(each: ChosenSession) -> ChosenSession:
    if each.problem:
        return each
    try:
        store = get_store(each.place.store)
        run = service.start(store, each.place.session, Options(summarizer=usual_summarizer(store)), apply=True)
    except StoreError as problem:
        return replace(each, problem=problem.message)
    return replace(each, run=run.pk, split=run.mode == "split")


def _chosen(keys: Sequence[tuple[str, str]], *, redacting: bool, to_compact: bool = False) -> list[ChosenSession]:
    """The sessions in the order of the form, with their data from the catalog, and how each is compacted."""
    usable = {each.name: each.label for each in summarizers().values()}
    rows: dict[tuple[str, str], SessionIndex] = {}
    problems: dict[str, str] = {}
    by: dict[str, str] = {}
    split: set[tuple[str, str]] = set()
    refused: dict[tuple[str, str], str] = {}
    for name in dict.fromkeys(store for store, _ in keys):
        try:
            store = get_store(name)
            rows |= {
                (name, each.session_id): each for each in lines.of_sessions(store, [i for n, i in keys if n == name])
            }
            by[name] = usable[usual_summarizer(store)]
            if to_compact:
                for session_id, mode, reason in _ways(store, [i for n, i in keys if n == name]):
                    if mode == "split":
                        split.add((name, session_id))
                    if reason:
                        refused[name, session_id] = reason
        except StoreError as problem:
            problems[name] = problem.message
    problem_of = {key: problems.get(key[0]) or refused.get(key, "") for key in keys}
    sessions = [_session(key, rows.get(key), by, problem_of[key], redacting) for key in keys]
    return [replace(each, split=(each.place.store, each.place.session) in split) for each in sessions]


def _ways(store: Store, session_ids: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Of each session its id, the mode in which it will be compacted, and why it cannot be; "" if it can."""
    setting = setting_of(store)
    with open_store(store, listed=True) as reader:
        for session_id in session_ids:
            with suppress(NotFound):  # it has no row in the catalog either, which is a problem of its own
                mode, _ = mode_of(reader, session_id, Options(), setting)
                yield session_id, mode, reason_of(reader.refusal(session_id, compacting(mode)))


def _session(
    key: tuple[str, str], row: SessionIndex | None, by: dict[str, str], problem: str, redacting: bool
) -> ChosenSession:
    store, session_id = key
    names = named([row], redacting=redacting) if row else {}
    missing = "" if row else "There is no such session any more."
    return ChosenSession(
        key=f"{segment(store)}/{segment(session_id)}",
        place=SessionUrls(store, session_id),
        row=row,
        name=names.get(session_id) or line(session_id, 80),
        summarizer=by.get(store, ""),
        problem=problem or missing,
    )


# -- exporting ---------------------------------------------------------------------------------------------------------


@require_POST
@shows_refusals
def export(request: HttpRequest) -> HttpResponse:
    """Ask for the format; with one, all chosen sessions as files of one zip file."""
    keys, format = chosen(request), request.POST.get("format", "")
    if format not in CONTENT_TYPES:
        sessions = _chosen(keys, redacting=redacts(request))
        data = {"sessions": sessions, "formats": FORMATS, "back": _back(request)}
        return page(request, "sessions/export_many.html", data)
    file = TemporaryFile()  # noqa: SIM115  # closed by the answer, when it is sent
    _zip(keys, format, file, redact="redact" in request.POST)
    file.seek(0)
    answer = FileResponse(file, as_attachment=True, filename="sessions.zip", content_type="application/zip")
    answer["Cache-Control"] = "no-store"
    return cast(HttpResponse, answer)  # pages' wrappers know of one kind of answer


def _zip(keys: Sequence[tuple[str, str]], format: Format, file: IO[bytes], *, redact: bool) -> None:
    """Write the sessions one after another; if one cannot be read, the zip file says why."""
    problems = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for store, session_id in keys:
            try:
                result = exports.export(store, session_id, format, redact=redact)
            except StoreError as problem:
                problems.append(f"{store}/{session_id}: {problem.message}")
                continue
            with archive.open(f"{store}/{result.filename}", "w", force_zip64=True) as entry:
                for chunk in result.chunks:
                    entry.write(chunk)
        if problems:
            archive.writestr(NOT_EXPORTED, "\n".join(problems).encode("utf-8", "replace"))
