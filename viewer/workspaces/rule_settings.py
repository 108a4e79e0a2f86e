"""Whose rules the sessions of a store follow, as typed on the settings page and stored in our own database."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.stores.base import Store
from viewer.workspaces.models import StoreRules

from .context_files import NotRead
from .rules import Rules, rules_with, workspace_of
from .sections import RULE_SECTIONS

MOST_TITLES, LONGEST_TITLE, LONGEST_PATH = 20, 200, 4_096  # titles; characters


def typed_rules() -> dict[str, StoreRules]:
    """The stored settings, by the name of the store."""
    return {row.store: row for row in StoreRules.objects.all()}


def drafted(store: Store, workspace: str, sections: Sequence[str] | None) -> StoreRules:
    """The unsaved row for these settings. The usual titles become None, so that the titles of older files count as
    well.
    """
    usual = sections is None or _folded(sections) == _folded(RULE_SECTIONS)
    return StoreRules(store=store.name, workspace=workspace, sections=None if usual else list(sections or ()))


def save_rules(store: Store, workspace: str, sections: Sequence[str] | None) -> None:
    """Store the settings; see `StoreRules`."""
    row = drafted(store, workspace, sections)
    values = {"workspace": row.workspace, "sections": row.sections}
    StoreRules.objects.update_or_create(store=store.name, defaults=values)


def wrong_workspace(workspace: str) -> str:
    """Why rules cannot be read from this directory, as a sentence; "" if they can, and for no directory."""
    if len(workspace) > LONGEST_PATH:
        return f"A workspace's path has at most {LONGEST_PATH:,} characters."
    try:
        if workspace:
            workspace_of("", workspace)
    except NotRead as problem:
        return str(problem)
    return ""


def wrong_sections(titles: Sequence[str]) -> str:
    """What is wrong with the titles of sections, as a sentence; "" if nothing is."""
    if len(titles) > MOST_TITLES:
        return f"At most {MOST_TITLES} sections can be carried."
    if any(len(title) > LONGEST_TITLE or not title.isprintable() for title in titles):
        return f"A section's heading is one line of at most {LONGEST_TITLE} characters."
    return ""


def carried_now(store: Store, typed: StoreRules) -> Rules:
    """What a session of this store without a working directory would carry with these settings, saved or not."""
    return rules_with(store, "", typed)


def _folded(titles: Sequence[str]) -> list[str]:
    return [title.casefold() for title in titles]
