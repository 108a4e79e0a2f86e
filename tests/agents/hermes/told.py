"""What was said in a story, and whether rows, History and an undo agree with it: functions of values.

Everything said has a token of its own (`u00001z` a user's, `a00002z` the agent's, `t00003z` a result's), so that a row
tells which messages it carries, whatever an agent did to it. Words that are said several times alike have none: they
are told apart by their order alone.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(r"[uat]\d{5}z")
_END = "--- END OF CONTEXT SUMMARY"
_PRIOR, _DELIMITER = "[PRIOR CONTEXT", "[END OF PRIOR CONTEXT"
_HEADERS = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:")
_MARKS = (_END, _PRIOR, _DELIMITER, *_HEADERS, "[STILL IN PROGRESS", "Continue from the compressed")


@dataclass(frozen=True)
class Said:
    """One message as it was said: `calls` are (id, arguments), `answers` the id of the call that a result answers."""

    role: str
    text: str
    calls: tuple[tuple[str, str], ...] = ()
    answers: str = ""

    @property
    def has_token(self) -> bool:
        return bool(_TOKEN.search(self.key))

    @property
    def key(self) -> str:
        """What a row that carries it can be told by."""
        found = _TOKEN.search(self.text) or next((_TOKEN.search(arguments) for _, arguments in self.calls), None)
        return found[0] if found else fold(self.text)


@dataclass(frozen=True)
class Row:
    """A row, or a message of History, as far as it matters here. `id` is 0 where there is none; `state` is "live",
    "under" or "out" as in `viewer.stores.message`.
    """

    id: int
    role: str
    text: str
    calls: tuple[tuple[str, str], ...] = ()
    answers: str = ""
    state: str = ""
    names: tuple[str, ...] = ()  # the agent's own, of the messages that it carries
    time: float = 0.0


@dataclass
class Ledger:
    """What was said, in order, the places in it that were taken back, and those that the agent itself lost: it marked
    them as it marks what is taken back, and wrote no copy.

    `untold` were taken back with all that was in context, a compaction among it: without names, and with names where
    the compaction marked nothing as superseded, the rows then say what they say after an undo that went on without a
    head, and History may show them.

    `undone` are the rows of blocks that were undone: nobody's. Where the agent wrote its transcript anew since, what it
    merged then may stand alone nowhere else. `names` are those that the agent gave to what has no token, `times` the
    roles and times of its rows, which copies keep.
    """

    said: list[Said] = field(default_factory=list)
    back: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)
    untold: set[int] = field(default_factory=set)
    undone: set[int] = field(default_factory=set)
    names: dict[str, int] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)

    def kept(self) -> list[int]:
        return [at for at in range(len(self.said)) if at not in self.back]


@dataclass(frozen=True)
class Fault:
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


def fold(text: str) -> str:
    return " ".join(text.split())


def row_of(row: dict[str, Any]) -> Row:
    """A row as Hermes or SQLite gives it: content decoded or not."""
    calls = row.get("tool_calls") or []
    if isinstance(calls, str):
        calls = json.loads(calls)
    told = tuple((call.get("id") or "", call["function"]["arguments"]) for call in calls)
    state = "live" if row.get("active") else "under" if row.get("compacted") else "out"
    merged = row.get("absorbed_message_uids") or []
    names = [row.get("message_uid"), *(json.loads(merged) if isinstance(merged, str) else merged)]
    return Row(
        row.get("id") or 0, row["role"], _text(row.get("content")), told, row.get("tool_call_id") or "", state,
        tuple(name for name in names if name), row.get("timestamp") or 0.0,
    )  # fmt: skip


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""


def live_text(text: str) -> str:
    """The text of a row without a summary in it, and with what the agent kept around one."""
    start = text.lstrip()
    if start.startswith(_PRIOR):
        prior, _, rest = start.partition(_DELIMITER)
        return prior.partition("\n")[2] + "\n" + _behind(rest)
    return _behind(start) if start.startswith(_HEADERS) else text


def _behind(text: str) -> str:
    """What stands behind the last end marker's line."""
    at = text.rfind(_END)
    return text[at:].partition("\n")[2] if at >= 0 else ""


# -- which messages a row carries ------------------------------------------------------------------------------------


def carried(rows: Sequence[Row], ledger: Ledger) -> list[tuple[int, ...]]:
    """For each row the messages it carries, as places in the ledger.

    A result cut to a stub has no token left: its name tells, if it has one, else the call it answers. Words without a
    token are given to the places that say them and were not taken back, from the newest on, between what stands beside
    them.
    """
    said = ledger.said
    places = _by_key(ledger)
    answers = {(said_at, each.answers): at for at, (each, said_at) in enumerate(_with_callers(said)) if each.answers}
    found: list[tuple[int, ...]] = []
    by_name = {row.names: mine for row in rows if row.role == "tool" and row.names and (mine := _by_token(row, places))}
    caller: dict[str, int] = {}
    for row in rows:
        mine = _by_token(row, places)
        if row.role == "tool" and not mine:
            mine = by_name.get(row.names, ())
        if row.role == "tool" and not mine and (caller.get(row.answers), row.answers) in answers:
            mine = (answers[caller[row.answers], row.answers],)
        if row.role == "assistant" and mine:
            caller |= {call_id: mine[-1] for call_id, _ in row.calls}
        found.append(mine)
    return _without_tokens(rows, found, ledger)


def carried_by_time(live: Sequence[Row], stored: Sequence[Row], ledger: Ledger) -> dict[int, tuple[int, ...]]:
    """What each live row carries; a stub is told by the time that it kept, as the ids of calls come again."""
    places = _by_key(ledger)
    at_time: dict[float, set[tuple[int, ...]]] = {}
    for row in stored:
        if row.role == "tool" and (mine := _by_token(row, places)):
            at_time.setdefault(row.time, set()).add(mine)
    found = {row.id: mine for row, mine in zip(live, carried(live, ledger), strict=True)}
    for row in live:
        if row.role == "tool" and not _by_token(row, places) and len(said := at_time.get(row.time, ())) == 1:
            found[row.id] = next(iter(said))
    return found


def _by_key(ledger: Ledger) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for at, each in enumerate(ledger.said):
        places.setdefault(each.key, []).append(at)
    return places


def _with_callers(said: Sequence[Said]) -> Iterable[tuple[Said, int]]:
    """Each message with the place of the message whose call it answers (-1)."""
    caller: dict[str, int] = {}
    for at, each in enumerate(said):
        caller |= {call_id: at for call_id, _ in each.calls}
        yield each, caller.get(each.answers, -1)


def _by_token(row: Row, places: dict[str, list[int]]) -> tuple[int, ...]:
    text = live_text(row.text) + " " + " ".join(arguments for _, arguments in row.calls)
    tokens = dict.fromkeys(token for token in _TOKEN.findall(text) if token[0] == row.role[0])
    return tuple(places[token][0] for token in tokens if token in places)


def _without_tokens(rows: Sequence[Row], found: list[tuple[int, ...]], ledger: Ledger) -> list[tuple[int, ...]]:
    waiting: dict[tuple[str, str], list[int]] = {}
    for at in sorted({*ledger.kept(), *ledger.untold}):
        each = ledger.said[at]
        if not each.has_token:
            waiting.setdefault((each.role, each.key), []).append(at)
    following = len(ledger.said)  # the place of what stands next behind
    for index in range(len(rows) - 1, -1, -1):
        row = rows[index]
        lines = live_text(row.text).split("\n") if waiting else []  # merged ones stand on lines of their own
        behind, following = following, min(found[index], default=following)
        ahead = max(found[index - 1], default=-1) if index else -1
        said = [(ledger.names[name], ledger.said[ledger.names[name]].key) for name in row.names if name in ledger.names]
        told = {fold(line) for line in lines}
        if named := [place for place, key in said if key in told]:
            found[index] = (*named, *found[index])
            continue
        for number in range(len(lines) - 1, -1, -1):
            if places := waiting.get((row.role, key := fold(lines[number]))):
                later = [place for place in places if place > ahead] or places
                place = max((place for place in later if place < behind), default=later[-1])
                at_time = ledger.times.get(f"{row.role} {row.time}", -1) if number == 0 else -1
                if at_time >= 0 and ledger.said[at_time].key == key:
                    place = at_time
                found[index] = (place, *found[index])
                if len(places) > 1 and place in places:
                    places.remove(place)
    return [tuple(sorted(set(places))) for places in found]


def is_whole(row: Row, said: Said) -> bool:
    """Whether a row says all of this message, and nothing else."""
    calls = {call_id: fold(arguments) for call_id, arguments in row.calls}
    text = fold(live_text(row.text)).removesuffix(" [screenshot]")  # what persistence makes of an image
    return text == fold(said.text) and all(calls.get(call_id) == fold(arguments) for call_id, arguments in said.calls)


# -- judging ---------------------------------------------------------------------------------------------------------


def history_faults(shown: Sequence[Row], stored: Sequence[Row], ledger: Ledger) -> list[Fault]:
    """Where what is shown is not each message once, in order, with the fullest text that is stored."""
    alone, whole = _stored(stored, ledger)
    mine = carried(shown, ledger)
    faults = [fault for row, places in zip(shown, mine, strict=True) for fault in _of_row(row, places, ledger, whole)]
    faults += [
        Fault("merged", f"{[ledger.said[at].key for at in places]} as one")
        for places in mine
        if len(places) > 1 and len(alone.intersection(places)) > 1
    ]
    kept = set(ledger.kept()) - ledger.lost
    counts = Counter(at for places in mine for at in set(places))
    doubled = sorted(at for at in counts if counts[at] > 1)
    faults += [Fault("doubled", f"{ledger.said[at].key} {counts[at]} times") for at in doubled]
    missing = sorted(at for at in kept - set(counts) if at in alone)
    faults += [Fault("missing", f"{ledger.said[at].role} {ledger.said[at].key}") for at in missing]
    order = [places[0] for places in mine if places and not set(places) & set(doubled)]
    if order != sorted(order):
        late = next(at for at, following in zip(order, order[1:], strict=False) if following < at)
        faults.append(Fault("order", f"{ledger.said[late].key} stands before older ones"))
    return faults


def _stored(stored: Sequence[Row], ledger: Ledger) -> tuple[set[int], set[int]]:
    """The messages that some row carries alone, and those of which some row has the whole text alone."""
    alone, whole = set(), set()
    for row, places in zip(stored, carried(stored, ledger), strict=True):
        if len(places) == 1 and row.id not in ledger.undone:
            alone.add(places[0])
            if is_whole(row, ledger.said[places[0]]):
                whole.add(places[0])
    return alone, whole


def _of_row(row: Row, places: tuple[int, ...], ledger: Ledger, whole: set[int]) -> Iterable[Fault]:
    told = f"row {row.id} {row.role} {fold(row.text)[:70]!r}"
    if not places:
        yield Fault("nobody's words", told)
    for at in places:
        if at in ledger.back - ledger.untold:
            yield Fault("revived", told)
    if any(mark in row.text for mark in _MARKS):
        yield Fault("summary as words", told)
    elif len(places) == 1 and places[0] in whole and not is_whole(row, ledger.said[places[0]]):
        yield Fault("not whole", f"{told} instead of {fold(ledger.said[places[0]].text)[:40]!r}")


def undo_faults(expected: Sequence[Row], live: Sequence[Row], ledger: Ledger) -> list[Fault]:
    """Where the live rows after an undo are not these, as messages with the texts they had."""
    faults: list[Fault] = []
    live, expected = _without_lost(live, ledger), _without_lost(expected, ledger)
    told, wanted = carried(live, ledger), carried(expected, ledger)
    if told != wanted:
        counts, due = Counter(at for places in told for at in places), Counter(at for each in wanted for at in each)
        faults += [Fault("undo doubles", ledger.said[at].key) for at in counts - due]
        faults += [Fault("undo loses", ledger.said[at].key) for at in due - counts]
        if not faults:
            faults.append(Fault("undo reorders", f"{len(live)} rows, {len(expected)} wanted"))
    else:
        faults += [
            Fault("undo alters", f"row {row.id} {fold(row.text)[:60]!r} instead of {fold(was.text)[:60]!r}")
            for row, was in zip(live, expected, strict=True)
            if (fold(row.text), row.calls, row.answers) != (fold(was.text), was.calls, was.answers)
        ]
    problems = Counter(broken_pairs(live))
    problems.subtract(broken_pairs(expected))
    return faults + [Fault("undo breaks pairs", problem) for problem in problems if problems[problem] > 0]


def _without_lost(rows: Sequence[Row], ledger: Ledger) -> list[Row]:
    return [
        row for row, places in zip(rows, carried(rows, ledger), strict=True) if not places or set(places) - ledger.lost
    ]


def lost_by_the_agent(before: Sequence[Row], stored: Sequence[Row], ledger: Ledger) -> set[int]:
    """What was live before a compaction of the agent's and is now at (0,0) without a copy, in stretches that begin with
    a user's message: nothing in the rows tells them from what `/undo` took back.
    """
    mine, now = carried(before, ledger), carried(stored, ledger)
    alive = {at for row, places in zip(stored, now, strict=True) if row.state != "out" for at in places}
    out = {row.id for row in stored if row.state == "out"}
    lost: set[int] = set()
    for row, places in zip(before, mine, strict=True):
        gone = row.id in out and not set(places) & alive
        if gone and places and (row.role == "user" or places[0] - 1 in lost):
            lost.update(places)
    return lost


def broken_pairs(rows: Sequence[Row]) -> list[str]:
    """Results without a call just before them, and calls without a result just behind."""
    problems: list[str] = []
    open_calls: dict[str, int] = {}
    for row in rows:
        if row.role == "tool":
            if row.answers not in open_calls:
                problems.append(f"result {row.answers} without a call")
            open_calls.pop(row.answers, None)
            continue
        problems += [f"call {call_id} without a result" for call_id in open_calls]
        open_calls = {call_id: row.id for call_id, _ in row.calls}
    return problems
