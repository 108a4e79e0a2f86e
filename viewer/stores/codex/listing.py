"""What lists ask of Codex' directory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from viewer.stores.base import Store
from viewer.stores.jsonl.listing import FileListing
from viewer.stores.listing import RowsDigest, SessionFacts

from . import places
from .facts import facts_of
from .places import ThreadFile, Threads


@dataclass(frozen=True)
class CodexListing(FileListing[ThreadFile]):
    """`listing.Listing` of such a store."""

    store: Store

    @cached_property
    def _threads(self) -> Threads:
        return places.threads(self.store)

    def files(self) -> list[ThreadFile]:
        return places.all_files(self.store)

    def words_of(self, file: ThreadFile) -> str:
        return facts_of(file, self._threads).first_words

    def time_of(self, file: ThreadFile) -> float:
        return facts_of(file, self._threads).newest

    def facts_of(self, file: ThreadFile) -> SessionFacts:
        facts = facts_of(file, self._threads)
        head = facts.head
        parent = head.spawned_by or head.forked_from
        return SessionFacts(
            id=file.id,
            row=file.number,
            source=head.source,
            model=facts.model,
            title=facts.title,
            base_title=facts.title,
            part_number=1,
            parent=parent,
            started_at=head.began or file.state.changed / 1e9,
            ended_at=None,
            continued=False,
            archived=file.rollout.is_archived,
            cwd=facts.cwd,
            branched_from=head.forked_from,
            delegated=head.is_sub_agent,
            forked_from=(parent,) if parent else (),
            mark=RowsDigest(1 if file.state.size else 0, 0, file.state.changed, file.state.text + file.noted.title),
            git_branch=head.branch,
            window=facts.window,
        )
