"""What a compaction loses, as the API tells it."""

from __future__ import annotations

from ninja import Schema


class DetailsOut(Schema):
    """How many of the details (or statements) we recognise, in what was said and called, are lost, of how many."""

    lost: int
    total: int


class AnchorOut(Schema):
    """An exact thing that is lost, and the message it stood in.

    `kind` is path, url, id, number, date, name, version, phone, account, error, command or statement; `category` what a
    statement is: instruction, decision, cause, open task, preference, circumstance, request, or "" for none of these.
    `message` null where only an earlier summary had it; `line` the line or sentence around it, "" where `text` is that
    itself; `by` person, agent, summary (an earlier one), call or tool: who said it.
    """

    kind: str
    text: str
    message: int | None
    line: str = ""
    by: str = ""
    category: str = ""


class LossesOut(Schema):
    """How many details of what is summarised or shortened are still there, as [still there, all] for each kind.

    `anchors` are those said and called, `statements` the lines and sentences of people and the agent that say
    something, `printed` what tools merely printed. The lists name what is lost, the most telling and the newest first,
    at most 5,000 each.
    """

    anchors: dict[str, tuple[int, int]] = {}
    lost: list[AnchorOut] = []
    statements: tuple[int, int] | None = None
    lost_statements: list[AnchorOut] = []
    printed: dict[str, tuple[int, int]] = {}
    lost_printed: list[AnchorOut] = []
