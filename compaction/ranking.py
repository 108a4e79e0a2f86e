"""The names a summary without a model may list, the most wanted first, and what each is listed under.

Theory, measured on sessions that went on: a name that people said or that several calls were made with is used again
most often; then one that written code uses, and a path beside the files that were worked on; a name that a tool merely
printed once is used again one time in fifty. Where one task is worked at, what was met lately counts more.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from . import facts as f
from .deeds import path_of
from .earlier import files_in
from .folders import shared_folders
from .listed import ends_of, folders_of, in_turn, is_noise
from .material import Material
from .names import Kind, NameUse, names_of
from .sections import ALL_TITLES, BORN, CODE, LISTS, QUANTITIES, NameSection, listed
from .sentences import set_of
from .wording import PERSONAL_KEY

EARLIER_WEIGHT = 4  # of a name in an earlier summary: as if a call had used it
# Arguments of tools whose name says nothing of the value.
_PLAIN_LABELS = set_of(
    """old_string new_string old_str new_str content command cmd pattern glob path paths file_path file filename
    notebook_path url urls description prompt query input text code subject body script replace search arguments
    expression output type name value key"""
)
NEWEST = 40  # messages whose names are more likely to be needed soon
RECENT_WEIGHT = 3  # of a name met in them; where people are served one after the other, that says nothing
# Where code is written: of a hundred names that were met so in the newest messages, how many are used again, and after
# how many more messages half as many are.
USED = {
    "said": (25, 24),
    "called": (40, 24),
    "called path": (20, 48),
    "called code": (8, 24),
    "written class": (16, 24),
    "written code": (6, 24),
    "written path": (25, 24),
    "written": (25, 24),
    "earlier path": (12, 24),
    "earlier code": (8, 24),
    "earlier": (5, 24),
    "printed class": (12, 24),
    "printed code": (5, 24),
    "printed file": (30, 24),
}
USED_AT_LEAST = (0.2, 24)  # of all others that tools printed
_PROJECT_FILE = re.compile(r"^\w[^:]*/[^/]*\.\w{1,8}$")  # as tools for the project print it: below a folder of it
AGAIN, MOST_TIMES = 0.05, 5  # by how much more it is used if it was met again, and how many times count
SHORTEST = 2  # tokens: a shorter name costs no less


class Ranked:
    """Names by weight. Each of the sets holds more of them: `spoken`, `needed` (or called), `likely`, `known` (all)."""

    def __init__(self, material: Material) -> None:
        self.material = material
        self.files = _files(material)
        self.before = self._earlier()
        self.names, self.code = self._all()
        self.folders = shared_folders([name for name, name_use in self.names.items() if name_use.kind == "path"])
        order = sorted(self.names, key=self._rank(), reverse=True)
        called = (name for name in order if self._is_called(name))
        coding = material.is_coding
        self.spoken = set() if coding else {name for name in order if self.names[name].said}
        self.needed = {name for name in self.names if self._met(name) in USED} if coding else self.spoken.union(called)
        self.likely = self.needed.union(self.code, self._beside(), self._repeated_lately())
        left_out = self._personal() | self._ends_of_files() | self._bare_versions()
        self.order = self._shared([name for name in order if name not in left_out])
        self.known = set(self.order)

    def sections(self) -> dict[str, NameSection]:
        """The lists they stand in."""
        paths = [name for name in self.order if self.names[name].kind == "path"]
        others = [name for name in self.order if self.names[name].kind != "path"]
        owning, births = set(self.material.owners.values()), self.material.births

        def label(name: str) -> str:
            return BORN if name in births else name if name in owning else self._label(name)

        return {
            "Files": NameSection("Files", paths, self._label, ("read", "written"), self.folders),
            "Identifiers": NameSection("Identifiers", others, label, births=births),
        }

    def _label(self, name: str) -> str:
        given = self.material.labels.get(name) or self.before.get(name, "")
        given = given * (given not in _PLAIN_LABELS)
        kind = self.names[name].kind
        if kind == "path":
            return self.files.get(name) or given or "mentioned"
        if name in self.code:
            return CODE
        person = self.material.owners.get(name, "") if name in self.needed else ""
        return person or given or _label_of(name, kind)

    def _shared(self, order: list[str]) -> list[str]:
        """The order in which files that were read and files that were written share the room."""
        if self.material.is_coding:  # what was met last counts there
            return order
        paths = iter(in_turn([name for name in order if self.names[name].kind == "path"], self.files))
        return [next(paths) if self.names[name].kind == "path" else name for name in order]

    # --- which there are ---------------------------------------------------------------------------------------------
    def _earlier(self) -> dict[str, str]:
        """Names in an earlier summary, each with the label it was listed under, if it was."""
        found: dict[str, str] = {}
        for title in ALL_TITLES:
            labelled = title in LISTS
            found |= {name: label * labelled for name, label in listed(self.material.earlier[title]).items()}
            if title == "Actions done":
                found |= dict.fromkeys(files_in(self.material.earlier[title]), "written")
        return found

    def _all(self) -> tuple[dict[str, NameUse], set[str]]:
        """All names, and those of them that only written code has."""
        known = dict(self.material.found.names)
        carried = {name for name, label in self.before.items() if label == CODE}
        for name in self.before:
            if name not in carried and not is_noise(name, kind := _kind_of_name(name)):
                known.setdefault(name, NameUse(kind, age=len(self.material.found.turns) // 2))
        self.before = {name: label for name, label in self.before.items() if name in known or name in carried}
        code = {name: name_use for name, name_use in self.material.code.items() if name not in known}
        code |= {name: NameUse("id", age=len(self.material.found.turns) // 2) for name in carried - {*known, *code}}
        return known | code, set(code)

    def _is_called(self, name: str) -> bool:
        name_use = self.names[name]
        return bool(name_use.called or name_use.written or name in self.before)

    def _met(self, name: str) -> str:
        """How a name was met, as `USED` has it."""
        name_use, code = self.names[name], name in self.code
        if name_use.said:
            return "said"
        kind = " code" if code else " path" if name_use.kind == "path" else ""
        if name_use.called or name in self.files or (name_use.printed and name in self.before):
            return f"called{kind}"
        if name in self.before and not name_use.written:
            return "called path" if self.before[name] in ("written", "read") else f"earlier{kind}"
        how = "written" if name_use.written else "printed"
        if code:
            return f"{how} class" if name[0].isupper() else f"{how} code"
        if name_use.written:
            return "written path" if name_use.kind in ("path", "url") else how
        return "printed file" if name_use.kind == "path" and _PROJECT_FILE.search(name) else how

    def _use(self, name: str) -> float:
        """How much of use a name is for the room it takes, where code is written."""
        share, fading = USED.get(self._met(name), USED_AT_LEAST)
        room = self.material.request.count(f" {name.removeprefix(self.folders.get(name, ''))}")
        name_use = self.names[name]
        often = 1 + AGAIN * min(name_use.called + name_use.written + name_use.printed, MOST_TIMES)
        return share * often / (1 + name_use.age / fading) / max(room, SHORTEST)

    def _rank(self) -> Callable[[str], tuple[bool, float, int]]:
        """Of those that tools merely printed, any may be needed: the short ones first, as more of them fit."""
        recency = 0 if self.material.found.people else RECENT_WEIGHT
        focused, coding = self._focused(), self.material.is_coding

        def rank(name: str) -> tuple[bool, float, int]:
            name_use, earlier = self.names[name], name in self.before
            if coding:
                return name in focused, self._use(name), name_use.weight
            printed = not (name_use.said or self._is_called(name))
            weight = name_use.weight + EARLIER_WEIGHT * earlier + recency * (name_use.age < NEWEST)
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
        paths = (name for name, name_use in self.names.items() if name_use.kind == "path" and "/" in name)
        return {path for path in paths if path.rsplit("/", 1)[0].strip("/") in folders}

    def _repeated_lately(self) -> set[str]:
        return {name for name, name_use in self.names.items() if name_use.printed > 1 and name_use.age < NEWEST}

    # --- which are left out ------------------------------------------------------------------------------------------
    def _personal(self) -> set[str]:
        """Birth dates and the like, but those that are listed beside the person."""
        labels = ((name, self.material.labels.get(name) or self.before.get(name, "")) for name in self.names)
        personal = (name for name, label in labels if PERSONAL_KEY.search(label))
        told = self.material.births
        return {n for n in personal if n not in told and not (self.names[n].said and self.material.owners.get(n))}

    def _bare_versions(self) -> set[str]:
        """Version numbers that a tool printed: of what, the list would not say."""
        versions = (name for name, name_use in self.names.items() if name_use.kind == "version" and name[:1].isdigit())
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


def _kind_of_name(name: str) -> Kind:
    """The kind of a name that stands in an earlier summary."""
    return next((kind for kind, _ in names_of(name)), "number")


def _label_of(name: str, kind: Kind) -> str:
    """What a name is listed under where the transcript gives it no label."""
    if kind == "number":
        return QUANTITIES if " " in name else "amounts and dates"
    return {"path": "mentioned", "url": "urls"}.get(kind, "ids")
