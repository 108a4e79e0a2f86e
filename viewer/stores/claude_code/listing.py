"""What lists ask of Claude Code's directory."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.stores.base import Store
from viewer.stores.jsonl.listing import FileListing
from viewer.stores.listing import RowsDigest, SessionFacts

from . import places
from .facts import facts_of
from .forks import origin
from .places import SessionFile


@dataclass(frozen=True)
class ClaudeListing(FileListing[SessionFile]):
    """`listing.Listing` of such a store."""

    store: Store

    def files(self) -> list[SessionFile]:
        return places.all_files(self.store)

    def words_of(self, file: SessionFile) -> str:
        return facts_of(file).first_words

    def time_of(self, file: SessionFile) -> float:
        return facts_of(file).newest

    def facts_of(self, file: SessionFile) -> SessionFacts:
        facts = facts_of(file)
        return SessionFacts(
            id=file.id,
            row=file.number,
            source=facts.source,
            model=facts.model,
            title=facts.title,
            base_title=facts.title,
            part_number=1,
            parent=file.parent,
            started_at=facts.began or file.state.changed / 1e9,
            ended_at=None,
            continued=False,
            archived=False,
            cwd=facts.cwd,
            branched_from=origin(file),
            delegated=bool(file.parent),
            forked_from=(file.parent,) if file.parent else (),
            mark=RowsDigest(1 if file.state.size else 0, 0, file.state.changed, file.state.text),
            git_branch=facts.branch,
        )
