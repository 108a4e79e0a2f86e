"""Which records were abandoned by going back: links lead from them to a message that is, or was, in context. For all
other records the links are lost.
"""

from __future__ import annotations

from collections.abc import Collection

from .thread import Tree


class LeftBranches:
    """The abandoned branches of a path. `path` has the first lines of the messages on it, the oldest of which is
    `begin`, "" for none.
    """

    def __init__(self, tree: Tree, path: Collection[str], begin: str) -> None:
        self._tree, self._path = tree, path
        self._begins_with_prompt = bool(begin) and self._is_prompt(begin) and self._is_root(begin)
        self._known: dict[str, bool] = {}

    def has(self, uuid: str) -> bool:
        """Whether a record that is not on the path is on a branch of it. A branch at the beginning of the path counts
        only if both begin with a request: if records have no links at all, none was abandoned.
        """
        chain: dict[str, None] = {}
        while uuid not in self._known and uuid in self._tree.nodes and uuid not in chain:
            if self._tree.lines(uuid)[0] in self._path:
                break
            chain[uuid] = None
            uuid = self._tree.nodes[uuid].parent
        if uuid in self._known:
            is_branch = self._known[uuid]
        elif uuid:
            is_branch = uuid in self._tree.nodes and uuid not in chain
        else:
            with_messages = [each for each in chain if self._tree.nodes[each].pieces]
            is_branch = self._begins_with_prompt and bool(with_messages) and self._is_prompt(with_messages[-1])
        self._known.update(dict.fromkeys(chain, is_branch))
        return is_branch

    def _is_prompt(self, uuid: str) -> bool:
        return any(piece.is_prompt for piece in self._tree.record(uuid).pieces)

    def _is_root(self, uuid: str) -> bool:
        passed = set[str]()
        while uuid in self._tree.nodes and uuid not in passed:
            passed.add(uuid)
            uuid = self._tree.nodes[uuid].parent
        return not uuid
