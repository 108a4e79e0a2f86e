"""The forms of the settings page for the default way of compacting the sessions of each store."""

from __future__ import annotations

from django import forms
from django.http import QueryDict

from compaction.strategy import STRATEGIES
from viewer.rendering.texts import clean
from viewer.runs.models import CompactionSetting
from viewer.runs.planning import FIRST
from viewer.stores.base import Store
from viewer.stores.errors import StoreError
from viewer.stores.registry import all_stores, open_store, splits
from viewer.web.url_segments import segment

IN_PLACE, SPLIT = ("in_place", "In place"), ("split", "Split")
ONLY_SPLIT = ("in_place", "None: not possible in place")
STRATEGY_CHOICES = [(FIRST, "Automatic"), *((each.name, each.label) for each in STRATEGIES.values())]


class CompactionForm(forms.Form):
    """One store's form: the stored setting, or sent values that are not stored.

    `mode` has the choice *Split* only if the store's kind can do it; `was_split`: it is stored although the store is
    now of another kind.
    """

    mode = forms.ChoiceField(label="Way", required=False)
    strategy = forms.ChoiceField(
        label="Offered first",
        choices=STRATEGY_CHOICES,
        required=False,
        error_messages={"invalid_choice": "There is no such strategy. Choose one of the list."},
    )

    def __init__(self, store: Store, sent: QueryDict | None = None, stored: CompactionSetting | None = None) -> None:
        stored = stored or CompactionSetting(store=store.name)
        initial = {"mode": stored.mode, "strategy": stored.strategy}
        super().__init__(sent, auto_id=f"compaction-{segment(store.name)}-%s", initial=initial, label_suffix="")
        self.store, self.splits = store, splits(store)
        self.was_split = stored.mode == "split" and not self.splits
        mode = self.fields["mode"]
        assert isinstance(mode, forms.ChoiceField)
        mode.choices = [ONLY_SPLIT if _only_splits(store) else IN_PLACE, SPLIT] if self.splits else [IN_PLACE]
        mode.error_messages["invalid_choice"] = (
            "There is no such way. Choose one of the list."
            if self.splits
            else "Sessions of this kind of store are compacted in place; one does not go on in another."
        )

    @property
    def name(self) -> str:
        """The store's name, for people."""
        return clean(self.store.name)

    def clean_mode(self) -> str:
        """A form without the field means the default: a store that cannot split has no choice."""
        return self.cleaned_data["mode"] or IN_PLACE[0]

    def save(self) -> None:
        """Store it; see `CompactionSetting`."""
        CompactionSetting.objects.update_or_create(store=self.store.name, defaults=self.cleaned_data)


def _only_splits(store: Store) -> bool:
    """Whether the store's sessions cannot be compacted in place; not while it cannot be read."""
    try:
        with open_store(store, listed=True) as reader:
            return reader.refusal(None) is not None
    except StoreError:
        return False


def forms_of_stores(sent: CompactionForm | None = None) -> tuple[CompactionForm, ...]:
    """The forms of all stores; one of them may have the sent values."""
    stored = {row.store: row for row in CompactionSetting.objects.all()}
    return tuple(
        sent if sent and sent.store.name == store.name else CompactionForm(store, stored=stored.get(store.name))
        for store in all_stores()
    )
