"""Labels of sessions: read all at once, changed one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from viewer.stores.clean_text import sanitized

from .models import SessionLabel

TAGS, LONGEST_TAG, LONGEST_NOTE = 10, 30, 500  # tags of a session; characters
Key = tuple[str, str]  # name of the store, id of the session


@dataclass(frozen=True, slots=True)
class Labels:
    """All labels there are: people make them by hand, so they are few."""

    by_key: Mapping[Key, SessionLabel]

    def of(self, key: Key) -> SessionLabel:
        """What one session was given; an empty label for nothing."""
        return self.by_key.get(key) or SessionLabel()

    def pinned(self) -> list[Key]:
        """The sessions that are pinned here."""
        return [key for key, label in self.by_key.items() if label.pinned]

    def tags(self) -> list[str]:
        """All tags, in order."""
        return sorted({tag for label in self.by_key.values() for tag in label.tags})

    def tagged(self, tag: str) -> list[Key]:
        """The sessions that have this tag."""
        return [key for key, label in self.by_key.items() if tag in label.tags]


def all_labels() -> Labels:
    """What people added to sessions, as it is now."""
    return Labels({(label.store, label.session_id): label for label in SessionLabel.objects.all()})


def set_label(key: Key, *, pinned: bool, tags: Iterable[str], note: str) -> None:
    """Give a session these labels in place of what it had; without any it has none."""
    store, session_id = key
    values = {"pinned": pinned, "tags": list(tags), "note": note}
    if any(values.values()):
        SessionLabel.objects.update_or_create(store=store, session_id=session_id, defaults=values)
    else:
        SessionLabel.objects.filter(store=store, session_id=session_id).delete()


def tags_in(typed: str) -> list[str]:
    """The tags of a text that has commas between them: at most TAGS, without repetitions."""
    parts = (" ".join(sanitized(part).replace("\0", " ").split())[:LONGEST_TAG] for part in typed[:2_000].split(","))
    return list(dict.fromkeys(filter(None, parts)))[:TAGS]


def note_in(typed: str) -> str:
    """The note that was typed, on one line."""
    return " ".join(sanitized(typed[:2_000]).replace("\0", " ").split())[:LONGEST_NOTE]
