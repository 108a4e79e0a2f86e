"""The names a summary without a model may list, the most wanted first, and what each is listed under.

Theory, measured on sessions that went on: a name that people said or that several calls were made with is used again
most often; then one that written code uses, and a path beside the files that were worked on; a name that a tool merely
printed once is used again one time in fifty. Where one task is worked at, what was met lately counts more.
"""

from __future__ import annotations

from collections.abc import Callable

from . import facts as f
from .deeds import path_of
from .folders import shared_folders
from .listed import Name, ends_of, folders_of, in_turn, is_noise, kind_of_name, label_of
from .material import Material
from .sections import ALL_TITLES, LISTS, Names, listed
from .sentences import set_of
from .wording import PERSONAL_KEY

EARLIER_WEIGHT = 4  # of a name in an earlier summary: as if a call had used it
# Arguments of tools whose name says nothing of the value.
_PLAIN_LABELS = set_of(
    """old_string new_string old_str new_str content command cmd pattern glob path paths file_path file filename
    notebook_path url urls description prompt query input text code subject body script replace search arguments
    expression output type name value key"""
)
RECENT_WEIGHT = 3  # of a name met lately; where people are served one after the other, that says nothing


class Ranked:
    """Names by weight. Each of the sets holds more of them: `spoken`, `needed` (or called), `likely`, `known` (all)."""

    def __init__(self, material: Material) -> None:
        self.material = material
        self.files = _files(material)
        self.before = self._earlier()
        self.names, self.code = self._all()
        order = sorted(self.names, key=self._rank(), reverse=True)
        called = (name for name in order if self.names[name].called or name in self.before)
        self.spoken = {name for name in order if self.names[name].said}
        self.needed = self.spoken.union(called)
        self.likely = self.needed.union(self.code, self._beside(), self._repeated_lately())
        left_out = self._personal() | self._ends_of_files() | self._bare_versions()
        self.order = [name for name in order if name not in left_out]
        self.known = set(self.order)

    def sections(self) -> dict[str, Names]:
        """The lists they stand in."""
        paths = in_turn([name for name in self.order if self.names[name].kind == "path"], self.files)
        others = [name for name in self.order if self.names[name].kind != "path"]
        owning = set(self.material.owners.values())

        def label(name: str) -> str:
            return name if name in owning else self._label(name)

        return {
            "Files": Names("Files", paths, self._label, ("read", "written"), shared_folders(paths)),
            "Identifiers": Names("Identifiers", others, label),
        }

    def _label(self, name: str) -> str:
        given = self.material.labels.get(name) or self.before.get(name, "")
        given = given * (given not in _PLAIN_LABELS)
        kind = self.names[name].kind
        if kind == "path":
            return self.files.get(name) or given or "mentioned"
        if name in self.code:
            return "code"
        person = self.material.owners.get(name, "") if name in self.needed else ""
        return person or given or label_of(name, kind)

    # --- which there are ---------------------------------------------------------------------------------------------
    def _earlier(self) -> dict[str, str]:
        """Names in an earlier summary, each with the label it was listed under, if it was."""
        found: dict[str, str] = {}
        for title in ALL_TITLES:
            labelled = title in LISTS
            found |= {name: label * labelled for name, label in listed(self.material.earlier[title]).items()}
        return found

    def _all(self) -> tuple[dict[str, Name], set[str]]:
        """All names, and those of them that only written code has."""
        known = dict(self.material.found.names)
        for name in self.before:
            if not is_noise(name, kind := kind_of_name(name)):
                known.setdefault(name, Name(kind))
        self.before = {name: label for name, label in self.before.items() if name in known}
        code = {name: times for name, times in self.material.found.code.items() if name not in known}
        known |= {name: Name("id", called=n if n > 1 else 0, printed=2 * n) for name, n in code.items()}
        return known, set(code)

    def _rank(self) -> Callable[[str], tuple[bool, int, int]]:
        """Of those that tools merely printed, any may be needed: the short ones first, as more of them fit."""
        recency = 0 if self.material.found.people else RECENT_WEIGHT
        focused = self._focused()

        def rank(name: str) -> tuple[bool, int, int]:
            found, earlier = self.names[name], name in self.before
            printed = not (found.said or found.called or earlier or name in self.code)
            weight = found.weight + EARLIER_WEIGHT * earlier + recency * found.recent
            return name in focused, weight, -len(name) if printed else 0

        return rank

    def _focused(self) -> set[str]:
        if not self.material.focus:
            return set()
        turns = self.material.found.turns
        about = [t.message for t in turns if self.material.is_in_focus(f"{t.words} {t.calls} {t.results}")]
        return set(f.gather(about).names)

    def _beside(self) -> set[str]:
        """Paths in the folders of files that calls named."""
        folders = {folder for path in self.files for folder in folders_of(path) if "/" in folder}
        paths = (name for name, found in self.names.items() if found.kind == "path" and "/" in name)
        return {path for path in paths if path.rsplit("/", 1)[0].strip("/") in folders}

    def _repeated_lately(self) -> set[str]:
        return {name for name, found in self.names.items() if found.printed > 1 and found.recent}

    # --- which are left out ------------------------------------------------------------------------------------------
    def _personal(self) -> set[str]:
        """Birth dates and the like, but those that were said and are told beside the person."""
        labels = ((name, self.material.labels.get(name) or self.before.get(name, "")) for name in self.names)
        personal = (name for name, label in labels if PERSONAL_KEY.search(label))
        return {name for name in personal if not (self.names[name].said and self.material.owners.get(name))}

    def _bare_versions(self) -> set[str]:
        """Version numbers that a tool printed: of what, the list would not say."""
        versions = (name for name, found in self.names.items() if found.kind == "version" and name[:1].isdigit())
        return {name for name in versions if name not in self.needed}

    def _ends_of_files(self) -> set[str]:
        """Ends of paths that are listed whole."""
        ends = {end for path in self.files for end in ends_of(path)}
        return {name for name in self.names if name not in self.files and name.strip("/") in ends}


def _files(material: Material) -> dict[str, str]:
    """The files that calls named, and what was done to them."""
    found: dict[str, str] = {}
    for work in material.found.work:
        if work.kind in ("edit", "write", "read"):
            path = path_of(work.last)
            found[path] = "written" if work.kind != "read" or found.get(path) == "written" else "read"
    return found
