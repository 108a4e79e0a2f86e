"""The forms of the settings page that say, store by store, whose rules a compaction carries, and what comes of it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from django.conf import settings
from django.http import QueryDict
from django.urls import reverse

from viewer.pages.parts.rules import ShownRules, found_rules
from viewer.rendering.texts import clean
from viewer.stores.base import Store
from viewer.stores.registry import all_stores
from viewer.workspaces.models import StoreRules
from viewer.workspaces.rule_settings import carried_now, drafted, typed_rules, wrong_sections, wrong_workspace
from viewer.workspaces.rules import kept_rules
from viewer.workspaces.sections import LEGACY_RULE_SECTIONS, RULE_SECTIONS

TYPED = 10_000  # characters of a field that are looked at


@dataclass(frozen=True, slots=True)
class Carried:
    """What a session without a working directory would carry now by what a form says, None where there is no workspace
    for it; `saved` when that is what is kept, `wrong` that it cannot be.
    """

    rules: ShownRules | None
    saved: bool = True
    wrong: bool = False

    @property
    def state(self) -> str:
        """The same in a few words."""
        if self.rules is None:
            return "" if self.wrong else "no workspace set"
        if not self.rules.text:
            return "nothing is carried"
        return f"{self.rules.titles or self.rules.source} in {self.rules.workspace}"


@dataclass(frozen=True, slots=True)
class StoreForm:
    """One store's form: what is kept, or what was typed and cannot be (`errors` by field).

    `sections` are headings, one a line. `now` is None where nobody looked at what was typed; `open` that there is
    something to see.
    """

    id: str
    store: str
    href: str
    workspace: str
    sections: str
    now: Carried | None
    news: str = ""
    open: bool = False
    errors: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RuleForms:
    """All of them. `fixed` are the headings that the environment sets, None where it sets none; `roots` the directories
    that may be read from; `usual` the headings where nobody typed any, `older` those of older files.
    """

    forms: tuple[StoreForm, ...]
    fixed: str | None
    roots: str
    usual: str
    older: str


def rule_forms(saved: str = "", shown: StoreForm | None = None) -> RuleForms:
    """The forms of all stores, that of the store `saved` with the news of it; one of them may be as it was typed."""
    stores, kept = all_stores(), typed_rules()
    forms = (
        shown if shown and shown.store == store.name else _kept_form(store, at, kept.get(store.name), saved)
        for at, store in enumerate(stores, 1)
    )
    fixed = settings.RULE_SECTIONS
    return RuleForms(
        forms=tuple(forms),
        fixed=None if fixed is None else ", ".join(map(clean, fixed)) or "none",
        roots=clean(os.pathsep.join(map(str, settings.WORKSPACES))),
        usual=" and ".join(RULE_SECTIONS),
        older=" and ".join(LEGACY_RULE_SECTIONS),
    )


def _kept_form(store: Store, at: int, row: StoreRules | None, saved: str) -> StoreForm:
    row = row or StoreRules(store=store.name)
    sections = RULE_SECTIONS if row.sections is None else row.sections
    form = _form(store, at, row.workspace, "\n".join(sections), Carried(_found(store, row)))
    return replace(form, news="Saved.", open=True) if store.name == saved else form


def _form(store: Store, at: int, workspace: str, sections: str, now: Carried | None) -> StoreForm:
    return StoreForm(
        id=f"rules-{at}",
        store=store.name,
        href=reverse("pages:change_rules", args=[store.name]),
        workspace=clean(workspace),
        sections=clean(sections),
        now=now,
    )


def _found(store: Store, row: StoreRules) -> ShownRules | None:
    return found_rules(carried_now(store, row)) if row.workspace or row.sections == [] else None


# -- what was typed ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Typed:
    """What a form says. `sections` are None where it has no such field: then those kept stay."""

    workspace: str
    sections: tuple[str, ...] | None

    @property
    def errors(self) -> dict[str, str]:
        """What is wrong, by field."""
        found = {"workspace": wrong_workspace(self.workspace), "sections": wrong_sections(self.sections or ())}
        return {name: sentence for name, sentence in found.items() if sentence}


def read(said: QueryDict) -> Typed:
    """What was typed. Headings come without their signs, each once, in any case."""
    workspace, sections = said.get("workspace", "")[:TYPED].strip(), said.get("sections")
    if sections is None:
        return Typed(workspace, None)
    titles = (line.strip().lstrip("#").strip() for line in sections[:TYPED].splitlines())
    return Typed(workspace, tuple({title.casefold(): title for title in titles if title}.values()))


def typed_form(store: Store, said: QueryDict, errors: dict[str, str], now: Carried | None = None) -> StoreForm:
    """The form as it was typed."""
    at = next(at for at, each in enumerate(all_stores(), 1) if each.name == store.name)
    workspace, sections = (said.get(name, "")[:TYPED].replace("\r\n", "\n") for name in ("workspace", "sections"))
    return replace(_form(store, at, workspace, sections, now), errors=errors, open=True)


def looked_at(store: Store, typed: Typed) -> Carried:
    """What would be carried now by what was typed."""
    if typed.errors:
        return Carried(None, saved=False, wrong=True)
    store_rules = kept_rules(store)
    row = drafted(store, typed.workspace, store_rules.sections if typed.sections is None else typed.sections)
    same = (row.workspace, row.sections) == (store_rules.workspace, store_rules.sections)
    return Carried(_found(store, row), saved=same)
