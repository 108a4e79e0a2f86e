"""After a compaction: the audit of the agent's next turn, armed once per compaction and judged from the rows alone.

A compaction made here arms its audit when it is written; one made by the agent, when a worker first sees its boundary.
The first complete turn after it is judged: did the agent read its startup files? If not, one warning is stored and one
more turn counts; then the result is final (`docs/enforcement.md`).
"""

from __future__ import annotations

import json
import logging
import os
import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

from django.db import Error as DatabaseProblem
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from compaction import messages as m
from viewer.enforcement.models import Audit
from viewer.history import index_cache
from viewer.history.models import Compaction
from viewer.runs.models import Run
from viewer.runs.plain import plain
from viewer.stores.base import Session, Store
from viewer.stores.errors import StoreError
from viewer.stores.message import StoredMessage, message_of
from viewer.stores.registry import Reader, get_store, open_store
from viewer.stores.transcript import Boundary, TranscriptIndex
from viewer.web import own_database
from viewer.web.own_database import OwnDatabaseUnavailable
from viewer.workspaces.paths import normal
from viewer.workspaces.rules import existing, reason_in, rules_of, zone_of
from viewer.workspaces.sections import STARTUP_SECTIONS, dated

from . import early, events
from .findings import Finding, Requirement, TurnSpan, audit, turns
from .reads import Read, reads_of

JUDGED = 2  # turns
LATE_SECONDS = 300.0  # since a turn ended: a warning about unread files would come too late
MOST_ROWS = 5_000  # of two turns that are read
AT_ONCE, AT_ONCE_BYTES = 200, 2_000_000  # rows read at a time
RESULT_CHARACTERS = 4_000  # of a text, its first ones: enough to tell an error from a file
ENDING = 500  # of its last ones
LEVELS = 6  # of blocks inside blocks: an image inside a tool's result has five
CALL_BLOCKS = ("tool_use", "toolCall")  # kept as they are

logger = logging.getLogger(__name__)


# -- arming ------------------------------------------------------------------------------------------------------------


def on_applied(run: Run, **_: Any) -> None:
    """Arm the audit of a compaction that was just written. After a failure the worker's next look does it."""
    try:
        _forget_another_files(run)
        _arm(
            store=run.store,
            session_id=run.new_session_id or run.session_id,
            handoff_id=run.handoff_id or 0,
            run=run.pk,
            model=run.plan["model"],
            compacted_at=run.applied_at.timestamp() if run.applied_at else time.time(),
            after=Compaction.objects.values_list("last_id", flat=True).get(run=run.pk) or 0,
            rules=run.rules,
        )
    except (DatabaseProblem, StoreError):
        logger.warning("The turn after %s is not audited yet.", run, exc_info=True)


def _forget_another_files(run: Run) -> None:
    """Delete audits of this handoff's id that are older than its run: a restored backup assigns ids again. Also those
    of a compaction that was undone and applied again.
    """
    audits = Audit.objects.filter(store=run.store, session_id=run.new_session_id or run.session_id)
    gone = Q(armed_at__lt=run.created_at) | Q(status="undone")
    audits.filter(gone, handoff_id=run.handoff_id or 0).delete()


def _arm_seen(reader: Reader, session: Session, boundary: Boundary) -> Audit:
    """Arm the audit of a boundary that has none: the agent's own, or ours if its worker died too early."""
    run = Run.objects.filter(pk=boundary.run or 0).first()
    return _arm(
        store=session.store,
        session_id=session.id,
        handoff_id=boundary.handoff_id,
        run=boundary.run,
        model=session.model,
        compacted_at=_past(boundary.time or 0.0),
        after=max(boundary.block_ids),
        rules=run.rules if run and run.rules else asdict(rules_of(reader.store, session)),
    )


def _arm(*, rules: Mapping[str, Any], **fields: Any) -> Audit:
    """Make the audit and its note, once. `rules` are `workspaces.Rules` as an object, {} for none."""
    day = _day(fields["compacted_at"], fields["store"])
    workspace, named = rules.get("workspace", ""), rules.get("named", ())
    names: dict[str, str] = {}  # a file may be named twice
    for name in named:
        for path in existing(workspace, [name], day):
            names.setdefault(path, name)
    required = [{"named": name, "path": path} for path, name in names.items()]
    reason = "" if required else reason_in(rules) or _no_file(named)
    startup = {"workspace": workspace, "source": rules.get("source", ""), "required": required, "reason": reason}
    status = "not_yet" if required else "nothing_required"
    keys = {name: fields.pop(name) for name in ("store", "session_id", "handoff_id")}
    with transaction.atomic():  # an audit without its note would never get one
        armed, created = Audit.objects.get_or_create(**keys, defaults=plain({**fields, **startup, "status": status}))
        if not created and armed.run is None and fields["run"]:  # a worker saw our boundary before its run was noted
            armed.run = fields["run"]
            armed.save(update_fields=["run"])
        events.note(armed, rules.get("sections", ()), named)
        early.settle(armed.store, armed.session_id)
    return armed


def _no_file(named: Sequence[str]) -> str:
    if not named:
        return f"No file to read is named in a section called {' or '.join(STARTUP_SECTIONS)}."
    return f"None of the files that the rules name exists: {', '.join(named)}."


# -- looking -----------------------------------------------------------------------------------------------------------


def current_audits(reader: Reader, session: Session, index: TranscriptIndex) -> list[Audit]:
    """The audits of a conversation, newest first, judged by its current messages; nothing is written. Raises
    StoreUnavailable.
    """
    return _judged(reader, session, index, _audits(reader, session), Verdicts())


def look(reader: Reader, session: Session, index: TranscriptIndex, *, arm: bool = False) -> list[Audit]:
    """`current_audits` for workers and POSTs: new results are also stored.

    With `arm` the newest compaction gets an audit if it has none. Raises StoreUnavailable.
    """
    audits = _audits(reader, session)
    newest = max(index.compactions, key=lambda boundary: boundary.handoff_id, default=None)
    if arm and newest is not None and all(each.handoff_id != newest.handoff_id for each in audits):
        audits.insert(0, _arm_seen(reader, session, newest))
    return _judged(reader, session, index, audits, StoredVerdicts())


def _audits(reader: Reader, session: Session) -> list[Audit]:
    parts = reader.parts(session.id) if session.parts > 1 else [session.id]
    return list(Audit.objects.filter(store=session.store, session_id__in=parts).order_by("-handoff_id"))


def _judged(
    reader: Reader, session: Session, index: TranscriptIndex, audits: list[Audit], verdicts: Verdicts
) -> list[Audit]:
    newest = max(index.compactions, key=lambda boundary: boundary.handoff_id, default=None)
    standing = {boundary.handoff_id for boundary in index.compactions}
    for each in audits:
        try:
            if each.settled:
                continue
            if each.handoff_id not in standing:
                verdicts.settle(each, "undone")
            elif newest is not None and each.handoff_id != newest.handoff_id:
                verdicts.settle(each, "superseded" if each.status == "not_yet" else each.status)
            else:
                _judge(reader, session, each, index, verdicts)
        except (DatabaseProblem, OwnDatabaseUnavailable) as problem:  # known audits are shown; the worker looks again
            logger.warning("The result of %s cannot be noted: %s", each, problem)
    return audits


def on_appended(store: Store, session_id: str) -> None:
    """Judge a turn that a program has just written, so that it gets the notes for its agent. After a failure the
    worker's next look does it.
    """
    if not Audit.objects.filter(store=store.name, session_id=plain(session_id), settled=False).exists():
        return
    try:
        with open_store(store) as reader:
            session = reader.session(session_id)
            look(reader, session, index_cache.index_of(reader, session))
    except (DatabaseProblem, StoreError) as problem:
        logger.warning("The turn that was appended to %s is not judged yet: %s", session_id, problem)


def on_undone(store: str, session_id: str, handoff_id: int, **_: Any) -> None:
    """The compaction with this handoff was undone: the agent need not read anything any more. If that cannot be
    recorded now, the next look does it.
    """
    for each in Audit.objects.filter(store=store, session_id=session_id, handoff_id=handoff_id, settled=False):
        with suppress(OwnDatabaseUnavailable):
            StoredVerdicts().settle(each, "undone")


class Verdicts:
    """Where results go: only into the given audits, for showing them."""

    def settle(self, each: Audit, status: str) -> None:
        self.record(each, status=status, settled=True)

    def record(self, each: Audit, **fields: Any) -> None:
        for name, value in plain({"audited_at": timezone.now(), **fields}).items():
            setattr(each, name, value)

    def together(self) -> AbstractContextManager[object]:
        """Everything recorded inside is recorded as a whole, or not at all."""
        return nullcontext()

    def warn(self, each: Audit, files: list[str]) -> None:
        """Store a warning that the agent has not read these files."""


class StoredVerdicts(Verdicts):
    """Results go into our own database as well, for an audit that is open and was not judged further by another
    process.
    """

    def record(self, each: Audit, **fields: Any) -> None:
        fields = plain({"audited_at": timezone.now(), **fields})
        with own_database.noting():
            if not Audit.objects.filter(pk=each.pk, settled=False, turns=each.turns).update(**fields):
                each.refresh_from_db()
                return
            super().record(each, **fields)
            if each.late:
                events.delete_pending(each)
            elif each.settled:
                events.expire(each)

    def together(self) -> AbstractContextManager[object]:
        return own_database.noting()

    def warn(self, each: Audit, files: list[str]) -> None:
        events.warn(each, files)


# -- judging -----------------------------------------------------------------------------------------------------------


def _judge(reader: Reader, session: Session, each: Audit, index: TranscriptIndex, verdicts: Verdicts) -> None:
    """Judge the complete turns after the compaction that were not judged yet."""
    ids = index.live_ids[bisect_right(index.live_ids, each.after) :].tolist()
    if not ids or ids[-1] <= each.seen_to or not _may_be_complete(reader, each, index, ids):
        return
    rows = list(_rows(reader, session.id, index, ids[:MOST_ROWS]))
    messages = [message_of(row) | {m.INNER: list(row.inner)} for row in rows]
    if len(ids) > MOST_ROWS:  # a turn that is longer is judged by its beginning, or it would be read again for ever
        messages.append({"role": "user", "content": "What came after is not read."})
    complete = turns(messages)[:JUDGED]
    if len(complete) <= each.turns:
        return
    reads, cwd = reads_of(messages), _cwd_elsewhere(session)
    judged = [(rows[turn.end - 1], _findings(each, reads, rows, turn, cwd)) for turn in complete[each.turns :]]
    # Together: a turn that was judged without its warning would never get one.
    with verdicts.together():
        for last, findings in judged:
            late = not each.turns and _ended_long_ago(each, last)
            _conclude(each, findings, verdicts, seen_to=last.id, late=late or each.late)
            if each.settled:
                return
        verdicts.warn(each, [finding["named"] for finding in each.findings if finding["message"] is None])


def _conclude(each: Audit, findings: list[dict[str, Any]], verdicts: Verdicts, *, seen_to: int, late: bool) -> None:
    left_out = any(finding["message"] is None for finding in findings)
    status = "nothing_required" if not findings else "missing" if left_out else "passed"
    count = each.turns + 1
    settled = not left_out or count >= JUDGED or late
    verdicts.record(each, findings=findings, status=status, settled=settled, turns=count, seen_to=seen_to, late=late)


def _may_be_complete(reader: Reader, each: Audit, index: TranscriptIndex, ids: Sequence[int]) -> bool:
    """Whether another turn can be complete: there is a further request, or the last row is a reply."""
    requests = sum(1 for _ in takewhile(lambda prompt: index.entry(prompt).id > each.after, reversed(index.prompts)))
    if requests != each.turns + 1:
        return requests > each.turns
    last = reader.messages(each.session_id, ids[-1:]).get(ids[-1])
    return last is not None and m.is_readable_reply(message_of(last)) and not last.tool_calls


def _rows(reader: Reader, session_id: str, index: TranscriptIndex, ids: Sequence[int]) -> Iterator[StoredMessage]:
    """The rows in order, reading a bounded part of their text at a time."""
    part: list[int] = []
    size = 0
    for row_id in [*ids, 0]:
        number = index.number(row_id)
        size += index.sizes[number] if number is not None else 0
        if part and (not row_id or len(part) >= AT_ONCE or size > AT_ONCE_BYTES):
            rows = reader.messages(session_id, part)
            yield from (_cut(rows[each]) for each in part if each in rows)
            part, size = [], 0
        part.append(row_id)


def _cut(row: StoredMessage) -> StoredMessage:
    """The row without most of its long texts, including images."""
    content = row.content
    if isinstance(content, str) and len(content) > RESULT_CHARACTERS and content.startswith("{"):
        with suppress(ValueError, RecursionError):  # the end of a program's output says how it ended
            return replace(row, content=json.dumps(_short(json.JSONDecoder().raw_decode(content)[0], LEVELS)))
    return replace(row, content=_short(content, LEVELS))


def _short(content: Any, levels: int) -> Any:
    if isinstance(content, str):
        long = len(content) > RESULT_CHARACTERS
        return f"{content[:RESULT_CHARACTERS]}\n{content[-ENDING:]}" if long else content
    if isinstance(content, list) and levels:
        return [_short(each, levels - 1) for each in content]
    if isinstance(content, dict) and levels and content.get("type") not in CALL_BLOCKS:
        return {name: _short(each, levels - 1) for name, each in content.items()}
    return content


def _findings(
    each: Audit, reads: Iterable[Read], rows: Sequence[StoredMessage], turn: TurnSpan, cwd: str
) -> list[dict[str, Any]]:
    """Which required files were read up to the end of a turn; files that no longer exist are left out.

    `cwd` is the agent's path of the workspace if it runs on another machine, "" if it runs on this one.
    """
    day = _day(_past(rows[turn.start].timestamp), each.store)
    home = str(Path.home())
    bases = dict.fromkeys(filter(None, (each.workspace, os.path.realpath(each.workspace), cwd)))
    required = [
        Requirement(one["path"], tuple(normal(path, base, home) for path in _paths(one, day) for base in bases))
        for one in each.required
    ]
    results = audit([read for read in reads if read.message < turn.end], required, cwd or each.workspace, home)
    here = [existing(each.workspace, [one["named"]], day) for one in each.required]  # of the day of the turn
    reported = [
        one if one.read else one._replace(named=now[0])
        for one, now in zip(results, here, strict=True)
        if one.read or now
    ]
    return [_finding(one, rows) for one in reported]


def _cwd_elsewhere(session: Session) -> str:
    """The session's working directory if it is not on this machine: in a container, or on another system."""
    return "" if os.path.exists(session.cwd) else session.cwd.strip()


def _past(at: float) -> float:
    """A time written by an agent; the current time if it is invalid or in the future, as columns hold anything and
    clocks differ.
    """
    now = time.time()
    return at if 0 < at < now else now


def _day(at: float, store: str) -> date:
    """The day of a time (epoch seconds) in the agent's time zone."""
    return datetime.fromtimestamp(at, UTC).astimezone(zone_of(get_store(store))).date()


def _paths(one: Mapping[str, str], day: date) -> list[str]:
    """The paths under which a file may be read: as named, with the date of the turn's day, or with the date that a
    shell inserts.
    """
    return [one["path"], dated(one["named"], day), dated(one["named"], None)]


def _finding(finding: Finding, rows: Sequence[StoredMessage]) -> dict[str, Any]:
    read = finding.read
    message = None if read is None else rows[read.message].id
    return {"named": finding.named, "path": finding.path, "message": message, "tool": read.tool if read else ""}


def _ended_long_ago(each: Audit, last: StoredMessage) -> bool:
    """Whether a turn ended long before the compaction was seen here; never for an audit that was armed at once."""
    return each.armed_at.timestamp() - max(each.compacted_at, last.timestamp) > LATE_SECONDS
