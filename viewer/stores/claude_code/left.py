"""Which records were left by going back: a way of links leads from them to what is, or was, in context. To the others
every link is lost.
"""

from __future__ import annotations

from collections.abc import Collection

from .thread import Tree


class LeftBranches:
    """The branches beside a path. `path` has the first lines of the messages on it, the oldest of which is `begin`, ""
    for none.
    """

    def __init__(self, tree: Tree, path: Collection[str], begin: str) -> None:
        self._tree, self._path = tree, path
        self._begins_with_prompt = bool(begin) and self._is_prompt(begin) and self._is_root(begin)
        self._known: dict[str, bool] = {}

    def has(self, uuid: str) -> bool:
        """Whether a record that is not on the path is on a branch of it. A branch beside the beginning of the path is
        one where both begin with a request: of records that have no links at all, none was left.
        """
        way: dict[str, None] = {}
        while uuid not in self._known and uuid in self._tree.nodes and uuid not in way:
            if self._tree.lines(uuid)[0] in self._path:
                break
            way[uuid] = None
            uuid = self._tree.nodes[uuid].parent
        if uuid in self._known:
            found = self._known[uuid]
        elif uuid:
            found = uuid in self._tree.nodes and uuid not in way
        else:
            said = [each for each in way if self._tree.nodes[each].pieces]
            found = self._begins_with_prompt and bool(said) and self._is_prompt(said[-1])
        self._known.update(dict.fromkeys(way, found))
        return found

    def _is_prompt(self, uuid: str) -> bool:
        return any(piece.is_prompt for piece in self._tree.record(uuid).pieces)

    def _is_root(self, uuid: str) -> bool:
        passed = set[str]()
        while uuid in self._tree.nodes and uuid not in passed:
            passed.add(uuid)
            uuid = self._tree.nodes[uuid].parent
        return not uuid
