"""What lists ask of OpenClaw's and pi's directories."""

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

    def _facts(self, place: SessionPlace) -> TreeFacts:
        """Raises OSError, as lists expect it of what cannot be read."""
        try:
            return self.read(place)
        except sqlite3.Error as problem:
            raise OSError(str(problem)) from problem

    def facts_of(self, file: SessionPlace) -> SessionFacts:
        found = self._facts(file)
        parent, branched_from = parent_of(file, found)
        return SessionFacts(
            id=file.id,
            row=file.number,
            source=source_name(file),
            model=found.model,
            title=found.title,
            base_title=found.title,
            part_number=1,
            parent=parent,
            started_at=found.began or file.state.changed / 1e9,
            ended_at=file.ended or None,
            continued=False,
            archived=file.noted.is_archived,
            cwd=found.cwd,
            branched_from=branched_from,
            delegated=bool(file.delegated_from),
            forked_from=(parent,) if parent else (),
            mark=RowsDigest(1 if file.state.size else 0, 0, file.state.changed, file.text),
            pinned=file.noted.is_pinned,
            window=file.noted.window,
        )


def parent_of(place: SessionPlace, found: TreeFacts) -> tuple[str, str]:
    """The session that one comes from, and the one that it is a fork of; "" for none."""
    branched_from = place.branched_from or ("" if place.delegated_from else found.parent)
    return place.parent or branched_from, branched_from


def source_name(place: SessionPlace) -> str:
    """The agent and what a session came through; "pi" for pi's."""
    return source_of(place.agent, place.key) if place.agent else "pi"
