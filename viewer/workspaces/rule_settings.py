"""Whose rules the sessions of a store follow, as typed on the settings page: kept in our own database."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.stores.base import Store
from viewer.workspaces.models import StoreRules

from .context_files import NotRead
from .rules import Rules, rules_with, workspace_of
from .sections import RULE_SECTIONS

MOST_TITLES, LONGEST_TITLE, LONGEST_PATH = 20, 200, 4_096  # titles; characters


def typed_rules() -> dict[str, StoreRules]:
    """What is kept, by the name of the store."""
    return {row.store: row for row in StoreRules.objects.all()}


def drafted(store: Store, workspace: str, sections: Sequence[str] | None) -> StoreRules:
    """The unsaved row that says this; the usual titles as None: then those of older files count as well."""
    usual = sections is None or _folded(sections) == _folded(RULE_SECTIONS)
    return StoreRules(store=store.name, workspace=workspace, sections=None if usual else list(sections or ()))


def save_rules(store: Store, workspace: str, sections: Sequence[str] | None) -> None:
    """Keep them; see `StoreRules`."""
    row = drafted(store, workspace, sections)
    kept = {"workspace": row.workspace, "sections": row.sections}
    StoreRules.objects.update_or_create(store=store.name, defaults=kept)


def wrong_workspace(workspace: str) -> str:
    """Why rules are never read from this directory, as a sentence; "" for one that can be set, and for none."""
    if len(workspace) > LONGEST_PATH:
        return f"A workspace's path has at most {LONGEST_PATH:,} characters."
    try:
        if workspace:
            workspace_of("", workspace)
    except NotRead as problem:
        return str(problem)
    return ""


def wrong_sections(titles: Sequence[str]) -> str:
    """What is wrong with the titles of sections, as a sentence; "" for nothing."""
    if len(titles) > MOST_TITLES:
        return f"At most {MOST_TITLES} sections can be carried."
    if any(len(title) > LONGEST_TITLE or not title.isprintable() for title in titles):
        return f"A section's heading is one line of at most {LONGEST_TITLE} characters."
    return ""


def carried_now(store: Store, typed: StoreRules) -> Rules:
    """What a session of this store without a working directory would carry now by these settings, saved or not."""
    return rules_with(store, "", typed)


def _folded(titles: Sequence[str]) -> list[str]:
    return [title.casefold() for title in titles]
