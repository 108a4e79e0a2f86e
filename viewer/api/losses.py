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
    is that itself; `by` is who said it: person, agent, summary (an earlier one), call or tool.
    """

    kind: str
    text: str
    message: int | None
    line: str = ""
    by: str = ""
    category: str = ""


class LossesOut(Schema):
    """How many details of the summarised or shortened messages still exist, as [remaining, all] for each kind.

    `anchors` are those said and called, `statements` the informative lines and sentences of people and the agent,
    `printed` what tools only printed. The lists name what is lost, the most informative and the newest first, at most
    5,000 each.
    """

    anchors: dict[str, tuple[int, int]] = {}
    lost: list[AnchorOut] = []
    statements: tuple[int, int] | None = None
    lost_statements: list[AnchorOut] = []
    printed: dict[str, tuple[int, int]] = {}
    lost_printed: list[AnchorOut] = []
