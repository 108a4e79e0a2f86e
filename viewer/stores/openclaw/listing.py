"""What lists ask of the directories of OpenClaw and pi."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from viewer.stores.jsonl.listing import FileListing
from viewer.stores.listing import RowsDigest, SessionFacts

from .facts import TreeFacts
from .noted import source_of
from .places import Places, SessionPlace


@dataclass(frozen=True)
class TreeListing(FileListing[SessionPlace]):
    """`listing.Listing` of such a store: `read` gives the facts of a session."""

    places: Places
    read: Callable[[SessionPlace], TreeFacts]

    def files(self) -> list[SessionPlace]:
        return [each for each in self.places.values() if each.is_listed]

    def words_of(self, file: SessionPlace) -> str:
        return self._facts(file).first_words

    def time_of(self, file: SessionPlace) -> float:
        return self._facts(file).newest

    def _facts(self, location: SessionPlace) -> TreeFacts:
        """Raises OSError, which lists expect for anything that cannot be read."""
        try:
            return self.read(location)
        except sqlite3.Error as problem:
            raise OSError(str(problem)) from problem

    def facts_of(self, file: SessionPlace) -> SessionFacts:
        facts = self._facts(file)
        parent, branched_from = parent_of(file, facts)
        return SessionFacts(
            id=file.id,
            row=file.number,
            source=source_name(file),
            model=facts.model,
            title=facts.title,
            base_title=facts.title,
            part_number=1,
            parent=parent,
            started_at=facts.began or file.state.changed / 1e9,
            ended_at=file.ended or None,
            continued=False,
            archived=file.noted.is_archived,
            cwd=facts.cwd,
            branched_from=branched_from,
            delegated=bool(file.delegated_from),
            forked_from=(parent,) if parent else (),
            mark=RowsDigest(1 if file.state.size else 0, 0, file.state.changed, file.text),
            pinned=file.noted.is_pinned,
            window=file.noted.window,
        )


def parent_of(location: SessionPlace, facts: TreeFacts) -> tuple[str, str]:
    """The session that this one comes from, and the one that it is a fork of; "" for none."""
    branched_from = location.branched_from or ("" if location.delegated_from else facts.parent)
    return location.parent or branched_from, branched_from


def source_name(location: SessionPlace) -> str:
    """The agent and the channel of a session; "pi" for pi's."""
    return source_of(location.agent, location.key) if location.agent else "pi"
