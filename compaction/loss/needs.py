"""What the next turn needs of a session: the last request, what that asks for, and people's standing instructions.

Theory: a loss is serious if the next turn fails without it. A request asks for the lines that have an exact thing which
it names; if it names none, for those that share its words ("what has to be counted again") and have an exact thing. One
common word is no sign, and a long request shares words with everything, so the longer it is the more have to be shared.
The summariser without a model knows requests and instructions (`offline.offers`), and is asked for them.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cached_property

from ..llm.digest import SummaryRequest
from ..messages import Message
from ..offline.asks import Request, alike, shares_words
from ..offline.offers import Offers
from ..redaction import redact
from ..stems import stems_of
from ..text.clip import start_of
from .statements import SHORT_ID, Detail, Statement, is_capital, is_worth_naming, statements

SHOWN = 300  # characters of a request that a report quotes


class Needs:
    """The last request and the standing instructions in a context, before some of its messages leave.

    `gone` are the indices of those that leave (None for all), `earlier` the text of the summaries that leave with them.
    """

    def __init__(self, messages: Sequence[Message], gone: Container[int] | None, earlier: str) -> None:
        leaving = [at for at in range(len(messages)) if gone is None or at in gone]
        staying = [at for at in range(len(messages)) if not (gone is None or at in gone)]
        self._offers = Offers(
            SummaryRequest(
                tuple(messages[at] for at in leaving),
                earlier,
                count=len,
                kept=tuple(messages[at] for at in staying),
                places=(*leaving, *staying),
            )
        )
        self.request: Request | None = self._offers.newest
        self._people = {turn.place: turn.person for turn in self._offers.turns} if self._offers.several else {}
        words = self._words()
        named = [
            detail
            for line in statements(words, "user", sentences=True)
            for detail in line.details
            if _names(detail, line) and not (detail.kind == "id" and len(detail.text) <= SHORT_ID)
        ]
        exact = [detail for detail in named if detail.kind != "name"]  # a name may be that of the person who asks
        self._values = {detail.value for detail in exact or named}
        self._stems = frozenset(stems_of(words))

    def _words(self) -> str:
        return redact(self.request.words) if self.request else ""

    @property
    def request_words(self) -> str:
        """The beginning of the request on one line, without secrets."""
        words = " ".join(redact(self.request.opening[: 2 * SHOWN]).split()) if self.request else ""
        return words if len(words) <= SHOWN else start_of(words, SHOWN).rstrip()

    @property
    def is_request_kept(self) -> bool:
        """Whether the message of the request stays."""
        return self.request is not None and self.request.place in self._offers.kept_places

    def asks_for(self, line: Statement) -> bool:
        """Whether the request is about a line of another message, which has an exact thing."""
        if self.request is None or line.message == self.request.place or not line.details:
            return False
        values = {each.value for each in line.details if _names(each, line)}
        if self._values:
            return not self._values.isdisjoint(values)
        if not values:
            return False
        person = self._people.get(self.request.place, "")
        if person and self._people.get(line.message, "") != person:
            return False
        return shares_words(self._stems, line.text)

    @cached_property
    def standing(self) -> dict[str, str]:
        """The standing instructions that leave, and those of the earlier summary, without replaced ones: each by its
        letters alone (`asks.alike`).
        """
        labelled = self._offers.several or self._offers.dated
        lines = [line.text.removeprefix("- ") for line in self._offers.standing()]
        texts = [line.partition(": ")[2] or line if labelled else line for line in lines]
        return {alike(text): text for text in texts}

    @cached_property
    def standing_kept(self) -> set[str]:
        """The keys of the standing instructions in messages that stay."""
        kept = self._offers.kept_places
        return {alike(each) for at, given in self._offers.laid_down.items() if at in kept for each in given}


def _names(detail: Detail, line: Statement) -> bool:
    """Whether a detail names one thing."""
    is_one = detail.kind not in ("number", "date", "version", "error", "command")
    return is_one and is_worth_naming(detail.kind, detail.text) and not is_capital(detail, line)
