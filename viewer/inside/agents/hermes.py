"""Hermes: a plugin in its home, and what its config.yaml has to say for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from compaction.handoff import CURRENT_HEADER, FLAG, HYPHEN_HEADER, LEGACY_HEADER, PRIOR_HEADER
from viewer.inside.changes import Change, YamlItem
from viewer.stores.base import Store

from .agent import DoorOptions, InstalledAgent, Way, copied

NAME = "palimpsest"  # of the plugin and of its context engine
OWN_ENGINE = "compressor"  # what Hermes takes if config.yaml names none


class InsideHermes(InstalledAgent):
    name, label, scheme = "hermes", "Hermes", "sqlite"
    notes = "The note after a compaction is added to your next message."
    recall = "Hermes has the tools search_history and read_history."
    engine = "Palimpsest's engine makes the compactions of Hermes itself, without a model, at Hermes' own threshold."

    def owns(self, store: Store) -> bool:
        return super().owns(store) and store.path.name == "state.db"  # a copy elsewhere is in no home

    def home_of(self, place: Path) -> Path:
        return place.parent

    def changes(self, home: Path, own: Path, way: Way, options: DoorOptions) -> Iterator[Change]:
        config = str(home / "config.yaml")
        yield YamlItem(config, ("plugins", "enabled"), NAME, in_list=True)
        if options.engine:
            yield YamlItem(config, ("context", "engine"), NAME, instead_of=OWN_ENGINE)
        starts = [CURRENT_HEADER, HYPHEN_HEADER, LEGACY_HEADER, PRIOR_HEADER]
        door = {
            "door": list(way.door), "options": asdict(options), "summary_flag": FLAG, "summary_starts": starts,
        }  # fmt: skip
        yield from copied("hermes", home / "plugins" / NAME, {"door.json": door})


AGENT = InsideHermes()
