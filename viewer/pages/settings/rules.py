"""The forms of the settings page for the rules that a compaction carries, store by store, and their effect."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import QueryDict

from viewer.pages.parts.rules import ShownRules, shown_workspace_rules
from viewer.rendering.texts import clean
from viewer.stores.base import Store
from viewer.stores.registry import all_stores
from viewer.workspaces.models import StoreRules
from viewer.workspaces.rule_settings import (
    carried_now,
    drafted,
    save_rules,
    typed_rules,
    wrong_sections,
    wrong_workspace,
)
from viewer.workspaces.sections import LEGACY_RULE_SECTIONS, RULE_SECTIONS


@dataclass(frozen=True, slots=True)
class Carried:
    """The rules that a session without a working directory would carry now with a form's values, None if it has no
    workspace; `saved`: those values are stored, `wrong`: they are invalid.
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


def _check_workspace(typed: str) -> None:
    if problem := wrong_workspace(typed):
        raise ValidationError(problem)


class RulesForm(forms.Form):
    """The form of one store: the stored values, or the typed ones.

    `sections` are headings, one a line; without such a field the stored ones stay. With `only_shown`, somebody wants to
    see what the typed values would carry.
    """

    workspace = forms.CharField(required=False, validators=[_check_workspace])
    sections = forms.CharField(required=False, strip=False)

    def __init__(
        self, store: Store, kept: StoreRules, data: QueryDict | None = None, *, only_shown: bool = False
    ) -> None:
        titles = RULE_SECTIONS if kept.sections is None else kept.sections
        super().__init__(data, initial={"workspace": kept.workspace, "sections": "\n".join(titles)})
        self.store, self.kept, self.only_shown = store, kept, only_shown
        self.html_id, self.is_saved = "", False  # set by `rule_forms`

    def clean_sections(self) -> list[str] | None:
        """Headings without their signs, each once, ignoring case."""
        if "sections" not in self.data:
            return self.kept.sections
        titles = (line.strip().lstrip("#").strip() for line in self.cleaned_data["sections"].splitlines())
        headings = list({title.casefold(): title for title in titles if title}.values())
        if problem := wrong_sections(headings):
            raise ValidationError(problem)
        return headings

    def save(self) -> None:
        save_rules(self.store, self.cleaned_data["workspace"], self.cleaned_data["sections"])

    @cached_property
    def now(self) -> Carried | None:
        """What would be carried now; None if nobody asked for the effect of typed values."""
        if not self.is_bound:
            return Carried(_carried_rules(self.store, self.kept))
        if not self.only_shown:
            return None
        if not self.is_valid():
            return Carried(None, saved=False, wrong=True)
        row = drafted(self.store, self.cleaned_data["workspace"], self.cleaned_data["sections"])
        same = (row.workspace, row.sections) == (self.kept.workspace, self.kept.sections)
        return Carried(_carried_rules(self.store, row), saved=same)


def rule_forms(saved: str = "", typed: RulesForm | None = None) -> dict[str, Any]:
    """The forms of all stores, with a message for the store `saved`; one of them may have typed values.

    `fixed` are the headings that the environment sets, None if it sets none; `roots` the directories that may be read;
    `usual` the default headings, `older` those of older files.
    """
    stored, fixed = typed_rules(), settings.RULE_SECTIONS
    store_forms = []
    for number, store in enumerate(all_stores(), 1):
        form = RulesForm(store, stored.get(store.name) or StoreRules(store=store.name))
        if typed and typed.store.name == store.name:
            form = typed
        form.html_id, form.is_saved = f"rules-{number}", store.name == saved
        store_forms.append(form)
    return {
        "forms": store_forms,
        "fixed": None if fixed is None else ", ".join(map(clean, fixed)) or "none",
        "roots": clean(os.pathsep.join(map(str, settings.WORKSPACES))),
        "usual": " and ".join(RULE_SECTIONS),
        "older": " and ".join(LEGACY_RULE_SECTIONS),
    }


def _carried_rules(store: Store, row: StoreRules) -> ShownRules | None:
    return shown_workspace_rules(carried_now(store, row)) if row.workspace or row.sections == [] else None
