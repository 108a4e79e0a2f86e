"""The messages of a session while its rows are read from oldest to newest: which rows carry each of them."""

from __future__ import annotations

from .records import LightRow


class Chains:
    """Messages by id, the id of their first row, each with its rows, oldest first. A row may carry several: `root` has
    the first, `others` the rest.
    """

    def __init__(self) -> None:
        self.rows: dict[int, list[LightRow]] = {}
        self.root: dict[int, int] = {}  # row id -> message id
        self.others: dict[int, tuple[int, ...]] = {}  # row id -> further messages that were merged into the row
        self.named: dict[str, int] = {}  # the agent's name for a message -> message id
        self._asked: dict[str, int] = {}  # text of a user's row -> id of the newest such row

    def of(self, row_id: int) -> tuple[int, ...]:
        """The messages that a known row carries."""
        root = self.root.get(row_id)
        return () if root is None else (root, *self.others.get(row_id, ()))

    def said_by(self, row: LightRow) -> tuple[int, ...]:
        """The known messages that a row says it carries: by names, or as a repeated request."""
        named = [self.named[uid] for uid in (row.uid, *row.absorbed) if uid in self.named]
        if not named and row.restated and row.text in self._asked:
            return self.of(self._asked[row.text])
        return tuple(dict.fromkeys(named))

    def add(self, row: LightRow) -> None:
        """Add a row: to the messages that it says it carries, or as a new message."""
        messages = self.said_by(row)
        if row.of_compaction or (messages if row.restated else row.handoff == "standalone"):
            if (
                row.of_compaction and row.absorbed and not messages
            ):  # the only remaining row of the messages that were merged into it
                self.rows[row.id], messages = [], (row.id,)
                self.named |= dict.fromkeys(row.absorbed, row.id)
            if row.restated or row.absorbed:  # written by the agent, with somebody's message merged into it
                self._carry(row, messages)
        elif row.uid in self.named:
            self._carry(row, messages)
        else:
            self.rows[row.id] = []
            self._carry(row, (row.id, *messages))

    def join(self, copy: LightRow, *sources: LightRow) -> None:
        """Add a row that carries the messages of other rows, whatever it says itself; only the names of a row with
        names say which messages were merged into it.
        """
        self.rows.pop(copy.id, None)  # under its own name, if it counted as a message before
        messages = [message for message in self.said_by(copy) if message != copy.id]
        first = [self.root[sources[0].id]] if copy.uid else [each for row in sources for each in self.of(row.id)]
        self._carry(copy, tuple(dict.fromkeys((*first, *messages))))

    def _carry(self, row: LightRow, messages: tuple[int, ...]) -> None:
        if not messages:
            return
        self.root[row.id] = messages[0]
        if len(messages) > 1:
            self.others[row.id] = messages[1:]
        for message in messages:
            self.rows[message].append(row)
        if row.uid and not (row.restated or row.of_compaction):
            self.named[row.uid] = messages[0]
        if row.role == "user" and row.text and not row.scaffold:
            self._asked[row.text] = row.id

    def replace(self, row: LightRow, by: LightRow) -> None:
        """Replace a row by a changed version of it."""
        for message in self.of(row.id):
            rows = self.rows[message]
            rows[rows.index(row)] = by

    def newest(self) -> list[LightRow]:
        """The newest row of every message, in the messages' order."""
        return [rows[-1] for rows in self.rows.values()]
