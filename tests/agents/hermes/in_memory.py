"""Rows of a session written one after the other, as an agent writes and compacts them."""

from __future__ import annotations

from dataclasses import replace

from viewer.stores.hermes.records import LightRow
from viewer.stores.message import State
from viewer.stores.transcript import Boundary, TranscriptIndex


class HermesInMemory:
    """Writes rows as an agent does: turns, compactions, take-backs, undo."""

    def __init__(self) -> None:
        self.rows: list[LightRow] = []

    def say(self, role: str, text: str, **more: object) -> LightRow:
        row_id = len(self.rows) + 1
        values = {"time": 1000.0 + row_id, "size": len(text), **more}
        row = LightRow(id=row_id, role=role, state="live", text=text, **values)  # type: ignore[arg-type]
        self.rows.append(row)
        return row

    def turns(self, count: int, word: str = "turn") -> None:
        for number in range(count):
            self.say("user" if number % 2 == 0 else "assistant", f"{word} {number}")

    def tool_turn(self, *calls: str) -> None:
        self.say("assistant", "", calls=" ".join(calls), size=50)
        for call in calls:
            self.say("tool", f"result of {call} " + "x" * 200, tool_call_id=call, size=220)

    def live(self) -> list[LightRow]:
        return [row for row in self.rows if row.state == "live"]

    def mark(self, ids: set[int], state: State) -> None:
        self.rows = [replace(row, state=state) if row.id in ids else row for row in self.rows]

    def compact(self, head: int, tail: int, *, oldest_way: bool = False, **copy: object) -> list[int]:
        """Head copies, a standalone handoff, tail copies; kept originals end at (0,1) in the oldest builds."""
        live = self.live()
        kept = [*live[:head], *live[len(live) - tail :]]
        self.mark({row.id for row in live}, "under")
        if not oldest_way:
            self.mark({row.id for row in kept}, "out")
        first = len(self.rows)
        for row in kept[:head]:
            self.rows.append(replace(row, id=len(self.rows) + 1, state="live", **copy))  # type: ignore[arg-type]
        self.say("assistant", "", handoff="standalone", handoff_key=f"summary {len(self.rows)}")
        for row in kept[head:]:
            self.rows.append(replace(row, id=len(self.rows) + 1, state="live", **copy))  # type: ignore[arg-type]
        return [row.id for row in self.rows[first:]]

    def without_times(self, block: list[int]) -> None:
        """The block as it is when the agent has lost its times: each row a microsecond after the one before."""
        moment = self.rows[block[0] - 1].time if self.rows[block[0] - 1].handoff else 1000.5 + block[0]
        self.rows = [
            replace(row, time=moment + 1e-6 * (row.id - block[0])) if row.id in block else row for row in self.rows
        ]

    def undo(self, block: list[int], before: set[int]) -> None:
        self.mark(set(block), "out")
        self.mark(before, "live")


def texts(history: TranscriptIndex, rows: list[LightRow]) -> list[str]:
    """What History shows, in order: texts, with | for a boundary."""
    by_id = {row.id: row for row in rows}
    return ["|" if isinstance(item, Boundary) else by_id[item.full_id].text for item in history.items]
