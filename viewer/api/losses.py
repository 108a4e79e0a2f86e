"""What a compaction loses, in the API's shapes."""

from __future__ import annotations

from ninja import Schema


class DetailsOut(Schema):
    """How many of the details (or statements) that we recognise, in what was said and called, are lost, and their
    total.
    """

    lost: int
    total: int


class AnchorOut(Schema):
    """An exact thing that is lost, and the message that had it.

    `kind` is path, url, id, number, date, name, version, phone, account, error, command or statement; `category` is
    that of a statement: instruction, decision, cause, open task, preference, circumstance, request, or "" for none of
    these. `message` is null if only an earlier summary had it; `line` is the line or sentence around it, "" if `text`
    is that itself; `above` is the heading or label above that line, "" for none. `by` is who said it: person, agent,
    summary (an earlier one), call or tool. `matters` is why somebody would miss it: it is a standing instruction
    (instruction), the last request or a line that it asks for (request), a message after the compaction uses it (used),
    a person said it (person), or "" for none of these. Without the first three the next turn fails.
    """

    kind: str
    text: str
    message: int | None
    line: str = ""
    by: str = ""
    category: str = ""
    above: str = ""
    matters: str = ""


class LastRequestOut(Schema):
    """The newest request of people that may be unfinished, else the newest one: its beginning and its message, null if
    only an earlier summary has it.

    `open`: the agent has not answered it; `kept`: its words are still in context. `needs` counts the lines that left
    the context and have what it asks for, as [remaining, all].
    """

    text: str
    message: int | None
    open: bool
    kept: bool
    needs: tuple[int, int]


class LossesOut(Schema):
    """How many details of the summarised or shortened messages still exist, as [remaining, all] for each kind.

    `anchors` are those said and called, `statements` the informative lines and sentences of people and the agent,
    `printed` what tools only printed. The lists name what is lost, the most informative and the newest first, at most
    5,000 each.

    `things` is the number of lost lines: each statement, and each line with lost details that is none of these.
    `ranked` names them as list and position ("lost_statements:0", "lost:3"), the most serious first, as far as the
    lists have them. `instructions` are the standing instructions of people, as [remaining, all]. Reports of older
    versions have none of these.
    """

    anchors: dict[str, tuple[int, int]] = {}
    lost: list[AnchorOut] = []
    statements: tuple[int, int] | None = None
    lost_statements: list[AnchorOut] = []
    printed: dict[str, tuple[int, int]] = {}
    lost_printed: list[AnchorOut] = []
    things: int | None = None
    ranked: list[str] = []
    request: LastRequestOut | None = None
    instructions: tuple[int, int] | None = None
